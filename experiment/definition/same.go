package definition

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/noregret/noregret/internal/strictjson"
)

// SameValue reports whether two JSON values are equal as values, however they are written: the
// order of fields and the notation of numbers (1, 1.0, 1e0) do not matter.
func SameValue(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || valueKey(a) == valueKey(b)
}

// valueKey returns a text that equal JSON values share. The key of text that is not JSON is the
// text.
func valueKey(raw json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(raw)
	}
	return string(appendKey(nil, v))
}

func appendKey(b []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		return append(b, strictjson.NumberKey(v.String())...)
	case []any:
		b = append(b, '[')
		for _, x := range v {
			b = append(appendKey(b, x), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b = append(appendKey(b, name), ':')
			b = append(appendKey(b, v[name]), ',')
		}
		return append(b, '}')
	}
	text, err := strictjson.Encode(v)
	if err != nil {
		return b // null, booleans and strings are always encoded
	}
	return append(b, text...)
}
