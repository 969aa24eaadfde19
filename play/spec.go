package play

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// Spec is a name with options: name:key=value:key=value.
type Spec struct {
	Name    string
	Options map[string]float64
}

// ParseSpec reads a name with options. What is the kind of thing named, for the messages.
func ParseSpec(what, s string) (Spec, error) {
	parts := strings.Split(s, ":")
	spec := Spec{Name: parts[0], Options: map[string]float64{}}
	if spec.Name == "" {
		return Spec{}, noregret.Errorf(noregret.Usage, what, "%q: want name or name:option=value", s)
	}
	for _, p := range parts[1:] {
		key, text, ok := strings.Cut(p, "=")
		v, err := strconv.ParseFloat(text, 64)
		if !ok || key == "" || err != nil || v-v != 0 {
			return Spec{}, noregret.Errorf(noregret.Usage, what,
				"%q: want option=value with a finite number in place of %q", s, p)
		}
		if _, twice := spec.Options[key]; twice {
			return Spec{}, noregret.Errorf(noregret.Usage, what, "%q: the option %s is given twice", s, key)
		}
		spec.Options[key] = v
	}
	return spec, nil
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
