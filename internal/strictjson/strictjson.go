package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// Rules say how [Decode] differs from its default.
type Rules struct {
	// Required makes a missing field an error, unless it is marked omitempty.
	Required bool
	// Hide leaves values out of errors, which then name their kinds: they may be secrets.
	Hide bool
}

// Decode reads one JSON value into v, a pointer to a struct, map, slice, string, bool or number, or
// to one that reads itself (json.Unmarshaler, encoding.TextUnmarshaler). v is not to be used after
// an error. O(n) time.
func Decode(raw []byte, v any, rules Rules) error {
	if !utf8.Valid(raw) {
		return fault("", "it is not UTF-8 text")
	}
	if i := halfPair(raw); i >= 0 {
		return fault("", "half of a surrogate pair at byte %d", i)
	}
	var whole json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&whole); err != nil {
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fault("", "it is no JSON at byte %d%s", e.Offset, culprit(raw, int(e.Offset), rules))
		}
		return fault("", "it is no JSON: it ends too early")
	}
	d := &decoder{lexer: lexer{raw: whole}, rules: rules}
	if err := d.value(reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	if rest := len(bytes.TrimLeft(raw[dec.InputOffset():], blank)); rest > 0 {
		return fault("", "text after the value's end, at byte %d", len(raw)-rest+1)
	}
	return nil
}

// culprit is the line of byte at, which is counted from 1, with what is there, and a word of advice
// where that is a number that JSON does not have.
func culprit(raw []byte, at int, rules Rules) string {
	const most = 20
	at = min(max(at, 1), len(raw))
	if at > 1 && raw[at-2] == 'n' && bytes.HasPrefix(raw[at-1:], []byte("an")) { // it began like null
		at--
	}
	line := 1 + bytes.Count(raw[:at-1], []byte("\n"))
	if rules.Hide {
		return fmt.Sprintf(", in line %d", line)
	}
	rest := raw[at-1:]
	text := string(bytes.ToValidUTF8(rest[:min(len(rest), most)], nil))
	advice := ""
	for _, word := range []string{"NaN", "Inf", "nan", "inf"} {
		if strings.HasPrefix(text, word) {
			advice = ": there is no such number in JSON, want a finite one"
		}
	}
	if len(rest) > most {
		text += "..."
	}
	return fmt.Sprintf(", in line %d at %q%s", line, text, advice)
}

func fault(path, format string, args ...any) error {
	return noregret.BadInputf(path, format, args...)
}

// halfPair is the place of the first escape that is half of a surrogate pair, or -1.
func halfPair(raw []byte) int {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return -1
	}
	unit := func(i int) rune {
		if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			return 0
		}
		n, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		if err != nil {
			return 0 // the decoder says so
		}
		return rune(n)
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		first := unit(i)
		switch {
		case !utf16.IsSurrogate(first):
			i++ // the escaped character
		case utf16.DecodeRune(first, unit(i+6)) == utf8.RuneError:
			return i
		default:
			i += 11
		}
	}
	return -1
}

// decoder reads a value whose syntax has been looked at.
type decoder struct {
	lexer
	rules Rules
	path  []step // to the value being read
}

// step is a member's name, or "" and a place in a list.
type step struct {
	name  string
	index int
}

// fault is an error at the place that is being read. It is only then that the path is put together.
func (d *decoder) fault(format string, args ...any) error {
	path := ""
	for _, s := range d.path {
		if s.index >= 0 {
			path += "[" + strconv.Itoa(s.index) + "]"
		} else {
			path = under(path, s.name)
		}
	}
	return fault(path, format, args...)
}

func (d *decoder) enter(s step) { d.path = append(d.path, s) }
func (d *decoder) leave()       { d.path = d.path[:len(d.path)-1] }

// mismatch is the error of a value of the wrong kind.
func (d *decoder) mismatch(t token, want string) error {
	is := t.kind()
	if !d.rules.Hide && t[0] != 'n' {
		is = cut(t, d.raw[d.at-len(t):])
	}
	return d.fault("it is %s, want %s", is, want)
}

// cut is a scalar's text, or the beginning of what it opens.
func cut(t token, rest []byte) string {
	const most = 40
	if t[0] == '[' || t[0] == '{' {
		t = rest
	}
	if len(t) > most {
		return string(t[:most]) + "..."
	}
	return string(t)
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (d *decoder) value(v reflect.Value) error {
	if p := reflect.PointerTo(v.Type()); v.Type() == rawType || v.Kind() == reflect.Interface ||
		p.Implements(jsonType) || p.Implements(textType) {
		return d.own(v)
	}
	if v.Kind() == reflect.Slice && isScalar(v.Type().Elem()) && len(d.path) > 0 {
		return d.scalars(v)
	}
	return d.composed(v)
}

func isScalar(t reflect.Type) bool {
	switch p := reflect.PointerTo(t); {
	case p.Implements(jsonType) || p.Implements(textType):
		return false
	default:
		k := t.Kind()
		return k == reflect.String || k == reflect.Bool || k >= reflect.Int && k <= reflect.Float64
	}
}

// scalars reads a list of scalars by encoding/json, which is fast, and only if that fails or there
// may be a null in it item by item, for the error.
func (d *decoder) scalars(v reflect.Value) error {
	begin := d.at
	raw := d.whole()
	if raw[0] == '[' && !bytes.Contains(raw, []byte("null")) && json.Unmarshal(raw, v.Addr().Interface()) == nil {
		return nil
	}
	d.at = begin
	return d.composed(v)
}

// composed reads a value by its tokens.
func (d *decoder) composed(v reflect.Value) error {
	t := d.next()
	for v.Kind() == reflect.Pointer {
		if t[0] == 'n' {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map:
		if t[0] != '{' {
			return d.mismatch(t, "an object")
		}
		if v.Kind() == reflect.Map {
			return d.entries(v)
		}
		return d.fields(v)
	case reflect.Slice:
		if t[0] != '[' {
			return d.mismatch(t, "a list")
		}
		return d.items(v)
	default:
		if !set(v, t) {
			return d.mismatch(t, wanted(v.Kind()))
		}
		return nil
	}
}

// own is for what reads itself. What reads a text only is not asked about null, which
// json.Unmarshal passes over.
func (d *decoder) own(v reflect.Value) error {
	raw := d.whole()
	if p := reflect.PointerTo(v.Type()); raw[0] == 'n' && p.Implements(textType) && !p.Implements(jsonType) {
		return d.mismatch(token(raw), "a string")
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		if d.rules.Hide {
			return d.fault("it cannot be read")
		}
		return d.fault("%s: %w", cut(raw, raw), err)
	}
	return nil
}

// set stores a scalar, and reports whether the token is one that the kind can hold.
func set(v reflect.Value, t token) bool {
	switch {
	case t[0] == 't' || t[0] == 'f':
		if v.Kind() == reflect.Bool {
			v.SetBool(t[0] == 't')
			return true
		}
	case t[0] == '"':
		if v.Kind() == reflect.String {
			v.SetString(t.text())
			return true
		}
	case !t.number():
	case v.CanFloat():
		x, err := strconv.ParseFloat(string(t), v.Type().Bits())
		v.SetFloat(x)
		return err == nil
	case v.CanInt():
		x, err := strconv.ParseInt(string(t), 10, v.Type().Bits())
		v.SetInt(x)
		return err == nil
	case v.CanUint():
		x, err := strconv.ParseUint(string(t), 10, v.Type().Bits())
		v.SetUint(x)
		return err == nil
	}
	return false
}

func wanted(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number in the range of float64"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number at least 0 in its range"
	default:
		return "a whole number in its range"
	}
}

func (d *decoder) items(v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; d.more(); i++ {
		if i == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		d.enter(step{index: i})
		if err := d.value(v.Index(i)); err != nil {
			return err
		}
		d.leave()
	}
	d.next() // the end of it
	return nil
}

// twice is the error of a name that is there already.
func (d *decoder) twice(name string) error {
	d.enter(step{name, -1})
	return d.fault("the field is there twice")
}

func (d *decoder) entries(v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	for d.more() {
		name := d.next().text()
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		if v.MapIndex(key).IsValid() {
			return d.twice(name)
		}
		x := reflect.New(v.Type().Elem()).Elem()
		d.enter(step{name, -1})
		if err := d.value(x); err != nil {
			return err
		}
		d.leave()
		v.SetMapIndex(key, x)
	}
	d.next() // the end of it
	return nil
}

// form is a struct's fields as JSON has them.
type form struct {
	names    []string
	optional []bool
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
	}
	forms.Store(t, f)
	return f
}

func (d *decoder) fields(v reflect.Value) error {
	known := formOf(v.Type())
	seen := make([]bool, len(known.names))
	for d.more() {
		name := d.next().text()
		at := slices.Index(known.names, name)
		if at >= 0 && seen[at] {
			return d.twice(name)
		}
		d.enter(step{name, -1})
		if at < 0 {
			return d.fault("the field is unknown: want one of %s", strings.Join(known.names, ", "))
		}
		seen[at] = true
		if err := d.value(v.Field(at)); err != nil {
			return err
		}
		d.leave()
	}
	d.next() // the end of it
	for i, name := range known.names {
		if d.rules.Required && !seen[i] && !known.optional[i] {
			d.enter(step{name, -1})
			return d.fault("the field is missing")
		}
	}
	return nil
}

// Name is the name of a struct's field in JSON.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// under is the path of a member. Names that would not be clear in a path are quoted, and long ones
// cut.
func under(path, name string) string {
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
