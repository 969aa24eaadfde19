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

// Rules configure [Decode].
type Rules struct {
	// Required makes a missing field an error, unless it is marked omitempty.
	Required bool
	// Hide keeps values, which may be secrets, out of errors: an error then names the kind of
	// value.
	Hide bool
}

// Decode reads one JSON value into v, which points to a struct, map, slice, string, bool or number,
// or to a type that implements json.Unmarshaler or encoding.TextUnmarshaler. After an error v must
// not be used. It takes time linear in the length of raw.
func Decode(raw []byte, v any, rules Rules) error {
	if !utf8.Valid(raw) {
		return fault("", "not valid UTF-8")
	}
	if i := halfPair(raw); i >= 0 {
		return fault("", "unpaired surrogate at byte %d", i)
	}
	var whole json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&whole); err != nil {
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fault("", "not valid JSON at byte %d%s", e.Offset, culprit(raw, int(e.Offset), rules))
		}
		return fault("", "not valid JSON: it ends too early")
	}
	d := &decoder{lexer: lexer{raw: whole}, rules: rules}
	if err := d.value(reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	if rest := len(bytes.TrimLeft(raw[dec.InputOffset():], blank)); rest > 0 {
		return fault("", "text follows the value at byte %d", len(raw)-rest+1)
	}
	return nil
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
			path = under(path, s.name)
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

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (d *decoder) value(v reflect.Value) error {
	if p := reflect.PointerTo(v.Type()); v.Type() == rawType || v.Kind() == reflect.Interface ||
		p.Implements(jsonType) || p.Implements(textType) {
		return d.custom(v)
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

// scalars reads a list of scalars by encoding/json, which is fast. If that fails, or if the list
// may contain null, it reads item by item to find the error.
func (d *decoder) scalars(v reflect.Value) error {
	start := d.at
	raw := d.whole()
	if raw[0] == '[' && !bytes.Contains(raw, []byte("null")) && json.Unmarshal(raw, v.Addr().Interface()) == nil {
		return nil
	}
	d.at = start
	return d.composed(v)
}

// composed reads a value token by token.
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
			return d.mismatch(t, wanted(v.Type()))
		}
		return nil
	}
}

// custom decodes a value whose type has its own decoding. A TextUnmarshaler never sees null, since
// json.Unmarshal skips it, so null is refused here.
func (d *decoder) custom(v reflect.Value) error {
	raw := d.whole()
	if p := reflect.PointerTo(v.Type()); raw[0] == 'n' && p.Implements(textType) && !p.Implements(jsonType) {
		return d.mismatch(token(raw), "a string")
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		if d.rules.Hide {
			return d.fault("cannot be decoded")
		}
		return d.fault("%s: %w", cut(raw, raw), err)
	}
	return nil
}

// set stores a scalar and reports whether v can hold it.
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

// wanted describes the values of a scalar type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("a number in the range of float%d", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("an integer from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	default:
		most := int64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("an integer from %d to %d", -most-1, most)
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
	d.next() // the closing bracket or brace
	return nil
}

// duplicate returns the error for a repeated name.
func (d *decoder) duplicate(name string) error {
	d.enter(step{name, -1})
	return d.fault("duplicate field")
}

func (d *decoder) entries(v reflect.Value) error {
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

// form lists the fields of a struct by their names in JSON.
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
	form := formOf(v.Type())
	seen := make([]bool, len(form.names))
	for d.more() {
		name := d.next().text()
		at := slices.Index(form.names, name)
		if at >= 0 && seen[at] {
			return d.duplicate(name)
		}
		d.enter(step{name, -1})
		if at < 0 {
			return d.fault("unknown field; known fields: %s", strings.Join(form.names, ", "))
		}
		seen[at] = true
		if err := d.value(v.Field(at)); err != nil {
			return err
		}
		d.leave()
	}
	d.next() // the closing bracket or brace
	for i, name := range form.names {
		if d.rules.Required && !seen[i] && !form.optional[i] {
			d.enter(step{name, -1})
			return d.fault("the field is missing")
		}
	}
	return nil
}

// Name returns the JSON name of a struct field.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// under returns the path of a member. Names that would be ambiguous in a path are quoted, and long
// names are cut.
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
