package policy

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/words"
)

// The kinds of features.
const (
	// Number is a JSON number within the feature's range.
	Number = "number"
	// Category is one of the feature's values: a JSON string, or true or false for the values
	// "true" and "false".
	Category = "category"
	// TextHash is a JSON string whose words are counted in buckets.
	TextHash = "text-hash"
)

// The limits of an [Encoder].
const (
	// MaxDim is the greatest number of coordinates.
	MaxDim = 1024
	// MaxContext is the greatest length of a context, in bytes of JSON.
	MaxContext = 1 << 16
	// constant is the name of the coordinate that is always 1.
	constant = "constant"
	// maxName is the greatest length of a feature's name, in bytes.
	maxName = 64
)

// Feature declares one field of a context: a flat JSON object that comes with a unit.
type Feature struct {
	// Name is the field's name: 1 to 64 letters of ASCII, digits, "_", "-" and ".", but not
	// "constant".
	Name string `json:"name" pattern:"^[A-Za-z0-9_.-]{1,64}$"`
	// Kind is [Number], [Category] or [TextHash].
	Kind string `json:"kind" enum:"number,category,text-hash"`
	// Range holds the least and the greatest value of a number.
	Range Range `json:"range,omitzero" minimum:"-1e100" maximum:"1e100"`
	// Values are the values of a category, at least one.
	Values []string `json:"values,omitempty" maxItems:"1024" uniqueItems:"true" minLength:"1" maxLength:"512" line:"true"`
	// Buckets is the number of coordinates of a text, at least 1.
	Buckets int `json:"buckets,omitempty" minimum:"0" maximum:"1024"`
	// Optional allows contexts without the field. The feature then has one more coordinate, which
	// is 1 where the field is missing.
	Optional bool `json:"optional,omitempty"`
}

// Range is an interval [low, high].
type Range [2]float64

// UnmarshalJSON reads a list of two numbers.
func (r *Range) UnmarshalJSON(data []byte) error {
	var list []*float64
	if err := json.Unmarshal(data, &list); err != nil || len(list) != 2 || list[0] == nil || list[1] == nil {
		return noregret.BadInputf("", "%.60s: want a list of two numbers, such as [0, 100]", data)
	}
	*r = Range{*list[0], *list[1]}
	return nil
}

// dim is the number of the feature's coordinates.
func (f *Feature) dim() int {
	n := 1
	switch f.Kind {
	case Category:
		n = len(f.Values)
	case TextHash:
		n = f.Buckets
	}
	if f.Optional {
		n++
	}
	return n
}

// check returns an error, with places below the given one, if the declaration is not valid.
func (f *Feature) check(place string) error {
	if f.Name == constant {
		return noregret.BadInputf(place+".name", "%q is the name of coordinate 0: want another one", f.Name)
	}
	if !validName(f.Name) {
		return noregret.BadInputf(place+".name",
			"%.80q: want 1 to %d letters of ASCII, digits, \"_\", \"-\" or \".\"", f.Name, maxName)
	}
	var err error
	switch f.Kind {
	case Number:
		err = f.checkRange(place)
	case Category:
		err = f.checkValues(place)
	case TextHash:
		if f.Buckets < 1 || f.Buckets > MaxDim {
			err = noregret.BadInputf(place+".buckets", "%d: want 1 to %d", f.Buckets, MaxDim)
		}
	default:
		err = noregret.BadInputf(place+".kind", "%.80q: want number, category or text-hash", f.Kind)
	}
	if err != nil {
		return err
	}
	switch {
	case f.Kind != Number && f.Range != Range{}:
		return noregret.BadInputf(place+".range", "%v: only a number has a range", f.Range)
	case f.Kind != Category && len(f.Values) > 0:
		return noregret.BadInputf(place+".values", "%d values: only a category has values", len(f.Values))
	case f.Kind != TextHash && f.Buckets != 0:
		return noregret.BadInputf(place+".buckets", "%d: only a text-hash has buckets", f.Buckets)
	}
	return nil
}

func (f *Feature) checkRange(place string) error {
	low, high := f.Range[0], f.Range[1]
	if !(math.Abs(low) <= 1e100 && math.Abs(high) <= 1e100 && low < high) {
		return noregret.BadInputf(place+".range",
			"[%v, %v]: want two numbers of size at most 1e100, the lower one first",
			low, high)
	}
	return nil
}

func (f *Feature) checkValues(place string) error {
	if len(f.Values) == 0 || len(f.Values) > MaxDim {
		return noregret.BadInputf(place+".values", "%d values: want 1 to %d", len(f.Values), MaxDim)
	}
	seen := make(map[string]bool, len(f.Values))
	for i, v := range f.Values {
		at := fmt.Sprintf("%s.values[%d]", place, i)
		if err := CheckUnit(at, v); err != nil { // the same rule: some bytes of UTF-8
			return err
		}
		if seen[v] {
			return noregret.BadInputf(at, "%.80q occurs twice", v)
		}
		seen[v] = true
	}
	return nil
}

// validName reports whether s can name a feature.
func validName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for _, c := range []byte(s) {
		if !words.IsByte(c) && c != '_' && c != '-' && c != '.' || c >= 0x80 {
			return false
		}
	}
	return true
}
