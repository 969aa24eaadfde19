package pasto

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Table is the matrix μ of metric means: K arms by M metrics, arm by arm. The paper writes it
// transposed, with a row for each metric.
type Table struct {
	arms, metrics int
	data          []float64
}

// NewTable makes μ of K arms and M metrics, all 0.
func NewTable(arms, metrics int) (*Table, error) {
	if arms < 1 {
		return nil, noregret.BadInputf("arms", "%d: want at least 1", arms)
	}
	if metrics < 1 {
		return nil, noregret.BadInputf("metrics", "%d: want at least 1", metrics)
	}
	return newTable(arms, metrics), nil
}

func newTable(arms, metrics int) *Table {
	return &Table{arms, metrics, make([]float64, arms*metrics)}
}

// TableOf makes μ from its rows, one for each metric, as in the paper: rows[m][k].
func TableOf(rows ...[]float64) (*Table, error) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil, noregret.BadInputf("means", "%d metrics and no arms: at least one of each is required",
			len(rows))
	}
	t := newTable(len(rows[0]), len(rows))
	for m, row := range rows {
		if err := check.Vector(fmt.Sprintf("means[%d]", m), row, t.arms); err != nil {
			return nil, err
		}
		for k, v := range row {
			t.data[k*t.metrics+m] = v
		}
	}
	return t, nil
}

// Arms is K.
func (t *Table) Arms() int { return t.arms }

// Metrics is M.
func (t *Table) Metrics() int { return t.metrics }

// Arm returns the means of arm k. Writing to it changes the table.
func (t *Table) Arm(k int) []float64 {
	return t.data[k*t.metrics : (k+1)*t.metrics : (k+1)*t.metrics]
}

// Mean writes θ = μp to dst. O(K·M), less for few arms of positive share.
func (t *Table) Mean(dst, p []float64) {
	clear(dst)
	for k, w := range p {
		if w != 0 {
			for m, v := range t.Arm(k) {
				dst[m] += float64(w * v)
			}
		}
	}
}

// Reset makes t a table of K arms and M metrics, all 0. It reuses the memory of t if it suffices;
// arms and metrics must be at least 0.
func (t *Table) Reset(arms, metrics int) {
	t.arms, t.metrics = arms, metrics
	t.data = check.Zeros(t.data, arms*metrics)
}

// Append adds an arm with these means, of length M.
func (t *Table) Append(means []float64) {
	t.data = append(t.data, means[:t.metrics]...)
	t.arms++
}

// Clone copies the table.
func (t *Table) Clone() *Table {
	c := newTable(t.arms, t.metrics)
	copy(c.data, t.data)
	return c
}

// CheckFor returns an error if f is not a valid objective, or the table does not hold means of its
// metrics: finite and of size at most 1e100.
func (t *Table) CheckFor(f Objective) error {
	if t == nil || t.arms == 0 {
		return noregret.BadInputf("means", "none: want a table")
	}
	if err := validate(f); err != nil {
		return err
	}
	if f.Dim() != t.metrics {
		return noregret.BadInputf("means", "%d metrics, but the objective has %d", t.metrics, f.Dim())
	}
	for i, v := range t.data {
		if !(math.Abs(v) <= check.Largest) {
			return noregret.BadInputf(fmt.Sprintf("means[%d][%d]", i%t.metrics, i/t.metrics),
				"%v: want a finite number, of size at most %v", v, check.Largest)
		}
	}
	return nil
}
