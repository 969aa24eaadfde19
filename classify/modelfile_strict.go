package classify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// jsonName is the name of a struct's field in JSON.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

// decodeStrict decodes JSON into v more strictly than encoding/json: names of fields in their exact case, none
// unknown, repeated or missing (save those marked omitempty), null for pointers only. The error, of code
// bad_input, has the JSON path as its place.
func decodeStrict(path string, raw []byte, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if isNull(raw) {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return decodeStrict(path, raw, v.Elem())
	case reflect.Struct:
		return decodeObject(path, raw, v)
	case reflect.Slice:
		return decodeArray(path, raw, v)
	default:
		return decodeScalar(path, raw, v)
	}
}

func decodeScalar(path string, raw []byte, v reflect.Value) error {
	if isNull(raw) {
		return badModel(path, "it is null, want %s", kindName(v.Kind()))
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		return badModel(path, "it is %s, want %s", cut(raw), kindName(v.Kind()))
	}
	return nil
}

func cut(raw []byte) string {
	const most = 40
	raw = bytes.TrimSpace(raw)
	if len(raw) > most {
		return string(raw[:most]) + "..."
	}
	return string(raw)
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number in the range of float64"
	case reflect.Uint32, reflect.Uint64:
		return "a whole number at least 0 in its range"
	default:
		return "a whole number in its range"
	}
}

func decodeArray(path string, raw []byte, v reflect.Value) error {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || trimmed[0] != '[' {
		return badModel(path, "it is %s, want an array", cut(raw))
	}
	switch v.Type().Elem().Kind() {
	case reflect.Float64, reflect.Uint32: // long ones
		err := json.Unmarshal(raw, v.Addr().Interface())
		if err == nil && !bytes.Contains(raw, []byte("null")) {
			return nil
		}
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return badModel(path, "%w", err)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		if err := decodeStrict(fmt.Sprintf("%s[%d]", path, i), item, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeObject(path string, raw []byte, v reflect.Value) error {
	under := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	field := map[string]int{}
	for i := range v.NumField() {
		field[jsonName(v.Type().Field(i))] = i
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return badModel(path, "it is %s, want an object", cut(raw))
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return badModel(path, "%w", err)
		}
		name, ok := t.(string)
		if !ok {
			return badModel(path, "%v, want the name of a field", t)
		}
		i, ok := field[name]
		switch {
		case !ok:
			return badModel(under(name), "the field is unknown")
		case seen[name]:
			return badModel(under(name), "the field is there twice")
		}
		seen[name] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return badModel(under(name), "%w", err)
		}
		if err := decodeStrict(under(name), value, v.Field(i)); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return badModel(path, "%w", err)
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !seen[jsonName(f)] && !strings.Contains(f.Tag.Get("json"), ",omitempty") {
			return badModel(under(jsonName(f)), "the field is missing")
		}
	}
	return nil
}
