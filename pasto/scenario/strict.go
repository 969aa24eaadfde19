package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/noregret/noregret/pasto"
)

// keys are the keys of the objects of a problem file by their depth of nesting in lists: those of the file,
// and of an element of its lists.
var keys = map[string][]string{
	"":        keysOf(reflect.TypeFor[Problem]()),
	"metrics": keysOf(reflect.TypeFor[pasto.Metric]()),
	"arms":    keysOf(reflect.TypeFor[Arm]()),
}

// keysOf are the JSON keys of a struct.
func keysOf(t reflect.Type) (list []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		list = append(list, name)
	}
	return list
}

// strict walks over the tokens of a problem and refuses what encoding/json lets pass: keys that stand twice,
// of which the last would count, keys in another case, and null, which would count as 0.
type strict struct{ d *json.Decoder }

// checkStrict refuses a text of which encoding/json would drop a part without a word. What is no JSON is left
// to it.
func checkStrict(text []byte) error {
	if !json.Valid(text) {
		return nil // Unmarshal says where
	}
	s := strict{json.NewDecoder(bytes.NewReader(text))}
	s.d.UseNumber()
	return s.value("", "")
}

// value checks the next value, at the place given; kind says which object an object is.
func (s strict) value(place, kind string) error {
	t, err := s.d.Token()
	if err != nil {
		return err
	}
	switch t {
	case nil:
		if place == "" {
			return fmt.Errorf("it is null: want an object")
		}
		return bad(place, "null: leave it out, or give it a value")
	case json.Delim('{'):
		return s.object(place, kind)
	case json.Delim('['):
		for i := 0; s.d.More(); i++ {
			if err := s.value(fmt.Sprintf("%s[%d]", place, i), kind); err != nil {
				return err
			}
		}
		_, _ = s.d.Token()
	}
	return nil
}

// object checks the object that has just begun.
func (s strict) object(place, kind string) error {
	allowed, known := keys[kind]
	var seen []string
	for s.d.More() {
		t, err := s.d.Token()
		if err != nil {
			return err
		}
		key := t.(string)
		at := "key"
		if place != "" {
			at = place
		}
		switch {
		case slices.Contains(seen, key):
			return bad(at, "%q is given twice: want it once", key)
		case known && !slices.Contains(allowed, key):
			return bad(at, "%q is unknown: want one of %s", key, strings.Join(allowed, ", "))
		}
		seen = append(seen, key)
		inner := key
		if place != "" {
			inner, key = place+"."+key, "value of a key" // there is no third level
		}
		if err := s.value(inner, key); err != nil {
			return err
		}
	}
	_, _ = s.d.Token()
	return nil
}
