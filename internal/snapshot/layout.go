package snapshot

import (
	"crypto/sha256"
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxDepth bounds how deep values are nested: pointers that form a cycle are refused.
const maxDepth = 100

// form is what the encoding needs to know of a type.
type form struct {
	marshals bool       // values are written by their own methods
	fields   []int      // the indices of a struct's exported fields, in order
	layout   layoutHash // of the type's values
}

// layoutHash identifies the bytes of a type's values: names and kinds of fields, kinds of elements.
type layoutHash [8]byte

var forms sync.Map // of reflect.Type

// formOf returns the form of a type, which it keeps.
func formOf(t reflect.Type) *form {
	if f, ok := forms.Load(t); ok {
		return f.(*form)
	}
	f := &form{marshals: marshals(t)}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				f.fields = append(f.fields, i)
			}
		}
	}
	var text strings.Builder
	describe(&text, t, nil)
	sum := sha256.Sum256([]byte(text.String()))
	copy(f.layout[:], sum[:])
	forms.Store(t, f)
	return f
}

// describe writes the layout of a type as text. A type within itself is the number of the outer
// one.
func describe(to *strings.Builder, t reflect.Type, outer []reflect.Type) {
	if i := slices.Index(outer, t); i >= 0 {
		to.WriteString("^" + strconv.Itoa(i))
		return
	}
	outer = append(outer, t)
	if marshals(t) {
		to.WriteString("binary " + t.Name())
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		to.WriteString("{")
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				to.WriteString(f.Name + " ")
				describe(to, f.Type, outer)
				to.WriteString(";")
			}
		}
		to.WriteString("}")
	case reflect.Map:
		to.WriteString("map ")
		describe(to, t.Key(), outer)
		to.WriteString(" ")
		describe(to, t.Elem(), outer)
	case reflect.Array:
		to.WriteString(strconv.Itoa(t.Len()) + " ")
		describe(to, t.Elem(), outer)
	case reflect.Slice, reflect.Pointer:
		to.WriteString(t.Kind().String() + " ")
		describe(to, t.Elem(), outer)
	default:
		to.WriteString(t.Kind().String())
	}
}

var (
	marshalerType   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// marshals reports whether values of a type are written by their own methods.
func marshals(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false // what it points to decides
	}
	p := reflect.PointerTo(t)
	return p.Implements(marshalerType) && p.Implements(unmarshalerType)
}

// plain reports whether a type can be the key of a map: NaN is excluded, because a NaN key cannot
// be found again.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return !formOf(t).marshals
	}
	return false
}

// floats returns a list of float64 without a name of its own, nil for another value: most states
// consist of such lists, and reflection is slow for each number.
func floats(v reflect.Value) []float64 {
	if v.Kind() == reflect.Slice && v.CanAddr() {
		if list, ok := v.Addr().Interface().(*[]float64); ok {
			return *list
		}
	}
	return nil
}
