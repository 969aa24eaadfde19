package papers

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

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
}

// unstatedTolerance bounds a tolerance that is derived from SD.
const unstatedTolerance = 0.02

// Tolerance is the allowed distance of Mean from Stated: 0.003 or two standard deviations of the
// reference, whichever is larger. If the reference has no standard deviation, SD stands in for it
// and the tolerance is at most 0.02, so that no implementation passes by being noisy.
func (c Cell) Tolerance() float64 {
	if c.StatedSD > 0 {
		return max(0.003, 2*c.StatedSD)
	}
	return max(0.003, min(2*c.SD, unstatedTolerance))
}

// Agrees reports whether the cell is within its tolerance, or has none.
func (c Cell) Agrees() bool {
	return c.Loose || math.IsNaN(c.Stated) || math.Abs(c.Mean-c.Stated) <= c.Tolerance()
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

// Write prints the table as text: measured ± spread, and the stated number in brackets, marked with
// ! where the two disagree.
func (t Table) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(tw, "%s\n", t.Title)
	for _, c := range t.Columns {
		fmt.Fprintf(tw, "\t%s", c)
	}
	fmt.Fprintln(tw)
	for _, r := range t.Rows {
		fmt.Fprint(tw, r.Name)
		for _, c := range r.Cells {
			fmt.Fprintf(tw, "\t%.4f", c.Mean)
			if c.Runs > 1 {
				fmt.Fprintf(tw, "±%.4f", c.SD)
			}
			if !math.IsNaN(c.Stated) {
				fmt.Fprintf(tw, " [%.4f]", c.Stated)
			}
			if !c.Agrees() {
				fmt.Fprint(tw, "!")
			}
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
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
