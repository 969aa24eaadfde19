package join

import (
	"slices"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/policy"
)

// contexts holds the encoded contexts of a cohort's units, by row, as the coordinates that are not
// 0. It is empty unless the policy is contextual.
type contexts struct {
	// Begin and Terms are, by row, where the coordinates begin and how many there are: none if the
	// exposure was not reported, or the unit is held back.
	Begin      column.Uint32s  `json:"begin,omitempty"`
	Terms      column.Uint32s  `json:"terms,omitempty"`
	Coordinate column.Uint32s  `json:"coordinate,omitempty"`
	Weight     column.Float64s `json:"weight,omitempty"`
	// Chance is, by row, the propensity of the unit's arm in its context.
	Chance     column.Float64s `json:"chance,omitempty"`
	contextual bool
}

// openTerms bounds the coordinates that wait for feedback in an experiment, at 12 bytes each.
const openTerms = 1 << 25

// add adds a row without a context.
func (c *contexts) add() {
	c.Begin, c.Terms, c.Chance = append(c.Begin, 0), append(c.Terms, 0), append(c.Chance, 0)
}

// set stores the context of a row and the propensity of its arm there.
func (c *contexts) set(row int, x []float64, propensity float64) {
	c.Chance[row] = propensity
	c.Begin[row] = uint32(len(c.Weight))
	for i, v := range x {
		if v != 0 {
			c.Coordinate, c.Weight = append(c.Coordinate, uint32(i)), append(c.Weight, v)
		}
	}
	c.Terms[row] = uint32(len(c.Weight)) - c.Begin[row]
}

// get writes the context of a row to x. It returns false if there is none.
func (c *contexts) get(row int, x []float64) bool {
	if row >= len(c.Terms) || c.Terms[row] == 0 {
		return false
	}
	clear(x)
	begin, end := c.Begin[row], c.Begin[row]+c.Terms[row]
	for i := begin; i < end; i++ {
		x[c.Coordinate[i]] = c.Weight[i]
	}
	return true
}

// fit reports whether the columns, which were read, fit the definition and the number of rows.
func (c *contexts) fit(d *definition.Definition, rows int) bool {
	if !c.contextual {
		return len(c.Begin)+len(c.Terms)+len(c.Coordinate)+len(c.Weight)+len(c.Chance) == 0
	}
	e, err := policy.NewEncoder(d.Context)
	if err != nil || len(c.Begin) != rows || len(c.Terms) != rows || len(c.Chance) != rows ||
		len(c.Coordinate) != len(c.Weight) {
		return false
	}
	for i := range c.Begin {
		if uint64(c.Begin[i])+uint64(c.Terms[i]) > uint64(len(c.Weight)) {
			return false
		}
	}
	return !slices.ContainsFunc(c.Coordinate, func(i uint32) bool { return int(i) >= e.Dim() })
}

func (c *contexts) copy() contexts {
	return contexts{
		slices.Clone(c.Begin), slices.Clone(c.Terms), slices.Clone(c.Coordinate), slices.Clone(c.Weight),
		slices.Clone(c.Chance), c.contextual,
	}
}
