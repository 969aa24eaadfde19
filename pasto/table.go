package pasto

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/random"
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

// TableOf makes μ of its rows, one for each metric, as in the paper: rows[m][k].
func TableOf(rows ...[]float64) (*Table, error) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil, noregret.BadInputf("means", "they are of %d metrics and no arm: want at least one of each",
			len(rows))
	}
	t := newTable(len(rows[0]), len(rows))
	for m, row := range rows {
		if err := checkVector(fmt.Sprintf("means[%d]", m), row, t.arms); err != nil {
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

// Arm is the means of arm k; writing to it changes the table.
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

// Clone copies the table.
func (t *Table) Clone() *Table {
	c := newTable(t.arms, t.metrics)
	copy(c.data, t.data)
	return c
}

func (t *Table) check(f Objective) error {
	if t == nil || t.arms == 0 {
		return noregret.BadInputf("means", "none: want a table")
	}
	if err := validate(f); err != nil {
		return err
	}
	if f.Dim() != t.metrics {
		return noregret.BadInputf("means", "they have %d metrics, the objective %d", t.metrics, f.Dim())
	}
	for i, v := range t.data {
		if !(math.Abs(v) <= largest) {
			return noregret.BadInputf(fmt.Sprintf("means[%d][%d]", i%t.metrics, i/t.metrics),
				"%v: want a finite number, of size at most %v", v, largest)
		}
	}
	return nil
}

// UniformTable is the reproducible random instance of spec T5: entries 2u − 1 from SplitMix64 with
// state seed, metric by metric.
func UniformTable(arms, metrics int, seed uint64) (*Table, error) {
	t, err := NewTable(arms, metrics)
	if err != nil {
		return nil, err
	}
	s := random.SplitMix64(seed)
	for m := range metrics {
		for k := range arms {
			t.data[k*metrics+m] = float64(2*float64(s.Float64())) - 1
		}
	}
	return t, nil
}

// checkMixture refuses a p that is not a distribution over n arms within 1e-9.
func checkMixture(place string, p []float64, n int) error {
	if err := checkVector(place, p, n); err != nil {
		return err
	}
	sum := 0.0
	for k, v := range p {
		if v < 0 {
			return noregret.BadInputf(fmt.Sprintf("%s[%d]", place, k), "%v: want a share, at least 0", v)
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-9 {
		return noregret.BadInputf(place, "it sums to %v: want 1 within 1e-9", sum)
	}
	return nil
}
