package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// Rules configure [Decode].
type Rules struct {
	// Required makes a missing field an error, unless it is marked omitempty.
	Required bool
	// Hide keeps values, which may be secrets, out of errors: an error then names the kind of
	// value.
	Hide bool
	// Stored reads what encoding/json has written from Go values: null stands for an empty list or
	// map, and an unpaired surrogate for U+FFFD.
	Stored bool
	// WholeFloats lets an integer have a fraction of zeros or an exponent: 1000.0 and 1e3 are 1000.
	WholeFloats bool
	// NoNull makes null an error for pointers too. Only [json.RawMessage] and any accept it.
	NoNull bool
	// Preset, if not nil, is called with a pointer to each struct before its fields are read. The
	// values it sets remain where a field is missing.
	Preset func(v any)
	// Needs, if not nil, reports whether a struct type must have the field of a JSON name. It adds
	// to Required.
	Needs func(t reflect.Type, field string) bool
	// Depth is how many lists and objects may be nested within each other, 0 for no bound.
	Depth int
	// Lenient passes over fields that a struct does not have, and takes a field that is null for a
	// missing one. A name that occurs twice in an object is an error all the same.
	Lenient bool
}

// Unmarshaler is a type with several forms, which chooses the Go value for the form at hand.
type Unmarshaler interface {
	// UnmarshalStrict decodes a value whose first byte is first ('{', '[', '"', ...). It calls
	// decode once with a pointer to the Go value of that form; the rules and the paths of errors
	// are then those of the whole document. The place of a [noregret.Error] that it returns itself
	// is relative to the value.
	UnmarshalStrict(first byte, decode func(v any) error) error
}

// Decode reads one JSON value into v, which points to a struct, map, slice, string, bool or number,
// or to a type that implements [Unmarshaler], json.Unmarshaler or encoding.TextUnmarshaler. After
// an error v must not be used. It takes time linear in the length of raw.
func Decode(raw []byte, v any, rules Rules) error {
	if !utf8.Valid(raw) {
		return fault("", "not valid UTF-8")
	}
	if i := halfPair(raw); i >= 0 && !rules.Stored {
		return fault("", "unpaired surrogate at byte %d", i)
	}
	end, deep := valueEnd(raw, rules.Depth)
	if deep && rules.Depth > 0 {
		return fault("", "more than %d lists and objects within each other", rules.Depth)
	}
	if end < 0 {
		var err error
		if end, err = slowEnd(raw, rules); err != nil {
			return err
		}
	}
	d := &decoder{lexer: lexer{raw: raw[:end]}, rules: rules}
	d.path = d.space[:0]
	if err := d.value(reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	if rest := len(bytes.TrimLeft(raw[end:], blank)); rest > 0 {
		return fault("", "text follows the value at byte %d", len(raw)-rest+1)
	}
	return nil
}

// slowEnd returns the end of the first value by encoding/json, whose errors say where a syntax
// error is.
func slowEnd(raw []byte, rules Rules) (int, error) {
	var whole json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&whole); err != nil {
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			return 0, fault("", "not valid JSON at byte %d%s", e.Offset, culprit(raw, int(e.Offset), rules))
		}
		return 0, fault("", "not valid JSON: truncated")
	}
	return int(dec.InputOffset()), nil
}

// culprit describes the position of byte at, counted from 1: its line, the text found there, and a
// hint if that text is NaN or an infinity.
func culprit(raw []byte, at int, rules Rules) string {
	const most = 20
	at = min(max(at, 1), len(raw))
	if at > 1 && raw[at-2] == 'n' && bytes.HasPrefix(raw[at-1:], []byte("an")) { // a prefix of null
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
			advice = ": JSON has only finite numbers"
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

// halfPair returns the offset of the first escaped unpaired surrogate, or -1.
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
			return 0 // the decoder reports it
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

// decoder reads a value whose syntax has been checked.
type decoder struct {
	lexer
	rules Rules
	path  []step // leads to the value being read
	space [6]step

	nested func(v any) error // is decodeNested, made once
	inside bool              // decodeNested has failed
}

// step is the name of a member with index -1, or an index into a list.
type step struct {
	name  string
	index int
}

// fault returns an error whose place is the path of the value being read. Only errors pay for
// formatting the path.
func (d *decoder) fault(format string, args ...any) error {
	path := ""
	for _, s := range d.path {
		if s.index >= 0 {
			path += "[" + strconv.Itoa(s.index) + "]"
		} else {
			path = Member(path, s.name)
		}
	}
	return fault(path, format, args...)
}

func (d *decoder) enter(s step) { d.path = append(d.path, s) }
func (d *decoder) leave()       { d.path = d.path[:len(d.path)-1] }

// mismatch returns the error for a token of the wrong kind.
func (d *decoder) mismatch(t token, want string) error {
	is := t.kind()
	if !d.rules.Hide && t[0] != 'n' {
		is = cut(t, d.raw[d.at-len(t):])
	}
	return d.fault("must be %s, not %s", want, is)
}

// cut returns the text of a scalar, or the beginning of the list or object that t opens.
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

func (d *decoder) value(v reflect.Value) error { return d.by(wayOf(v.Type()), v) }

// by reads a value of a type that is read in the given way.
func (d *decoder) by(w way, v reflect.Value) error {
	switch w {
	case asForm:
		return d.form(v.Addr().Interface().(Unmarshaler))
	case asPointerToForm:
		if d.skip(); d.at == len(d.raw) || d.raw[d.at] == 'n' {
			return d.composed(v)
		}
		v.Set(reflect.New(v.Type().Elem()))
		return d.form(v.Interface().(Unmarshaler))
	case asRaw:
		raw := v.Addr().Interface().(*json.RawMessage)
		*raw = append((*raw)[:0], d.whole()...)
		return nil
	case asCustom:
		return d.custom(v)
	case asPointerToCustom:
		if d.skip(); d.at == len(d.raw) || d.raw[d.at] == 'n' {
			return d.composed(v)
		}
		v.Set(reflect.New(v.Type().Elem()))
		return d.custom(v.Elem())
	case asScalars:
		if len(d.path) > 0 {
			return d.scalars(v)
		}
	}
	return d.composed(v)
}

// scalars reads a list of scalars without reflection if they are strings, otherwise by
// encoding/json, which is fast. If that fails, or if the list may contain null, it reads item by
// item to find the error.
func (d *decoder) scalars(v reflect.Value) error {
	d.skip()
	start := d.at
	if list, ok := v.Addr().Interface().(*[]string); ok {
		if d.strings(list) {
			return nil
		}
	} else if raw := d.whole(); raw[0] == '[' && !bytes.Contains(raw, []byte("null")) &&
		json.Unmarshal(raw, v.Addr().Interface()) == nil {
		return nil
	}
	d.at = start
	return d.composed(v)
}

// strings reads a list of strings. It reports false if the value is something else.
func (d *decoder) strings(list *[]string) bool {
	if d.next()[0] != '[' {
		return false
	}
	out := []string{}
	for d.more() {
		t := d.next()
		if t[0] != '"' {
			return false
		}
		out = append(out, t.text())
	}
	d.next() // the closing bracket
	*list = out
	return true
}

// form decodes a value of a type with several forms.
func (d *decoder) form(u Unmarshaler) error {
	d.skip()
	if d.nested == nil {
		d.nested = d.decodeNested
	}
	depth, outer := len(d.path), d.inside
	d.inside = false
	err := u.UnmarshalStrict(d.raw[d.at], d.nested)
	inside := d.inside
	d.inside = outer
	if err == nil || inside {
		return err
	}
	d.path = d.path[:depth]
	if e, ok := errors.AsType[*noregret.Error](err); ok && e.Place != "" {
		d.enter(step{e.Place, -1})
		return d.fault("%s", e.Message)
	}
	return d.fault("%w", err)
}

// decodeNested decodes the form that an [Unmarshaler] has chosen.
func (d *decoder) decodeNested(v any) error {
	if s, ok := v.(*string); ok && d.raw[d.at] == '"' { // the same as below, but faster
		*s = d.next().text()
		return nil
	}
	err := d.value(reflect.ValueOf(v).Elem())
	d.inside = err != nil
	return err
}

// composed reads a value token by token.
func (d *decoder) composed(v reflect.Value) error {
	t := d.next()
	for v.Kind() == reflect.Pointer {
		if t[0] == 'n' && !d.rules.NoNull {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if d.rules.Stored && t[0] == 'n' && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) {
		v.SetZero()
		return nil
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
		whole := t
		if d.rules.WholeFloats && v.CanInt() {
			whole = withoutFraction(t)
		}
		if !set(v, whole) {
			return d.mismatch(t, wanted(v.Type()))
		}
		return nil
	}
}

// custom decodes a value whose type has its own decoding. A TextUnmarshaler reads strings only.
func (d *decoder) custom(v reflect.Value) error {
	raw := d.whole()
	decode := func() error { return json.Unmarshal(raw, v.Addr().Interface()) }
	if p := reflect.PointerTo(v.Type()); p.Implements(textType) && !p.Implements(jsonType) {
		if raw[0] != '"' {
			return d.mismatch(token(raw), "a string")
		}
		decode = func() error {
			return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(token(raw).text()))
		}
	}
	if err := decode(); err != nil {
		if d.rules.Hide {
			return d.fault("cannot be decoded")
		}
		if text := cut(raw, raw); !strings.HasPrefix(err.Error(), text) {
			return d.fault("%s: %w", text, err)
		}
		return d.fault("%w", err)
	}
	return nil
}

func (d *decoder) items(v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	w := wayOf(v.Type().Elem())
	for i := 0; d.more(); i++ {
		if i == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		d.enter(step{index: i})
		if err := d.by(w, v.Index(i)); err != nil {
			return err
		}
		d.leave()
	}
	d.next() // the closing bracket or brace
	return nil
}

// duplicate returns the error for a repeated name.
func (d *decoder) duplicate(name string) error {
	d.enter(step{name, -1})
	return d.fault("duplicate field")
}

// numbers reads a map of numbers without reflection.
func (d *decoder) numbers(m map[string]float64) error {
	for d.more() {
		name := d.next().text()
		if _, ok := m[name]; ok {
			return d.duplicate(name)
		}
		t := d.next()
		x, err := strconv.ParseFloat(string(t), 64)
		if err != nil || !t.number() {
			d.enter(step{name, -1})
			return d.mismatch(t, wanted(reflect.TypeFor[float64]()))
		}
		m[name] = x
	}
	d.next() // the closing brace
	return nil
}

func (d *decoder) entries(v reflect.Value) error {
	if m, ok := v.Addr().Interface().(*map[string]float64); ok {
		*m = map[string]float64{}
		return d.numbers(*m)
	}
	v.Set(reflect.MakeMap(v.Type()))
	for d.more() {
		name := d.next().text()
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		if v.MapIndex(key).IsValid() {
			return d.duplicate(name)
		}
		x := reflect.New(v.Type().Elem()).Elem()
		d.enter(step{name, -1})
		if err := d.value(x); err != nil {
			return err
		}
		d.leave()
		v.SetMapIndex(key, x)
	}
	d.next() // the closing bracket or brace
	return nil
}

func (d *decoder) fields(v reflect.Value) error {
	if d.rules.Preset != nil {
		d.rules.Preset(v.Addr().Interface())
	}
	form := formOf(v.Type())
	var few [16]bool
	seen := few[:]
	if len(form.names) > len(few) {
		seen = make([]bool, len(form.names))
	}
	var others map[string]bool
	for d.more() {
		t := d.next()
		at := form.index(t)
		if at >= 0 && seen[at] {
			return d.duplicate(form.names[at])
		}
		if at < 0 && d.rules.Lenient {
			name := t.text()
			if others[name] {
				return d.duplicate(name)
			}
			if others == nil {
				others = map[string]bool{}
			}
			others[name] = true
			d.whole()
			continue
		}
		name := ""
		if at >= 0 {
			name = form.names[at]
		} else {
			name = t.text()
		}
		d.enter(step{name, -1})
		if at < 0 {
			return d.fault("unknown field; known fields: %s", strings.Join(form.names, ", "))
		}
		seen[at] = true
		d.skip()
		w, field := form.ways[at], v.Field(at)
		if d.rules.Lenient && d.raw[d.at] == 'n' {
			d.next()
			d.leave()
			continue
		}
		if d.rules.NoNull && d.raw[d.at] == 'n' && w != asRaw && field.Kind() != reflect.Interface {
			return d.fault("null: leave the field out instead")
		}
		if err := d.by(w, field); err != nil {
			return err
		}
		d.leave()
	}
	d.next() // the closing bracket or brace
	for i, name := range form.names {
		needed := d.rules.Required && !form.optional[i] || d.rules.Needs != nil && d.rules.Needs(v.Type(), name)
		if needed && !seen[i] {
			d.enter(step{name, -1})
			return d.fault("the field is missing")
		}
	}
	return nil
}
