package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// way is how values of a type are read.
type way uint8

const (
	asTokens          way = iota + 1 // token by token
	asForm                           // by the type's [Unmarshaler]
	asPointerToForm                  // by the [Unmarshaler] of a pointer's element, or null
	asRaw                            // as the text that it is
	asCustom                         // by the type's own decoding
	asPointerToCustom                // by the own decoding of a pointer's element, or null
	asScalars                        // as a list of scalars
)

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
	formType = reflect.TypeFor[Unmarshaler]()
)

var ways sync.Map // from reflect.Type to way

// wayOf returns the way in which values of a type are read. To ask a type for its methods is slow,
// so the answer is kept.
func wayOf(t reflect.Type) way {
	if w, ok := ways.Load(t); ok {
		return w.(way)
	}
	w, p := asTokens, reflect.PointerTo(t)
	switch {
	case p.Implements(formType):
		w = asForm
	case t.Implements(formType):
		w = asPointerToForm
	case t == rawType:
		w = asRaw
	case t.Kind() == reflect.Interface || p.Implements(jsonType) || p.Implements(textType):
		w = asCustom
	case t.Kind() == reflect.Pointer && (t.Implements(jsonType) || t.Implements(textType)):
		w = asPointerToCustom
	case t.Kind() == reflect.Slice && isScalar(t.Elem()):
		w = asScalars
	}
	ways.Store(t, w)
	return w
}

// form lists the fields of a struct by their names in JSON.
type form struct {
	names    []string
	optional []bool
	ways     []way
}

// index returns the index of the field that a string token names, or -1.
func (f *form) index(t token) int {
	if bytes.IndexByte(t, '\\') >= 0 {
		return slices.Index(f.names, t.text())
	}
	t = t[1 : len(t)-1]
	for i, name := range f.names {
		if string(t) == name {
			return i
		}
	}
	return -1
}

var forms sync.Map // of reflect.Type

func formOf(t reflect.Type) *form {
	if f, ok := forms.Load(t); ok {
		return f.(*form)
	}
	f := new(form)
	for i := range t.NumField() {
		f.names = append(f.names, Name(t.Field(i)))
		f.optional = append(f.optional, strings.Contains(t.Field(i).Tag.Get("json"), ",omitempty"))
		f.ways = append(f.ways, wayOf(t.Field(i).Type))
	}
	forms.Store(t, f)
	return f
}

// Name returns the JSON name of a struct field.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// Member returns the path of a member. Names that would be ambiguous in a path are quoted, and long
// names are cut.
func Member(path, name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "..."
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == '.' || r == '[' || r == '"' || !strconv.IsPrint(r)
	}) || name == "" {
		name = fmt.Sprintf("%q", name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
