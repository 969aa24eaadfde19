package definition

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// Expand lists the arms: those of the list, or all points of the grid in the order of the
// parameters' names, the last one varying fastest. It returns none for a box, whose points the
// policy chooses. A control arm with its own value is not included.
func (d *Definition) Expand() ([]policy.Arm, error) {
	if d.Arms.Grid == nil {
		return slices.Clone(d.Arms.List), nil
	}
	names := slices.Sorted(maps.Keys(d.Arms.Grid))
	arms := []policy.Arm{{}}
	for i := range names {
		var next []policy.Arm
		for _, a := range arms {
			for _, v := range d.Arms.Grid[names[i]] {
				next = append(next, policy.Arm{Name: extend(a.Name, names[i], v), Value: nil})
			}
		}
		arms = next
	}
	index := make([]int, len(names))
	for k := range arms {
		point := map[string]json.RawMessage{}
		for i, name := range names {
			point[name] = d.Arms.Grid[name][index[i]]
		}
		value, err := strictjson.Encode(point)
		if err != nil {
			return nil, err
		}
		arms[k].Value = value
		for i := len(names) - 1; i >= 0; i-- {
			if index[i]++; index[i] < len(d.Arms.Grid[names[i]]) {
				break
			}
			index[i] = 0
		}
		if err := CheckArmName("arms.grid", arms[k].Name); err != nil {
			return nil, err
		}
	}
	return arms, nil
}

// extend appends a parameter to a point's name: "boost=1,weight=0.5".
func extend(name, parameter string, value json.RawMessage) string {
	if name != "" {
		name += ","
	}
	return name + parameter + "=" + valueText(value)
}

// valueText returns a value as it appears in a point's name: a string without its quotes.
func valueText(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		s = string(value)
	}
	return s
}

// pointForm matches the names of a box's points.
var pointForm = regexp.MustCompile(`^point-[0-9]+$`)

// Sides lists the box's parameters in the order of their names.
func (d *Definition) Sides() (names []string, low, high []float64) {
	names = slices.Sorted(maps.Keys(d.Arms.Box))
	for _, n := range names {
		low, high = append(low, d.Arms.Box[n].Low), append(high, d.Arms.Box[n].High)
	}
	return names, low, high
}

// NamedArms lists all arms with a name in the definition, including the control arm.
func (d *Definition) NamedArms() ([]policy.Arm, error) {
	arms, err := d.Expand()
	if err != nil {
		return nil, err
	}
	if c := d.Control; c != nil && c.Value != nil {
		arms = slices.Insert(arms, 0, policy.Arm{Name: c.Arm, Value: c.Value})
	}
	return arms, nil
}
