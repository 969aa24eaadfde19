package snapshot

import (
	"bytes"
	"encoding/gob"
	"reflect"
)

// decodeLegacy reads the kind and the state of a snapshot of version 1: two gobs.
func decodeLegacy(data []byte, kind string, state any) error {
	d, of := gob.NewDecoder(bytes.NewReader(data)), ""
	if err := d.Decode(&of); err != nil {
		return Bad("damaged: %w", err)
	}
	if of != kind {
		return Bad("it was taken from %q, this learner is %q", of, kind)
	}
	t := reflect.TypeOf(state).Elem()
	old, renamed := legacyType(t, 0)
	if !renamed {
		if err := d.Decode(state); err != nil {
			return Bad("damaged: %w", err)
		}
		return nil
	}
	v := reflect.New(old)
	if err := d.DecodeValue(v); err != nil {
		return Bad("damaged: %w", err)
	}
	var e encoder
	if err := e.encode(v.Interface()); err != nil {
		return Bad("damaged: %w", err)
	}
	if err := newDecoder(e.b).decode(state); err != nil {
		return Bad("damaged: %w", err)
	}
	return nil
}

// legacyType is t with the fields' names in the bytes as their names in Go, for encoding/gob, which
// knows no tags. It reports whether any differ.
func legacyType(t reflect.Type, depth int) (reflect.Type, bool) {
	if depth > maxDepth || marshals(t) {
		return t, false
	}
	switch t.Kind() {
	case reflect.Pointer:
		elem, renamed := legacyType(t.Elem(), depth+1)
		if renamed {
			return reflect.PointerTo(elem), true
		}
	case reflect.Slice:
		elem, renamed := legacyType(t.Elem(), depth+1)
		if renamed {
			return reflect.SliceOf(elem), true
		}
	case reflect.Array:
		elem, renamed := legacyType(t.Elem(), depth+1)
		if renamed {
			return reflect.ArrayOf(t.Len(), elem), true
		}
	case reflect.Map:
		elem, renamed := legacyType(t.Elem(), depth+1)
		if renamed {
			return reflect.MapOf(t.Key(), elem), true
		}
	case reflect.Struct:
		return legacyStruct(t, depth)
	}
	return t, false
}

func legacyStruct(t reflect.Type, depth int) (reflect.Type, bool) {
	var fields []reflect.StructField
	renamed := false
	for _, f := range shapeOf(t) {
		elem, inside := legacyType(t.Field(f.index).Type, depth+1)
		renamed = renamed || inside || f.name != t.Field(f.index).Name
		fields = append(fields, reflect.StructField{Name: f.name, Type: elem})
	}
	if !renamed {
		return t, false
	}
	return reflect.StructOf(fields), true
}
