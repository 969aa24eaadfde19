package snapshot

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
)

// encoder appends values to b. Shapes of structs and types in interfaces are numbered in the order
// in which the values meet them, so the numbers depend on the values alone.
type encoder struct {
	b      []byte
	shapes map[reflect.Type]int
	types  map[reflect.Type]int
}

// encode writes state, a value or a pointer to one.
func (e *encoder) encode(state any) error {
	v := reflect.ValueOf(state)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() {
		return Bad("nil cannot be saved")
	}
	return e.value(v, 0)
}

func (e *encoder) tag(t byte)     { e.b = append(e.b, t) }
func (e *encoder) uvarint(n int)  { e.b = binary.AppendUvarint(e.b, uint64(n)) }
func (e *encoder) text(s string)  { e.tag(tagString); e.raw(s) }
func (e *encoder) raw(s string)   { e.uvarint(len(s)); e.b = append(e.b, s...) }
func (e *encoder) bytes(b []byte) { e.uvarint(len(b)); e.b = append(e.b, b...) }

// value writes v. It dispatches on the kind of its type, after the types that encode themselves.
func (e *encoder) value(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return Bad("a value of type %v cannot be saved: it is nested deeper than %d", v.Type(), maxDepth)
	}
	if marshals(v.Type()) {
		return e.marshaler(v)
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			e.tag(tagTrue)
		} else {
			e.tag(tagFalse)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.tag(tagInt)
		e.b = binary.AppendVarint(e.b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.tag(tagUint)
		e.b = binary.AppendUvarint(e.b, v.Uint())
	case reflect.Float32:
		e.tag(tagFloat32)
		e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		e.tag(tagFloat64)
		e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v.Float()))
	case reflect.String:
		e.text(v.String())
	case reflect.Slice, reflect.Array:
		return e.list(v, depth)
	case reflect.Map:
		return e.pairs(v, depth)
	case reflect.Struct:
		return e.fields(v, depth)
	case reflect.Pointer:
		if v.IsNil() {
			e.tag(tagNil)
			return nil
		}
		e.tag(tagPointer)
		return e.value(v.Elem(), depth+1)
	case reflect.Interface:
		return e.dynamic(v, depth)
	default:
		return Bad("a value of type %v cannot be saved", v.Type())
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
	e.tag(tagMarshaler)
	e.bytes(b)
	return nil
}

func (e *encoder) list(v reflect.Value, depth int) error {
	n, elem := v.Len(), v.Type().Elem()
	switch {
	case v.Kind() == reflect.Slice && elem.Kind() == reflect.Uint8 && !marshals(elem):
		e.tag(tagBytes)
		e.bytes(v.Bytes())
		return nil
	case elem.Kind() == reflect.Float64 && !marshals(elem):
		e.tag(tagFloats)
		e.uvarint(n)
		e.b = slices.Grow(e.b, 8*n)
		for i := range n {
			e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v.Index(i).Float()))
		}
		return nil
	}
	e.tag(tagList)
	e.uvarint(n)
	for i := range n {
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
	e.tag(tagMap)
	e.uvarint(len(list))
	for _, p := range list {
		e.b = append(e.b, p.bytes...)
		if err := e.value(v.MapIndex(p.key), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether a type can be the key of a map: NaN is excluded, because a NaN key cannot
// be found again.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return !marshals(t)
	}
	return false
}

func (e *encoder) fields(v reflect.Value, depth int) error {
	t := v.Type()
	shape := shapeOf(t)
	if len(shape) == 0 && t.NumField() > 0 {
		return Bad("a value of type %v cannot be saved: it has no exported fields", t)
	}
	e.tag(tagStruct)
	id, ok := e.shapes[t]
	if !ok {
		if e.shapes == nil {
			e.shapes = map[reflect.Type]int{}
		}
		id = len(e.shapes)
		e.shapes[t] = id
	}
	e.uvarint(id)
	if !ok {
		e.uvarint(len(shape))
		for _, f := range shape {
			e.raw(f.name)
		}
	}
	for _, f := range shape {
		if err := e.value(v.Field(f.index), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) dynamic(v reflect.Value, depth int) error {
	if v.IsNil() {
		e.tag(tagNil)
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
	e.tag(tagInterface)
	id, ok := e.types[t]
	if !ok {
		if e.types == nil {
			e.types = map[reflect.Type]int{}
		}
		id = len(e.types)
		e.types[t] = id
	}
	e.uvarint(id)
	if !ok {
		e.raw(name)
	}
	return e.value(v, depth+1)
}
