package definition

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/strictjson"
)

// Diff lists the fields in which two definitions differ, in the order of the fields; nil stands for
// no definition. The elements of lists are matched by their names; goals and guardrails, which have
// none, by their metrics, or by their positions if a metric occurs twice. The value of an arm is
// one field.
func Diff(before, after *Definition) ([]api.FieldChange, error) {
	a, err := members(before)
	if err != nil {
		return nil, err
	}
	b, err := members(after)
	if err != nil {
		return nil, err
	}
	w := differ{changes: []api.FieldChange{}}
	err = w.members("", a, b)
	return w.changes, err
}

// member is a field of an object, or an element of a list.
type member struct {
	name string
	path string // appended to that of the object or list
	raw  json.RawMessage
}

func members(d *Definition) ([]member, error) {
	if d == nil {
		return nil, nil
	}
	raw, err := strictjson.Encode(d)
	if err != nil {
		return nil, err
	}
	return object(raw)
}

// object returns the fields of a JSON object in their order.
func object(raw json.RawMessage) (out []member, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string), path: "." + name.(string)}
		if err := d.Decode(&m.raw); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// list returns the elements of a JSON list. They have the names by which they can be matched if
// named is true, else their positions.
func list(raw json.RawMessage, named bool) (out []member, err error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	for i, item := range items {
		m := member{name: strconv.Itoa(i), path: "[" + strconv.Itoa(i) + "]", raw: item}
		if named {
			m.name = nameOf(item)
			m.path = "." + m.name
		}
		out = append(out, m)
	}
	return out, nil
}

// nameOf returns the name of an element, or its metric, or "".
func nameOf(raw json.RawMessage) string {
	var v struct{ Name, Metric string }
	if raw[0] != '{' || json.Unmarshal(raw, &v) != nil {
		return ""
	}
	if v.Name != "" {
		return v.Name
	}
	return v.Metric
}

// differ collects the differences between two values.
type differ struct{ changes []api.FieldChange }

func (w *differ) add(path string, before, after json.RawMessage) {
	w.changes = append(w.changes, api.FieldChange{Path: path, Before: before, After: after})
}

// members compares fields or elements by their names, first those that are there after the change.
func (w *differ) members(path string, a, b []member) error {
	find := func(in []member, name string) int {
		return slices.IndexFunc(in, func(m member) bool { return m.name == name })
	}
	at := func(m member) string {
		if path == "" {
			return m.name
		}
		return path + m.path
	}
	for _, m := range b {
		i := find(a, m.name)
		if i < 0 {
			w.add(at(m), nil, m.raw)
			continue
		}
		if err := w.value(at(m), m.name, a[i].raw, m.raw); err != nil {
			return err
		}
	}
	for _, m := range a {
		if find(b, m.name) < 0 {
			w.add(at(m), m.raw, nil)
		}
	}
	return nil
}

// value compares two values of a field or element.
func (w *differ) value(path, name string, a, b json.RawMessage) error {
	switch {
	case bytes.Equal(a, b):
		return nil
	case name == "value" || a[0] != b[0] || a[0] != '{' && a[0] != '[':
		w.add(path, a, b)
		return nil
	case a[0] == '{':
		x, err := object(a)
		if err != nil {
			return err
		}
		y, err := object(b)
		if err != nil {
			return err
		}
		return w.members(path, x, y)
	}
	return w.lists(path, a, b)
}

// lists compares two lists: by the names of their elements if all have distinct ones, by position
// if they are equally long, else as a whole.
func (w *differ) lists(path string, a, b json.RawMessage) error {
	x, err := list(a, true)
	if err != nil {
		return err
	}
	y, err := list(b, true)
	if err != nil {
		return err
	}
	if distinct(x) && distinct(y) {
		n := len(w.changes)
		if err := w.members(path, x, y); err != nil || len(w.changes) > n {
			return err
		}
		before, err := namesOf(x)
		if err != nil {
			return err
		}
		after, err := namesOf(y)
		w.add(path, before, after)
		return err
	}
	if len(x) != len(y) {
		w.add(path, a, b)
		return nil
	}
	if x, err = list(a, false); err != nil {
		return err
	}
	if y, err = list(b, false); err != nil {
		return err
	}
	return w.members(path, x, y)
}

// distinct reports whether all elements have names, each another.
func distinct(m []member) bool {
	seen := make(map[string]bool, len(m))
	for i := range m {
		if m[i].name == "" || seen[m[i].name] {
			return false
		}
		seen[m[i].name] = true
	}
	return true
}

func namesOf(m []member) (json.RawMessage, error) {
	names := make([]string, len(m))
	for i := range m {
		names[i] = m[i].name
	}
	return strictjson.Encode(names)
}
