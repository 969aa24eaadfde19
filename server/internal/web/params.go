package web

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
)

// QueryNames returns the names of the parameters of the query among the fields of a struct, as
// [ReadQuery] reads them; nil has none.
func QueryNames(params any) (names []string) {
	if params == nil {
		return nil
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(params)) {
		if name := f.Tag.Get("query"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// ReadQuery reads the query of a request into the struct that into points to. The tag query of a
// field is the parameter's name. A field is a string, a bool, a whole number or a length of time; a
// parameter that is left out or empty has the value of the tag default, or leaves the field as it
// is. An error names the parameter that is not as the field's further tags say:
//
//   - required:"true": it may not be left out.
//   - enum:"a,b": it is one of these.
//   - maxLength:"200": it has at most so many bytes.
//   - minimum:"1" and maximum:"9": the bounds of a number; for a length of time least:"0s" and
//     most:"1m".
//   - want:"a position from 1": what the error says instead.
func ReadQuery(r *http.Request, into any) error {
	v, q := reflect.ValueOf(into).Elem(), r.URL.Query()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name := f.Tag.Get("query")
		if name == "" {
			continue
		}
		text := q.Get(name)
		if text == "" {
			text = f.Tag.Get("default")
		}
		if text == "" && f.Tag.Get("required") == "" {
			continue
		}
		if err := readParam(v.FieldByIndex(f.Index), f.Tag, name, text); err != nil {
			return err
		}
	}
	return nil
}

// readParam sets a field to a parameter's text.
func readParam(v reflect.Value, tag reflect.StructTag, name, text string) error {
	refuse := func(format string, args ...any) error {
		if want := tag.Get("want"); want != "" {
			format, args = "want "+want, nil
		}
		return noregret.BadInputf(name, format, args...)
	}
	low, high := tag.Get("minimum"), tag.Get("maximum")
	switch v.Interface().(type) {
	case bool:
		if text != "true" && text != "false" {
			return refuse("%.20q: want true or false", text)
		}
		v.SetBool(text == "true")
	case time.Duration:
		least, _ := time.ParseDuration(tag.Get("least"))
		most, _ := time.ParseDuration(tag.Get("most"))
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > most {
			return refuse("want a length of time from %v to %v", least, most)
		}
		v.SetInt(int64(d))
	case int, uint64:
		least, _ := strconv.ParseUint(low, 10, 63)
		most, err := strconv.ParseUint(high, 10, 63)
		if err != nil {
			most = 1<<64 - 1
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n < least || n > most {
			return refuse("want a number from %s to %s", low, high)
		}
		v.Set(reflect.ValueOf(n).Convert(v.Type()))
	default:
		switch allowed := Allowed(tag); {
		case text == "":
			return refuse("it is required")
		case allowed != nil && !slices.Contains(allowed, text):
			return refuse("%.20q: want %s", text, strings.Join(allowed, " or "))
		}
		if most, err := strconv.Atoi(tag.Get("maxLength")); err == nil && len(text) > most {
			return refuse("%d bytes: want at most %d", len(text), most)
		}
		v.SetString(text)
	}
	return nil
}

// Allowed returns the values of the tag enum, nil for any.
func Allowed(tag reflect.StructTag) []string {
	if list := tag.Get("enum"); list != "" {
		return strings.Split(list, ",")
	}
	return nil
}
