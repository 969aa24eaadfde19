package experiment

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// expand lists the arms: those of the list, all points of the grid in the order of the parameters'
// names, the last one fastest; none for a box, whose points the policy chooses. A control arm with
// a value of its own is not among them.
func (d *Definition) expand() ([]policy.Arm, error) {
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
		if err := checkArmName("arms.grid", arms[k].Name); err != nil {
			return nil, err
		}
	}
	return arms, nil
}

// extend adds a parameter to a point's name: "boost=1,weight=0.5".
func extend(name, parameter string, value json.RawMessage) string {
	if name != "" {
		name += ","
	}
	return name + parameter + "=" + valueText(value)
}

// valueText is a value as it stands in a point's name: a string without its quotes.
func valueText(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		s = string(value)
	}
	return s
}

// pointForm are the names of a box's points.
var pointForm = regexp.MustCompile(`^point-[0-9]+$`)

// sides lists the box's parameters in the order of their names.
func (d *Definition) sides() (names []string, low, high []float64) {
	names = slices.Sorted(maps.Keys(d.Arms.Box))
	for _, n := range names {
		low, high = append(low, d.Arms.Box[n].Low), append(high, d.Arms.Box[n].High)
	}
	return names, low, high
}

// point is the arm of a point of the box.
func point(names []string, number int, x []float64) policy.Arm {
	var b strings.Builder
	for i, n := range names {
		b.WriteString([]string{"{", ","}[min(i, 1)])
		b.WriteString(strconv.Quote(n) + ":" + strconv.FormatFloat(x[i], 'g', -1, 64))
	}
	b.WriteString("}")
	return policy.Arm{Name: "point-" + strconv.Itoa(number+1), Value: json.RawMessage(b.String())}
}
