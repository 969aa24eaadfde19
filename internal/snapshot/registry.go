package snapshot

import (
	"fmt"
	"reflect"
	"sync"
)

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
