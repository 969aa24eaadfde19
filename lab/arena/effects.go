package arena

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
)

// effects estimates the arms' values by least squares with an effect of each arm and of each round:
// what all arms have in common in a round cancels. With n_t the numbers of units by arm in round t
// and N_t their sum, the differences d from the control solve
//
//	(Σ_t diag(n_t) − n_t·n_tᵀ/N_t)·d = Σ_t n_t·(y_t − ȳ_t),   d_0 = 0.
//
// The control's own level is its mean over all units, and so are the values of metrics with an
// absolute limit.
type effects struct {
	*tally
	matrix  []float64    // of the left-hand side, K×K
	right   *pasto.Table // of the right-hand side, K×M
	inverse []float64
	index   []int // the arms of the system
	average []float64
}

func newEffects(task *Task) *effects {
	l := &effects{tally: newTally(task), right: new(pasto.Table)}
	l.right.Reset(task.Arms, task.Goals.Dim())
	l.matrix = make([]float64, task.Arms*task.Arms)
	l.average = make([]float64, task.Goals.Dim())
	return l
}

func (l *effects) add(groups []world.Group) {
	l.tally.add(groups)
	total := 0.0
	clear(l.average)
	for i := range groups {
		n := float64(groups[i].Units)
		total += n
		for m, v := range groups[i].Means {
			l.average[m] += float64(n * v)
		}
	}
	arms := len(l.units)
	for i := range groups {
		g := &groups[i]
		n := float64(g.Units)
		l.matrix[g.Arm*arms+g.Arm] += n
		for j := range groups {
			l.matrix[g.Arm*arms+groups[j].Arm] -= float64(n * (float64(groups[j].Units) / total))
		}
		for m, v := range g.Means {
			l.right.Arm(g.Arm)[m] += float64(n * (v - l.average[m]/total))
		}
	}
}

func (l *effects) write(e *estimates) {
	l.tally.write(e)
	arms := len(l.units)
	l.index = l.index[:0]
	for k := 1; k < arms; k++ {
		// An arm that was never served beside others has no contrast.
		e.seen[k] = e.seen[k] && l.units[0] > 0 && l.matrix[k*arms+k] > float64(1e-9*l.units[k])
		if e.seen[k] {
			l.index = append(l.index, k)
		}
	}
	if len(l.index) == 0 || !l.invert() {
		return // the means of the tally stay
	}
	n := len(l.index)
	for i, k := range l.index {
		variance := max(l.inverse[i*n+i], 0)
		e.units[k] = 1 / variance
		for m := range e.control {
			d := 0.0
			for j, other := range l.index {
				d += float64(l.inverse[i*n+j] * l.right.Arm(other)[m])
			}
			x := &l.goals.Metrics()[m]
			noise := math.Sqrt(float64(l.variance(k, m) * variance))
			switch {
			case x.Relative: // (y_k − y_0) − δ·y_0
				e.mean.Arm(k)[m] = d - float64(x.Threshold*e.control[m])
				e.error.Arm(k)[m] = norm(noise, float64(x.Threshold*e.spread[m]))
			case x.Role == pasto.Primary:
				e.mean.Arm(k)[m], e.error.Arm(k)[m] = e.control[m]+d, noise
			}
		}
	}
}

// invert writes the inverse of the system of the arms in l.index, and reports whether there is one.
func (l *effects) invert() bool {
	n, arms := len(l.index), len(l.units)
	factor := make([]float64, n*n)
	for i, k := range l.index {
		for j, other := range l.index {
			factor[i*n+j] = l.matrix[k*arms+other]
		}
	}
	if !linalg.FactorizeAbove(factor, n, 1e-9) {
		return false
	}
	l.inverse = make([]float64, n*n)
	for i := range n {
		x := l.inverse[i*n : (i+1)*n]
		x[i] = 1
		linalg.SolveRT(factor, n, x)
		linalg.SolveR(factor, n, x)
	}
	return true
}
