package snapshot

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
)

// decoder reads what an encoder wrote. The bytes may be damaged or hostile: every length of text is
// checked against the bytes that are left, and budget limits the memory for lists.
type decoder struct {
	b      []byte
	budget int
	types  []reflect.Type
}

// A decoder may allocate budgetBase bytes for lists, maps and pointers, and budgetRate more for
// each byte that it is given.
const (
	budgetRate = 256
	budgetBase = 1 << 16
)

func newDecoder(b []byte) *decoder { return &decoder{b: b, budget: budgetBase + budgetRate*len(b)} }

// decode reads a value into the variable that state points to. Bytes after the value are an error.
func (d *decoder) decode(state any) error {
	p := reflect.ValueOf(state)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("a value of type %T cannot be read into: it is not a pointer", state)
	}
	if err := d.layout(p.Type().Elem()); err != nil {
		return err
	}
	if err := d.value(p.Elem(), 0); err != nil {
		return err
	}
	if len(d.b) > 0 {
		return fmt.Errorf("%d bytes follow the state", len(d.b))
	}
	return nil
}

var errCut = errors.New("truncated")

func (d *decoder) next(n int) ([]byte, error) {
	if n > len(d.b) {
		return nil, errCut
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out, nil
}

// layout reads the layout of a type, and refuses another one.
func (d *decoder) layout(t reflect.Type) error {
	var want layoutHash
	b, err := d.next(len(want))
	if err != nil {
		return err
	}
	if want = formOf(t).layout; layoutHash(b) != want {
		return fmt.Errorf("its fields have the layout %x: want %x, that of %v", b, want, t)
	}
	return nil
}

func (d *decoder) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		return 0, errCut
	}
	d.b = d.b[n:]
	return v, nil
}

// count reads the number of values of a type and takes their memory from the budget.
func (d *decoder) count(t reflect.Type) (int, error) {
	n, err := d.uvarint()
	if err == nil {
		err = d.spend(n, t)
	}
	return int(n), err
}

// spend takes the memory of n values of a type from the budget.
func (d *decoder) spend(n uint64, t reflect.Type) error {
	size := int(t.Size()) + 1
	if n > uint64(d.budget/size) {
		return fmt.Errorf("%d values of type %v need more memory than a snapshot of this size may take", n, t)
	}
	d.budget -= int(n) * size
	return nil
}

func (d *decoder) raw() ([]byte, error) {
	n, err := d.uvarint()
	if err != nil || n > uint64(len(d.b)) {
		return nil, errCut
	}
	return d.next(int(n))
}

func (d *decoder) text() (string, error) {
	b, err := d.raw()
	return string(b), err
}

func (d *decoder) flag() (bool, error) {
	b, err := d.next(1)
	if err != nil {
		return false, err
	}
	if b[0] > 1 {
		return false, fmt.Errorf("%d: want 0 or 1", b[0])
	}
	return b[0] == 1, nil
}

// value reads into v, which is zero.
func (d *decoder) value(v reflect.Value, depth int) error {
	t := v.Type()
	if depth > maxDepth {
		return fmt.Errorf("a value of type %v is nested deeper than %d", t, maxDepth)
	}
	f := formOf(t)
	if f.marshals {
		b, err := d.raw()
		if err != nil {
			return err
		}
		return v.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(b)
	}
	switch v.Kind() {
	case reflect.Slice:
		return d.slice(v, depth)
	case reflect.Array:
		return d.items(v, depth)
	case reflect.Map:
		return d.pairs(v, depth)
	case reflect.Struct:
		for _, i := range f.fields {
			if err := d.value(v.Field(i), depth+1); err != nil {
				return fmt.Errorf("%s: %w", t.Field(i).Name, err)
			}
		}
		return nil
	case reflect.Pointer:
		set, err := d.flag()
		if err == nil && set {
			err = d.spend(1, t.Elem())
		}
		if err != nil || !set {
			return err
		}
		v.Set(reflect.New(t.Elem()))
		return d.value(v.Elem(), depth+1)
	case reflect.Interface:
		return d.dynamic(v, depth)
	}
	return d.scalar(v)
}

// scalar reads a number, a boolean or text.
func (d *decoder) scalar(v reflect.Value) error {
	t := v.Type()
	switch v.Kind() {
	case reflect.Bool:
		x, err := d.flag()
		v.SetBool(x)
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x, n := binary.Varint(d.b)
		if n <= 0 || v.OverflowInt(x) {
			return fmt.Errorf("no integer that fits %v", t)
		}
		d.b = d.b[n:]
		v.SetInt(x)
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x, err := d.uvarint()
		if err == nil && v.OverflowUint(x) {
			err = fmt.Errorf("%d does not fit %v", x, t)
		}
		v.SetUint(x)
		return err
	case reflect.Float32:
		b, err := d.next(4)
		if err == nil {
			v.SetFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
		return err
	case reflect.Float64:
		b, err := d.next(8)
		if err == nil {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		return err
	case reflect.String:
		s, err := d.text()
		v.SetString(s)
		return err
	}
	return fmt.Errorf("a value of type %v cannot be read", t)
}

// slice reads a slice. An empty one is nil.
func (d *decoder) slice(v reflect.Value, depth int) error {
	t := v.Type()
	if elem := t.Elem(); elem.Kind() == reflect.Uint8 && !formOf(elem).marshals {
		b, err := d.raw()
		if len(b) > 0 {
			v.SetBytes(bytes.Clone(b))
		}
		return err
	}
	n, err := d.count(t.Elem())
	if err != nil || n == 0 {
		return err
	}
	v.Set(reflect.MakeSlice(t, n, n))
	return d.items(v, depth)
}

// items reads the items of a slice or an array.
func (d *decoder) items(v reflect.Value, depth int) error {
	if list := floats(v); list != nil {
		b, err := d.next(8 * len(list))
		for i := range len(b) / 8 {
			list[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return err
	}
	for i := range v.Len() {
		if err := d.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// pairs reads a map. An empty one is nil.
func (d *decoder) pairs(v reflect.Value, depth int) error {
	t := v.Type()
	if !plain(t.Key()) {
		return fmt.Errorf("a map with keys of type %v cannot be read", t.Key())
	}
	n, err := d.count(t.Elem())
	if err == nil {
		err = d.spend(uint64(n), t.Key())
	}
	if err != nil || n == 0 {
		return err
	}
	v.Set(reflect.MakeMap(t))
	for range n {
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		if err := d.value(key, depth+1); err != nil {
			return err
		}
		if v.MapIndex(key).IsValid() {
			return fmt.Errorf("the key %v occurs twice", key)
		}
		if err := d.value(value, depth+1); err != nil {
			return err
		}
		v.SetMapIndex(key, value)
	}
	return nil
}

// dynamic reads the value in an interface.
func (d *decoder) dynamic(v reflect.Value, depth int) error {
	i, err := d.uvarint()
	if err != nil || i == 0 {
		return err
	}
	if i == uint64(len(d.types))+1 {
		name, err := d.text()
		if err != nil {
			return err
		}
		t, err := typeOf(name)
		if err != nil {
			return err
		}
		if err := d.layout(t); err != nil {
			return err
		}
		d.types = append(d.types, t)
	}
	if i > uint64(len(d.types)) {
		return fmt.Errorf("type %d: want at most %d", i, len(d.types))
	}
	t := d.types[i-1]
	if !t.AssignableTo(v.Type()) {
		return fmt.Errorf("type %v where %v is needed", t, v.Type())
	}
	if err := d.spend(1, t); err != nil {
		return err
	}
	x := reflect.New(t).Elem()
	if err := d.value(x, depth+1); err != nil {
		return err
	}
	if x.Kind() == reflect.Pointer && x.IsNil() {
		return fmt.Errorf("a nil pointer of type %v in an interface", t)
	}
	v.Set(x)
	return nil
}
