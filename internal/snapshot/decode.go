package snapshot

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
)

// decoder reads what an encoder wrote. The bytes may be damaged or hostile: every length is checked
// against the bytes that are left, and budget limits the memory for lists.
type decoder struct {
	b      []byte
	budget int
	shapes [][]string
	bound  map[binding][]int
	types  []reflect.Type
}

// binding is a shape read into a type.
type binding struct {
	shape int
	t     reflect.Type
}

// A decoder may allocate budgetBase bytes for lists, maps and pointers, and budgetRate more for
// each byte that it is given.
const (
	budgetRate = 256
	budgetBase = 1 << 16
)

func newDecoder(b []byte) *decoder {
	return &decoder{b: b, budget: budgetBase + budgetRate*len(b), bound: map[binding][]int{}}
}

// decode reads a value into the variable that state points to. Bytes after the value are an error.
func (d *decoder) decode(state any) error {
	p := reflect.ValueOf(state)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("a value of type %T cannot be read into: it is not a pointer", state)
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

func (d *decoder) tag() (byte, error) {
	b, err := d.next(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// want reads a tag that must be t.
func (d *decoder) want(t byte, what reflect.Type) error {
	got, err := d.tag()
	if err == nil && got != t {
		err = fmt.Errorf("tag %q where %v needs %q", got, what, t)
	}
	return err
}

func (d *decoder) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		return 0, errCut
	}
	d.b = d.b[n:]
	return v, nil
}

// length reads the number of elements of at least size bytes each.
func (d *decoder) length(size int) (int, error) {
	v, err := d.uvarint()
	if err == nil && v > uint64(len(d.b)/size) {
		err = fmt.Errorf("a length of %d with %d bytes left", v, len(d.b))
	}
	return int(v), err
}

// spend takes the memory of n values of a type from the budget.
func (d *decoder) spend(n int, t reflect.Type) error {
	size := int(t.Size()) + 1
	if n > d.budget/size {
		return fmt.Errorf("%d values of type %v need more memory than a snapshot of this size may take", n, t)
	}
	d.budget -= n * size
	return nil
}

func (d *decoder) raw() ([]byte, error) {
	n, err := d.length(1)
	if err != nil {
		return nil, err
	}
	return d.next(n)
}

func (d *decoder) text() (string, error) {
	if err := d.want(tagString, reflect.TypeFor[string]()); err != nil {
		return "", err
	}
	b, err := d.raw()
	return string(b), err
}

// value reads into v, which is zero.
func (d *decoder) value(v reflect.Value, depth int) error {
	t := v.Type()
	if depth > maxDepth {
		return fmt.Errorf("a value of type %v is nested deeper than %d", t, maxDepth)
	}
	if marshals(t) {
		return d.marshaler(v)
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		return d.list(v, depth)
	case reflect.Map:
		return d.pairs(v, depth)
	case reflect.Struct:
		return d.fields(v, depth)
	case reflect.Pointer:
		return d.pointer(v, depth)
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
		tag, err := d.tag()
		if err == nil && tag != tagTrue && tag != tagFalse {
			err = fmt.Errorf("tag %q where %v needs %q or %q", tag, t, tagTrue, tagFalse)
		}
		v.SetBool(tag == tagTrue)
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if err := d.want(tagInt, t); err != nil {
			return err
		}
		x, n := binary.Varint(d.b)
		if n <= 0 || v.OverflowInt(x) {
			return fmt.Errorf("no integer that fits %v", t)
		}
		d.b = d.b[n:]
		v.SetInt(x)
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if err := d.want(tagUint, t); err != nil {
			return err
		}
		x, err := d.uvarint()
		if err == nil && v.OverflowUint(x) {
			err = fmt.Errorf("%d does not fit %v", x, t)
		}
		v.SetUint(x)
		return err
	case reflect.Float32, reflect.Float64:
		return d.float(v)
	case reflect.String:
		s, err := d.text()
		v.SetString(s)
		return err
	}
	return fmt.Errorf("a value of type %v cannot be read", t)
}

func (d *decoder) float(v reflect.Value) error {
	tag, size := byte(tagFloat64), 8
	if v.Kind() == reflect.Float32 {
		tag, size = tagFloat32, 4
	}
	if err := d.want(tag, v.Type()); err != nil {
		return err
	}
	b, err := d.next(size)
	if err != nil {
		return err
	}
	if size == 4 {
		v.SetFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	} else {
		v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return nil
}

func (d *decoder) marshaler(v reflect.Value) error {
	if err := d.want(tagMarshaler, v.Type()); err != nil {
		return err
	}
	b, err := d.raw()
	if err != nil {
		return err
	}
	return v.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(b)
}

func (d *decoder) pointer(v reflect.Value, depth int) error {
	tag, err := d.tag()
	switch {
	case err != nil || tag == tagNil:
		return err
	case tag != tagPointer:
		return fmt.Errorf("tag %q where %v needs %q or %q", tag, v.Type(), tagNil, tagPointer)
	}
	if err := d.spend(1, v.Type().Elem()); err != nil {
		return err
	}
	v.Set(reflect.New(v.Type().Elem()))
	return d.value(v.Elem(), depth+1)
}

// list reads a slice or an array. An empty slice is nil.
func (d *decoder) list(v reflect.Value, depth int) error {
	elem, tag, size := v.Type().Elem(), byte(tagList), 1
	switch {
	case v.Kind() == reflect.Slice && elem.Kind() == reflect.Uint8 && !marshals(elem):
		tag = tagBytes
	case elem.Kind() == reflect.Float64 && !marshals(elem):
		tag, size = tagFloats, 8
	}
	if err := d.want(tag, v.Type()); err != nil {
		return err
	}
	n, err := d.length(size)
	if err != nil {
		return err
	}
	if v.Kind() == reflect.Array {
		if n != v.Len() {
			return fmt.Errorf("%d values for %v", n, v.Type())
		}
	} else if n > 0 {
		if err := d.spend(n, elem); err != nil {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
	}
	switch tag {
	case tagBytes:
		b, err := d.next(n)
		copy(v.Bytes(), b)
		return err
	case tagFloats:
		b, err := d.next(8 * n)
		for i := range len(b) / 8 {
			v.Index(i).SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
		return err
	}
	for i := range n {
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
	if err := d.want(tagMap, t); err != nil {
		return err
	}
	n, err := d.length(2)
	if err != nil || n == 0 {
		return err
	}
	if err := d.spend(2*n, t.Elem()); err != nil {
		return err
	}
	if err := d.spend(2*n, t.Key()); err != nil {
		return err
	}
	v.Set(reflect.MakeMapWithSize(t, n))
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

func (d *decoder) fields(v reflect.Value, depth int) error {
	t := v.Type()
	if err := d.want(tagStruct, t); err != nil {
		return err
	}
	id, err := d.uvarint()
	if err != nil {
		return err
	}
	if id == uint64(len(d.shapes)) {
		if err := d.shape(); err != nil {
			return err
		}
	}
	if id >= uint64(len(d.shapes)) {
		return fmt.Errorf("shape %d: want less than %d", id, len(d.shapes))
	}
	indices, err := d.bind(int(id), t)
	if err != nil {
		return err
	}
	for _, i := range indices {
		if err := d.value(v.Field(i), depth+1); err != nil {
			return fmt.Errorf("%s: %w", t.Field(i).Name, err)
		}
	}
	return nil
}

// shape reads the names of a new shape's fields.
func (d *decoder) shape() error {
	n, err := d.length(1)
	if err != nil {
		return err
	}
	if err := d.spend(n, reflect.TypeFor[string]()); err != nil {
		return err
	}
	names := make([]string, n)
	for i := range names {
		b, err := d.raw()
		if err != nil {
			return err
		}
		names[i] = string(b)
	}
	d.shapes = append(d.shapes, names)
	return nil
}

// bind finds a shape's fields in a type. A field that the type does not have, or twice, is an
// error; those that the shape does not have stay zero.
func (d *decoder) bind(shape int, t reflect.Type) ([]int, error) {
	key := binding{shape, t}
	if b, ok := d.bound[key]; ok {
		return b, nil
	}
	known, seen := map[string]int{}, map[string]bool{}
	for _, f := range shapeOf(t) {
		known[f.name] = f.index
	}
	indices := make([]int, 0, len(d.shapes[shape]))
	for _, name := range d.shapes[shape] {
		i, ok := known[name]
		if !ok || seen[name] {
			return nil, fmt.Errorf("field %q: unknown in %v, or given twice", name, t)
		}
		seen[name] = true
		indices = append(indices, i)
	}
	d.bound[key] = indices
	return indices, nil
}

func (d *decoder) dynamic(v reflect.Value, depth int) error {
	tag, err := d.tag()
	switch {
	case err != nil || tag == tagNil:
		return err
	case tag != tagInterface:
		return fmt.Errorf("tag %q where %v needs %q or %q", tag, v.Type(), tagNil, tagInterface)
	}
	id, err := d.uvarint()
	if err != nil {
		return err
	}
	if id == uint64(len(d.types)) {
		name, err := d.raw()
		if err != nil {
			return err
		}
		t, err := typeOf(string(name))
		if err != nil {
			return err
		}
		d.types = append(d.types, t)
	}
	if id >= uint64(len(d.types)) {
		return fmt.Errorf("type %d: want less than %d", id, len(d.types))
	}
	t := d.types[id]
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
