package snapshot

import (
	"encoding"
	"fmt"
	"reflect"
	"sync"
)

// The first byte of a value says what follows.
const (
	tagNil     = 'n' // a nil pointer or interface; nothing follows
	tagPointer = 'p' // the value that it points to
	tagFalse   = 'f' // nothing
	tagTrue    = 't' // nothing
	tagInt     = 'i' // a signed varint
	tagUint    = 'u' // a varint
	tagFloat32 = 'e' // 4 bytes, little-endian
	tagFloat64 = 'd' // 8 bytes, little-endian
	tagString  = 's' // the length as a varint, the bytes
	tagBytes   = 'b' // as a string
	tagFloats  = 'D' // the number of values as a varint, 8 bytes each
	tagList    = 'l' // the number of values as a varint, the values
	// the number of pairs as a varint, keys and values in the order of the keys' bytes
	tagMap       = 'm'
	tagStruct    = '{' // the shape's number, its fields' names if it is new, the fields' values
	tagInterface = 'x' // the type's number, its name if it is new, the value
	tagMarshaler = 'M' // the length as a varint, what MarshalBinary wrote
)

// maxDepth bounds how deep values are nested: pointers that form a cycle are refused.
const maxDepth = 100

// field is an exported field of a struct.
type field struct {
	name  string // in the bytes
	index int
}

// shapes caches shapeOf by type.
var shapes sync.Map

// shapeOf lists a struct's exported fields in the order of their declaration.
func shapeOf(t reflect.Type) []field {
	if s, ok := shapes.Load(t); ok {
		return s.([]field)
	}
	var s []field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		s = append(s, field{f.Name, i})
	}
	shapes.Store(t, s)
	return s
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

// registry holds the types that may stand in interfaces.
var registry = struct {
	sync.RWMutex
	byName map[string]reflect.Type
	byType map[reflect.Type]string
}{byName: map[string]reflect.Type{}, byType: map[reflect.Type]string{}}

// Register names the type of value, so that a state may hold it in an interface. The name goes into
// the bytes; two types of one name, or two names for one type, are an error. It is safe for
// concurrent use.
func Register(name string, value any) error {
	t := reflect.TypeOf(value)
	if name == "" || t == nil {
		return Bad("type %v cannot have the name %q", t, name)
	}
	registry.Lock()
	defer registry.Unlock()
	if other, ok := registry.byName[name]; ok && other != t {
		return Bad("the name %q of type %v belongs to type %v", name, t, other)
	}
	if other, ok := registry.byType[t]; ok && other != name {
		return Bad("type %v has the name %q already: it cannot have %q", t, other, name)
	}
	registry.byName[name], registry.byType[t] = t, name
	return nil
}

func nameOf(t reflect.Type) (string, error) {
	registry.RLock()
	defer registry.RUnlock()
	name, ok := registry.byType[t]
	if !ok {
		return "", fmt.Errorf("type %v is not registered", t)
	}
	return name, nil
}

func typeOf(name string) (reflect.Type, error) {
	registry.RLock()
	defer registry.RUnlock()
	t, ok := registry.byName[name]
	if !ok {
		return nil, fmt.Errorf("no type is registered as %q", name)
	}
	return t, nil
}
