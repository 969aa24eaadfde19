package play

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Spec is a name with options: name:key=value:key=value.
type Spec struct {
	Name    string
	Options map[string]float64
}

// ParseSpec reads a name with options. The kind of thing named, what, is the place of errors.
func ParseSpec(what, s string) (Spec, error) {
	name, parts, err := splitSpec(what, s)
	if err != nil {
		return Spec{}, err
	}
	spec := Spec{Name: name, Options: map[string]float64{}}
	for _, p := range parts {
		key, text, ok := strings.Cut(p, "=")
		v, err := parseNumber(text)
		if !ok || key == "" || err != nil {
			return Spec{}, badPart(what, s, p)
		}
		if _, twice := spec.Options[key]; twice {
			return Spec{}, givenTwice(what, s, key)
		}
		spec.Options[key] = v
	}
	return spec, nil
}

// The limits of sweeps.
const (
	maxSweepValues = 1000  // of one option
	maxSweepSpecs  = 10000 // of all together
)

// ParseSweep reads a name with options of which some may be ranges, key=from..to:n, and returns the
// specs of all combinations, the last range varying fastest. A range stands for n values from 2 to
// 1,000, both ends among them, in geometric progression and rounded to six digits. A spec without a
// range yields itself.
func ParseSweep(what, s string) ([]Spec, error) {
	name, parts, err := splitSpec(what, s)
	if err != nil {
		return nil, err
	}
	specs := []Spec{{Name: name, Options: map[string]float64{}}}
	for i := 0; i < len(parts); i++ {
		key, text, ok := strings.Cut(parts[i], "=")
		if _, twice := specs[0].Options[key]; twice {
			return nil, givenTwice(what, s, key)
		}
		from, to, isRange := strings.Cut(text, "..")
		values := make([]float64, 1)
		switch {
		case !ok || key == "":
			return nil, badPart(what, s, parts[i])
		case isRange:
			count := ""
			if i+1 < len(parts) {
				i++
				count = parts[i]
			}
			if values, err = sweepValues(what, s, from, to, count); err != nil {
				return nil, err
			}
		default:
			if values[0], err = parseNumber(text); err != nil {
				return nil, badPart(what, s, parts[i])
			}
		}
		if len(values)*len(specs) > maxSweepSpecs {
			return nil, noregret.Errorf(noregret.Usage, what, "%q: the sweep has more than %d combinations", s,
				maxSweepSpecs)
		}
		specs = multiply(specs, key, values)
	}
	return specs, nil
}

// multiply returns every spec with every value of a further option.
func multiply(specs []Spec, key string, values []float64) []Spec {
	all := make([]Spec, 0, len(specs)*len(values))
	for _, spec := range specs {
		for _, v := range values {
			options := maps.Clone(spec.Options)
			options[key] = v
			all = append(all, Spec{Name: spec.Name, Options: options})
		}
	}
	return all
}

// sweepValues are the values of a range.
func sweepValues(what, s, from, to, count string) ([]float64, error) {
	low, err := parseNumber(from)
	high, err2 := parseNumber(to)
	n, err3 := strconv.Atoi(count)
	if err != nil || err2 != nil || err3 != nil || !(low > 0 && high > 0) || low == high || n < 2 ||
		n > maxSweepValues {
		return nil, noregret.Errorf(noregret.Usage, what,
			"%q: want a range option=from..to:n with two ends above 0 and n from 2 to %d, as in eta=0.01..1:5", s,
			maxSweepValues)
	}
	values := make([]float64, n)
	a, b := portable.Log(low), portable.Log(high)
	for i := range values {
		f := float64(i) / float64(n-1)
		values[i] = portable.Exp(float64((1-f)*a) + float64(f*b))
	}
	values[0], values[n-1] = low, high
	rounded := slices.Clone(values)
	for i := 1; i < n-1; i++ {
		if rounded[i], err = strconv.ParseFloat(strconv.FormatFloat(values[i], 'g', 6, 64), 64); err != nil {
			return values, nil
		}
	}
	for i := 1; i < n; i++ {
		if rounded[i] == rounded[i-1] || (rounded[i] > rounded[i-1]) != (high > low) {
			return values, nil // the range is too narrow to round
		}
	}
	return rounded, nil
}

// splitSpec returns the name and what follows it between colons.
func splitSpec(what, s string) (name string, parts []string, err error) {
	parts = strings.Split(s, ":")
	if parts[0] == "" {
		return "", nil, noregret.Errorf(noregret.Usage, what, "%q: want name or name:option=value", s)
	}
	return parts[0], parts[1:], nil
}

// parseNumber reads a finite number.
func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = strconv.ErrRange
	}
	return v, err
}

func badPart(what, s, part string) error {
	return noregret.Errorf(noregret.Usage, what, "%q: want option=value with a finite number in place of %q", s, part)
}

func givenTwice(what, s, key string) error {
	return noregret.Errorf(noregret.Usage, what, "%q: the option %s is given twice", s, key)
}

// String is the spec as ParseSpec reads it, with the options in the order of their names.
func (s Spec) String() string {
	var b strings.Builder
	b.WriteString(s.Name)
	for _, key := range slices.Sorted(maps.Keys(s.Options)) {
		fmt.Fprintf(&b, ":%s=%v", key, s.Options[key])
	}
	return b.String()
}
