package definition

import (
	_ "embed"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// Schema is the JSON Schema (draft 2020-12) of a [Definition]. It has the fields, their types and
// their ranges; rules about several fields at once (a goal must be a metric) are [Parse]'s alone.
//
//go:embed definition.schema.json
var Schema []byte

// maxDefinition is the greatest size of a definition.
const maxDefinition = 1 << 20

// Parse reads a definition, YAML or JSON, fills in the defaults and validates it. File is the name
// for errors, whose place is "file:line: path". Unknown fields, wrong types and repeated keys are
// refused.
func Parse(file string, data []byte) (*Definition, error) {
	if len(data) > maxDefinition {
		return nil, noregret.BadInputf(file, "it has %d bytes: want at most %d", len(data), maxDefinition)
	}
	root, err := readTree(file, data)
	if err != nil {
		return nil, err
	}
	if k := root.duplicate(); k != nil {
		return nil, noregret.BadInputf(at(file, k.line), "the field %q stands twice", k.text)
	}
	d := presets()
	r := reader{file: file, lines: map[string]int{"": root.line}}
	if err := r.read(root, "", reflect.ValueOf(&d).Elem()); err != nil {
		return nil, err
	}
	d.defaults()
	if err := d.Validate(); err != nil {
		return nil, r.locate(err)
	}
	return &d, nil
}

// reader fills Go values from nodes, and remembers on which line each path stands.
type reader struct {
	file  string
	lines map[string]int
}

// locate puts file and line before the path that is an error's place.
func (r *reader) locate(err error) error {
	e, ok := err.(*noregret.Error)
	if !ok {
		return err
	}
	path := e.Place
	for {
		if line, ok := r.lines[path]; ok {
			return &noregret.Error{
				Code: e.Code, Place: at(r.file, line) + ": " + e.Place, Message: e.Message,
				Err: e.Err,
			}
		}
		if path == "" {
			return e
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}

func (r *reader) bad(n *node, path, format string, args ...any) error {
	place := at(r.file, n.line)
	if path != "" {
		place += ": " + path
	}
	return noregret.BadInputf(place, format, args...)
}

// preset is a type with values for fields that are left out.
type preset interface{ preset() }

func (g *Goal) preset()      { g.Weight = 1 }
func (g *Guardrail) preset() { g.Penalty, g.Alpha, g.Action = 5, 0.05, "alert" }
func (m *Metric) preset()    { m.Kind, m.Direction = "mean", "up" }

var rawType = reflect.TypeFor[json.RawMessage]()

func (r *reader) read(n *node, path string, v reflect.Value) error {
	r.lines[path] = n.line
	if v.CanAddr() {
		switch t := v.Addr().Interface().(type) {
		case *Arms:
			return r.arms(n, path, t)
		case encoding.TextUnmarshaler:
			if n.kind != isString {
				return r.bad(n, path, "%v: want a string", n)
			}
			if err := t.UnmarshalText([]byte(n.text)); err != nil {
				return r.bad(n, path, "%s", err.Error())
			}
			return nil
		case preset:
			t.preset()
		}
	}
	if v.Type() == rawType {
		if k := n.huge(); k != nil {
			return r.bad(k, path, "%v: want a number that a float64 can hold", k)
		}
		v.SetBytes(n.json(nil))
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.read(n, path, v.Elem())
	case reflect.Struct:
		return r.object(n, path, v)
	case reflect.Slice:
		return r.list(n, path, v)
	case reflect.Map:
		return r.dictionary(n, path, v)
	}
	return r.scalar(n, path, v)
}

func (r *reader) scalar(n *node, path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if n.kind != isString {
			return r.bad(n, path, "%v: want a string", n)
		}
		v.SetString(n.text)
	case reflect.Bool:
		if n.kind != isBool {
			return r.bad(n, path, "%v: want true or false", n)
		}
		v.SetBool(n.text == "true")
	case reflect.Float64:
		x, err := strconv.ParseFloat(n.text, 64)
		if n.kind != isNumber || err != nil {
			return r.bad(n, path, "%v: want a finite number", n)
		}
		v.SetFloat(x)
	case reflect.Int64:
		x, ok := wholeNumber(n.text)
		if n.kind != isNumber || !ok {
			return r.bad(n, path, "%v: want a whole number", n)
		}
		v.SetInt(x)
	default:
		return r.bad(n, path, "a field of the kind %v cannot be read", v.Kind())
	}
	return nil
}

// wholeNumber reads a JSON number that is whole, however it is written: 1000, 1000.0 or 1e3.
func wholeNumber(text string) (int64, bool) {
	if x, err := strconv.ParseInt(text, 10, 64); err == nil {
		return x, true
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	key := numberKey(text) // 1.00000000000000001 is not whole, though its float64 is
	return int64(x), key == "0" || key == numberKey(strconv.FormatInt(int64(x), 10))
}

// join is the path of a field.
func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func (r *reader) object(n *node, path string, v reflect.Value) error {
	if n.kind != isObject {
		return r.bad(n, path, "%v: want an object", n)
	}
	fields := map[string]int{}
	var names, missing []string
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = i
		names = append(names, name)
		if option == "" && slices.Contains(required, v.Type().Name()+"."+name) {
			missing = append(missing, name)
		}
	}
	for i, k := range n.keys {
		f, ok := fields[k.text]
		if !ok {
			return r.bad(k, join(path, k.text), "unknown field: want one of %s", strings.Join(names, ", "))
		}
		if n.values[i].kind == isNull && v.Field(f).Type() != rawType {
			return r.bad(k, join(path, k.text), "null: leave the field out instead")
		}
		if err := r.read(n.values[i], join(path, k.text), v.Field(f)); err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(s string) bool { return s == k.text })
	}
	if len(missing) > 0 {
		return r.bad(n, join(path, missing[0]), "it is missing")
	}
	return nil
}

// required are the fields that every definition has, by type.
var required = []string{
	"Definition.name", "Definition.arms", "Definition.metrics", "Arm.name", "Arm.value", "Metric.name",
	"Goal.metric", "Guardrail.metric", "Control.arm", "Objective.goals", "Side.low", "Side.high",
}

func (r *reader) list(n *node, path string, v reflect.Value) error {
	if n.kind != isArray {
		return r.bad(n, path, "%v: want a list", n)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.values), len(n.values)))
	for i, e := range n.values {
		place := fmt.Sprintf("%s[%d]", path, i)
		if e.kind == isNull && v.Index(i).Type() != rawType {
			return r.bad(e, place, "null: want a value")
		}
		if err := r.read(e, place, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) dictionary(n *node, path string, v reflect.Value) error {
	if n.kind != isObject {
		return r.bad(n, path, "%v: want an object", n)
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i, k := range n.keys {
		e := reflect.New(v.Type().Elem()).Elem()
		if n.values[i].kind == isNull {
			return r.bad(k, join(path, k.text), "null: want a value")
		}
		if err := r.read(n.values[i], join(path, k.text), e); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(k.text), e)
	}
	return nil
}

// arms reads a list of arms, a grid or a box.
func (r *reader) arms(n *node, path string, a *Arms) error {
	if n.kind == isArray {
		return r.list(n, path, reflect.ValueOf(&a.List).Elem())
	}
	var f armsForm
	if n.kind != isObject {
		return r.bad(n, path, "%v: want a list of arms, {grid: ...} or {box: ...}", n)
	}
	if err := r.object(n, path, reflect.ValueOf(&f).Elem()); err != nil {
		return err
	}
	if (f.Grid == nil) == (f.Box == nil) {
		return r.bad(n, path, "want a list of arms, {grid: ...} or {box: ...}")
	}
	for _, k := range n.keys {
		if f.Grid != nil && k.text != "grid" {
			return r.bad(k, join(path, k.text), "it is of a box")
		}
	}
	a.Grid, a.Box, a.Nodes, a.Every = f.Grid, f.Box, f.Nodes, f.Every
	return nil
}
