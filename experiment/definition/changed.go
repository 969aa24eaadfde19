package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/noregret/noregret/internal/strictjson"
)

// Changed names the fields in which two definitions differ, such as "arms.gain.value, round.length",
// for people; "created" if before is nil.
func Changed(before, after *Definition) (string, error) {
	if before == nil {
		return "created", nil
	}
	a, err := generic(before)
	if err != nil {
		return "", err
	}
	b, err := generic(after)
	if err != nil {
		return "", err
	}
	var out []string
	difference("", a, b, &out)
	if n := len(out); n > 20 {
		out = append(out[:20], fmt.Sprintf("and %d more", n-20))
	}
	return strings.Join(out, ", "), nil
}

// generic returns a definition as the values of its JSON.
func generic(d *Definition) (v any, err error) {
	text, err := strictjson.Encode(d)
	if err != nil {
		return nil, err
	}
	return v, json.Unmarshal(text, &v)
}

// difference appends the paths at which two values of JSON differ.
func difference(path string, a, b any, out *[]string) {
	x, y := members(a), members(b)
	if x == nil || y == nil {
		if !reflect.DeepEqual(a, b) {
			*out = append(*out, strings.TrimPrefix(path, "."))
		}
		return
	}
	keys := map[string]bool{}
	for k := range x {
		keys[k] = true
	}
	for k := range y {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		one, in := x[k]
		other, also := y[k]
		next := path + "." + k
		switch {
		case !in:
			*out = append(*out, strings.TrimPrefix(next, ".")+" added")
		case !also:
			*out = append(*out, strings.TrimPrefix(next, ".")+" removed")
		default:
			difference(next, one, other, out)
		}
	}
}

// members are those of an object, or of a list of objects that have names.
func members(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case []any:
		out := map[string]any{}
		for _, item := range v {
			m, _ := item.(map[string]any)
			name, _ := m["name"].(string)
			if name == "" {
				name, _ = m["metric"].(string)
			}
			if name == "" || out[name] != nil {
				return nil
			}
			out[name] = m
		}
		return out
	}
	return nil
}
