package snapshot

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
)

// encoder appends values to b. Types in interfaces are numbered in the order in which the values
// meet them, so the numbers depend on the values alone.
type encoder struct {
	b     []byte
	types []reflect.Type
}

// encode writes state, a value or a pointer to one, after the layout of its type.
func (e *encoder) encode(state any) error {
	v := reflect.ValueOf(state)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() {
		return Bad("nil cannot be saved")
	}
	layout := formOf(v.Type()).layout
	e.b = append(e.b, layout[:]...)
	return e.value(v, 0)
}

func (e *encoder) uvarint(n int) { e.b = binary.AppendUvarint(e.b, uint64(n)) }
func (e *encoder) text(s string) { e.uvarint(len(s)); e.b = append(e.b, s...) }
func (e *encoder) raw(b []byte)  { e.uvarint(len(b)); e.b = append(e.b, b...) }

func (e *encoder) flag(set bool) {
	if set {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

// value writes v. It dispatches on the kind of its type, after the types that encode themselves.
func (e *encoder) value(v reflect.Value, depth int) error {
	t := v.Type()
	if depth > maxDepth {
		return Bad("a value of type %v cannot be saved: it is nested deeper than %d", t, maxDepth)
	}
	f := formOf(t)
	if f.marshals {
		return e.marshaler(v)
	}
	switch v.Kind() {
	case reflect.Bool:
		e.flag(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.b = binary.AppendVarint(e.b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.b = binary.AppendUvarint(e.b, v.Uint())
	case reflect.Float32:
		e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v.Float()))
	case reflect.String:
		e.text(v.String())
	case reflect.Slice:
		if elem := t.Elem(); elem.Kind() == reflect.Uint8 && !formOf(elem).marshals {
			e.raw(v.Bytes())
			return nil
		}
		e.uvarint(v.Len())
		return e.items(v, depth)
	case reflect.Array:
		return e.items(v, depth)
	case reflect.Map:
		return e.pairs(v, depth)
	case reflect.Struct:
		if len(f.fields) == 0 && t.NumField() > 0 {
			return Bad("a value of type %v cannot be saved: it has no exported fields", t)
		}
		for _, i := range f.fields {
			if err := e.value(v.Field(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Pointer:
		if e.flag(!v.IsNil()); !v.IsNil() {
			return e.value(v.Elem(), depth+1)
		}
	case reflect.Interface:
		return e.dynamic(v, depth)
	default:
		return Bad("a value of type %v cannot be saved", t)
	}
	return nil
}

// marshaler writes a value that has MarshalBinary, perhaps on its pointer.
func (e *encoder) marshaler(v reflect.Value) error {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	b, err := p.Interface().(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return err
	}
	e.raw(b)
	return nil
}

// items writes the items of a slice or an array.
func (e *encoder) items(v reflect.Value, depth int) error {
	if list := floats(v); list != nil {
		e.b = slices.Grow(e.b, 8*len(list))
		for _, x := range list {
			e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(x))
		}
		return nil
	}
	for i := range v.Len() {
		if err := e.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// pairs writes a map in the order of its keys' bytes. Keys are text, numbers or booleans.
func (e *encoder) pairs(v reflect.Value, depth int) error {
	if !plain(v.Type().Key()) {
		return Bad("a map with keys of type %v cannot be saved", v.Type().Key())
	}
	type pair struct {
		bytes []byte
		key   reflect.Value
	}
	list := make([]pair, 0, v.Len())
	for _, k := range v.MapKeys() {
		var one encoder
		if err := one.value(k, depth+1); err != nil {
			return err
		}
		list = append(list, pair{one.b, k})
	}
	slices.SortFunc(list, func(a, b pair) int { return bytes.Compare(a.bytes, b.bytes) })
	e.uvarint(len(list))
	for _, p := range list {
		e.b = append(e.b, p.bytes...)
		if err := e.value(v.MapIndex(p.key), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// dynamic writes the value in an interface after the number of its type, 0 for none.
func (e *encoder) dynamic(v reflect.Value, depth int) error {
	if v.IsNil() {
		e.uvarint(0)
		return nil
	}
	v = v.Elem()
	t := v.Type()
	name, err := nameOf(t)
	if err != nil {
		return Bad("%w", err)
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return Bad("a nil pointer of type %v in an interface cannot be saved", t)
	}
	i := slices.Index(e.types, t)
	if i >= 0 {
		e.uvarint(1 + i)
		return e.value(v, depth+1)
	}
	e.types = append(e.types, t)
	e.uvarint(len(e.types))
	e.text(name)
	layout := formOf(t).layout
	e.b = append(e.b, layout[:]...)
	return e.value(v, depth+1)
}
