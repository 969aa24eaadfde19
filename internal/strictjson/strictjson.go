package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Decode reads one JSON value into v, a pointer to a struct, map, slice, string, bool or number, or to one
// that reads itself (json.Unmarshaler, encoding.TextUnmarshaler). v is not to be used after an error. O(n)
// time.
func Decode(raw []byte, v any, rules Rules) error {
	if !utf8.Valid(raw) {
		return fault("", "it is not UTF-8 text")
	}
	if i := halfPair(raw); i >= 0 {
		return fault("", "half of a surrogate pair at byte %d", i)
	}
	d := &decoder{raw: raw, dec: json.NewDecoder(bytes.NewReader(raw)), rules: rules}
	d.dec.UseNumber()
	if err := d.value(reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return fault("", "text after the value's end, at byte %d", d.dec.InputOffset())
	}
	return nil
}

func fault(path, format string, args ...any) error {
	return noregret.Errorf(noregret.BadInput, path, format, args...)
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

type decoder struct {
	raw   []byte
	dec   *json.Decoder
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

// next is the next token and the place where it begins.
func (d *decoder) next() (json.Token, int, error) {
	start := int(d.dec.InputOffset())
	t, err := d.dec.Token()
	if err != nil {
		return nil, 0, d.syntax(err)
	}
	for start < len(d.raw) && strings.IndexByte(" \t\r\n:,", d.raw[start]) >= 0 {
		start++
	}
	return t, start, nil
}

func (d *decoder) syntax(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && int(e.Offset) < len(d.raw) {
		return d.fault("it is no JSON at byte %d", e.Offset)
	}
	return d.fault("it is no JSON: it ends too early")
}

// mismatch is the error of a value of the wrong kind.
func (d *decoder) mismatch(t json.Token, start int, want string) error {
	is := kindOf(t)
	if !d.rules.Hide && t != nil {
		is = cut(d.raw[start:max(start, int(d.dec.InputOffset()))], d.raw[start:])
	}
	return d.fault("it is %s, want %s", is, want)
}

// cut is a scalar's text, or the beginning of what it opens.
func cut(token, rest []byte) string {
	const most = 40
	if len(token) == 1 && (token[0] == '[' || token[0] == '{') {
		token = rest
	}
	if len(token) > most {
		return string(token[:most]) + "..."
	}
	return string(token)
}

func kindOf(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case json.Delim:
		if t == '{' {
			return "an object"
		}
	}
	return "a list"
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (d *decoder) value(v reflect.Value) error {
	if p := reflect.PointerTo(v.Type()); v.Type() == rawType || v.Kind() == reflect.Interface || p.Implements(jsonType) || p.Implements(textType) {
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

// scalars reads a list of scalars by encoding/json, which is fast, and only if that fails or there may be a
// null in it item by item, for the error.
func (d *decoder) scalars(v reflect.Value) error {
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return d.syntax(err)
	}
	if raw[0] == '[' && !bytes.Contains(raw, []byte("null")) && json.Unmarshal(raw, v.Addr().Interface()) == nil {
		return nil
	}
	slow := &decoder{raw: raw, dec: json.NewDecoder(bytes.NewReader(raw)), rules: d.rules, path: d.path}
	slow.dec.UseNumber()
	return slow.composed(v)
}

// composed reads a value by its tokens.
func (d *decoder) composed(v reflect.Value) error {
	t, start, err := d.next()
	if err != nil {
		return err
	}
	for v.Kind() == reflect.Pointer {
		if t == nil {
			v.SetZero()
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map:
		if t != json.Delim('{') {
			return d.mismatch(t, start, "an object")
		}
		if v.Kind() == reflect.Map {
			return d.entries(v)
		}
		return d.fields(v)
	case reflect.Slice:
		if t != json.Delim('[') {
			return d.mismatch(t, start, "a list")
		}
		return d.items(v)
	default:
		if !set(v, t) {
			return d.mismatch(t, start, wanted(v.Kind()))
		}
		return nil
	}
}

// own is for what reads itself.
func (d *decoder) own(v reflect.Value) error {
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return d.syntax(err)
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
func set(v reflect.Value, t json.Token) bool {
	switch t := t.(type) {
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(t)
			return true
		}
	case string:
		if v.Kind() == reflect.String {
			v.SetString(t)
			return true
		}
	case json.Number:
		switch {
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
	for i := 0; d.dec.More(); i++ {
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
	_, _, err := d.next()
	return err
}

// name reads the name of a member, which must not be among those seen.
func (d *decoder) name(seen func(name string) bool) (string, error) {
	t, _, err := d.next()
	if err != nil {
		return "", err
	}
	name, ok := t.(string)
	if !ok {
		return "", d.fault("%v, want the name of a field", t)
	}
	if seen(name) {
		d.enter(step{name, -1})
		return "", d.fault("the field is there twice")
	}
	return name, nil
}

func (d *decoder) entries(v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	for d.dec.More() {
		name, err := d.name(func(name string) bool {
			return v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key())).IsValid()
		})
		if err != nil {
			return err
		}
		x := reflect.New(v.Type().Elem()).Elem()
		d.enter(step{name, -1})
		if err := d.value(x); err != nil {
			return err
		}
		d.leave()
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), x)
	}
	_, _, err := d.next()
	return err
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
	for d.dec.More() {
		at := -1
		name, err := d.name(func(name string) bool {
			at = slices.Index(known.names, name)
			return at >= 0 && seen[at]
		})
		if err != nil {
			return err
		}
		d.enter(step{name, -1})
		if at < 0 {
			return d.fault("the field is unknown")
		}
		seen[at] = true
		if err := d.value(v.Field(at)); err != nil {
			return err
		}
		d.leave()
	}
	if _, _, err := d.next(); err != nil {
		return err
	}
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

// under is the path of a member. Names that would not be clear in a path are quoted, and long ones cut.
func under(path, name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "..."
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '.' || r == '[' || r == '"' || !strconv.IsPrint(r) }) || name == "" {
		name = fmt.Sprintf("%q", name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
