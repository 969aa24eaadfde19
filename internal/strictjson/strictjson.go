package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
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
	if err := d.value("", reflect.ValueOf(v).Elem()); err != nil {
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
}

// next is the next token and the place where it begins.
func (d *decoder) next(path string) (json.Token, int, error) {
	start := int(d.dec.InputOffset())
	t, err := d.dec.Token()
	if err != nil {
		return nil, 0, d.syntax(path, err)
	}
	for start < len(d.raw) && strings.IndexByte(" \t\r\n:,", d.raw[start]) >= 0 {
		start++
	}
	return t, start, nil
}

func (d *decoder) syntax(path string, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && int(e.Offset) < len(d.raw) {
		return fault(path, "it is no JSON at byte %d", e.Offset)
	}
	return fault(path, "it is no JSON: it ends too early")
}

// mismatch is the error of a value of the wrong kind.
func (d *decoder) mismatch(path string, t json.Token, start int, want string) error {
	is := kindOf(t)
	if !d.rules.Hide && t != nil {
		is = cut(d.raw[start:max(start, int(d.dec.InputOffset()))], d.raw[start:])
	}
	return fault(path, "it is %s, want %s", is, want)
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

func (d *decoder) value(path string, v reflect.Value) error {
	if p := reflect.PointerTo(v.Type()); v.Type() == rawType || v.Kind() == reflect.Interface || p.Implements(jsonType) || p.Implements(textType) {
		return d.own(path, v)
	}
	t, start, err := d.next(path)
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
			return d.mismatch(path, t, start, "an object")
		}
		if v.Kind() == reflect.Map {
			return d.entries(path, v)
		}
		return d.fields(path, v)
	case reflect.Slice:
		if t != json.Delim('[') {
			return d.mismatch(path, t, start, "a list")
		}
		return d.items(path, v)
	default:
		if !set(v, t) {
			return d.mismatch(path, t, start, wanted(v.Kind()))
		}
		return nil
	}
}

// own is for what reads itself.
func (d *decoder) own(path string, v reflect.Value) error {
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return d.syntax(path, err)
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		if d.rules.Hide {
			return fault(path, "it cannot be read")
		}
		return fault(path, "%s: %w", cut(raw, raw), err)
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

func (d *decoder) items(path string, v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; d.dec.More(); i++ {
		if i == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		if err := d.value(path+"["+strconv.Itoa(i)+"]", v.Index(i)); err != nil {
			return err
		}
	}
	_, _, err := d.next(path)
	return err
}

// name reads the name of a member, which must not be among those seen.
func (d *decoder) name(path string, seen func(name string) bool) (string, error) {
	t, _, err := d.next(path)
	if err != nil {
		return "", err
	}
	name, ok := t.(string)
	if !ok {
		return "", fault(path, "%v, want the name of a field", t)
	}
	if seen(name) {
		return "", fault(under(path, name), "the field is there twice")
	}
	return name, nil
}

func (d *decoder) entries(path string, v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	for d.dec.More() {
		name, err := d.name(path, func(name string) bool {
			return v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key())).IsValid()
		})
		if err != nil {
			return err
		}
		x := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(under(path, name), x); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), x)
	}
	_, _, err := d.next(path)
	return err
}

func (d *decoder) fields(path string, v reflect.Value) error {
	known := v.Type()
	seen := make([]bool, known.NumField())
	for d.dec.More() {
		at := -1
		name, err := d.name(path, func(name string) bool {
			for i := range seen {
				if Name(known.Field(i)) == name {
					at = i
					return seen[i]
				}
			}
			return false
		})
		if err != nil {
			return err
		}
		if at < 0 {
			return fault(under(path, name), "the field is unknown")
		}
		seen[at] = true
		if err := d.value(under(path, name), v.Field(at)); err != nil {
			return err
		}
	}
	if _, _, err := d.next(path); err != nil {
		return err
	}
	for i := range seen {
		if f := known.Field(i); d.rules.Required && !seen[i] && !strings.Contains(f.Tag.Get("json"), ",omitempty") {
			return fault(under(path, Name(f)), "the field is missing")
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
