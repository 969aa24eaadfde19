package papers

import (
	"encoding/json"
	"math"

	"github.com/noregret/noregret/internal/cli/show"
)

// Cell is one number of a [Table] with its reference value.
type Cell struct {
	// Mean and SD are the mean and standard deviation measured here, over Runs runs.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	Runs int     `json:"runs"`
	// Stated is the reference value and StatedSD its standard deviation; NaN and 0 if there is
	// none. JSON has "stated", null for none, and "agrees" beside the other fields.
	Stated   float64 `json:"-"`
	StatedSD float64 `json:"stated_sd"`
	// Loose marks a cell without a tolerance: the source calls it unstable, or it is a single run
	// with few positives that the source does not describe fully.
	Loose bool `json:"loose"`
	// Within, if above 0, is the tolerance of a cell that does not depend on chance.
	Within float64 `json:"-"`
}

// unstatedTolerance bounds a tolerance that is derived from SD.
const unstatedTolerance = 0.02

// Tolerance is the allowed distance of Mean from Stated: 0.003 or two standard deviations of the
// reference, whichever is larger. If the reference has no standard deviation, SD stands in for it
// and the tolerance is at most 0.02, so that no implementation passes by being noisy. It is Within
// if that is given, and +Inf for a loose cell.
func (c Cell) Tolerance() float64 {
	switch {
	case c.Loose:
		return math.Inf(1)
	case c.Within > 0:
		return c.Within
	case c.StatedSD > 0:
		return max(0.003, 2*c.StatedSD)
	}
	return max(0.003, min(2*c.SD, unstatedTolerance))
}

// Agrees reports whether the cell is within its tolerance, or has none.
func (c Cell) Agrees() bool {
	return math.IsNaN(c.Stated) || math.Abs(c.Mean-c.Stated) <= c.Tolerance()
}

// MarshalJSON implements [json.Marshaler].
func (c Cell) MarshalJSON() ([]byte, error) {
	type fields Cell
	return json.Marshal(struct {
		fields
		Stated show.Number `json:"stated"`
		Agrees bool        `json:"agrees"`
	}{fields(c), show.Number(c.Stated), c.Agrees()})
}

// Row is a labelled row of cells, one per column.
type Row struct {
	Name  string `json:"name"`
	Cells []Cell `json:"cells"`
}

// Table is a reproduced table.
type Table struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    []Row    `json:"rows"`
}

// summarize is the mean and the sample standard deviation of x.
func summarize(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	if len(x) < 2 {
		return mean, 0
	}
	for _, v := range x {
		sd += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(sd / float64(len(x)-1))
}
