package arena

import (
	"math"

	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
)

// estimates holds a peer's estimates of the arms' values as the objective sees them: for a relative
// guardrail the contrast with the control.
type estimates struct {
	mean, error *pasto.Table // of size K×M
	seen        []bool       // by arm; the rows of other arms are void
	units       []float64    // by arm: the number of units that the mean is as good as
	control     []float64    // raw means of the control, by metric
	spread      []float64    // raw standard errors of these
}

func newEstimates(arms, metrics int) *estimates {
	e := &estimates{mean: new(pasto.Table), error: new(pasto.Table)}
	e.mean.Reset(arms, metrics)
	e.error.Reset(arms, metrics)
	e.seen, e.units = make([]bool, arms), make([]float64, arms)
	e.control, e.spread = make([]float64, metrics), make([]float64, metrics)
	return e
}

// all reports whether each arm was seen.
func (e *estimates) all() bool {
	for _, s := range e.seen {
		if !s {
			return false
		}
	}
	return true
}

// estimator turns groups into estimates.
type estimator interface {
	add(groups []world.Group)
	write(e *estimates)
}

// pseudoUnits is the number of units of all arms' variance that is mixed into that of an arm: an
// arm without a rare event so far is not assumed to be free of noise.
const pseudoUnits = 200

// tally sums up groups. Its estimates are the arms' means over all units.
type tally struct {
	goals       *pasto.Goals
	units       []float64    // by arm
	sum, square *pasto.Table // Σ n·mean and Σ n·variance, by arm and metric
	known       []float64    // by arm: the units whose variance is known
}

func newTally(task *Task) *tally {
	l := &tally{
		goals: task.Goals, units: make([]float64, task.Arms), known: make([]float64, task.Arms),
		sum: new(pasto.Table), square: new(pasto.Table),
	}
	l.sum.Reset(task.Arms, task.Goals.Dim())
	l.square.Reset(task.Arms, task.Goals.Dim())
	return l
}

func (l *tally) add(groups []world.Group) {
	for i := range groups {
		g := &groups[i]
		n := float64(g.Units)
		l.units[g.Arm] += n
		if g.Units > 1 {
			l.known[g.Arm] += n
		}
		for m, v := range g.Means {
			l.sum.Arm(g.Arm)[m] += float64(n * v)
			if g.Units > 1 {
				l.square.Arm(g.Arm)[m] += float64(n * g.Variances[m])
			}
		}
	}
}

// variance returns the variance of one unit's value of metric m in arm k.
func (l *tally) variance(k, m int) float64 {
	squares, n := 0.0, 0.0
	for j, known := range l.known {
		squares += l.square.Arm(j)[m]
		n += known
	}
	if n == 0 {
		return math.Inf(1)
	}
	return (l.square.Arm(k)[m] + float64(pseudoUnits*(squares/n))) / (l.known[k] + pseudoUnits)
}

func (l *tally) write(e *estimates) {
	for k, n := range l.units {
		e.seen[k], e.units[k] = n > 0, n
		if n == 0 {
			continue
		}
		for m := range e.control {
			e.mean.Arm(k)[m] = l.sum.Arm(k)[m] / n
			e.error.Arm(k)[m] = math.Sqrt(l.variance(k, m) / n)
		}
	}
	e.compare(l.goals)
}

// compare replaces the values of relative guardrails, of which the rows are raw, by contrasts. An
// arm without a control to compare with counts as unseen.
func (e *estimates) compare(goals *pasto.Goals) {
	copy(e.control, e.mean.Arm(0))
	copy(e.spread, e.error.Arm(0))
	for m := range goals.Metrics() {
		x := &goals.Metrics()[m]
		if !x.Relative {
			continue
		}
		for k := range e.seen {
			mean, err := e.mean.Arm(k), e.error.Arm(k)
			mean[m] -= x.Beside(e.control[m])
			if k == 0 {
				err[m] = float64(math.Abs(x.Threshold) * e.spread[m])
			} else {
				err[m] = norm(err[m], float64(x.Factor(e.control[m])*e.spread[m]))
			}
			e.seen[k] = e.seen[k] && e.seen[0]
		}
	}
}

// norm is √(a² + b²).
func norm(a, b float64) float64 { return math.Sqrt(float64(a*a) + float64(b*b)) }
