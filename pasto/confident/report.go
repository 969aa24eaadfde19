package confident

import (
	"math"

	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// Estimate returns the arms' means V̂ and their standard errors. An arm not served since the start
// or its last change has 0 and +Inf, and all errors are +Inf until an arm has been served in two
// rounds or variances of units are known.
func (l *Learner) Estimate() (means, errors *pasto.Table) {
	m := len(l.metrics)
	means, errors = round.NewTable(l.Arms(), m), round.NewTable(l.Arms(), m)
	for k := range l.s.Active {
		copy(means.Arm(k), l.s.Sums.Mean[k*m:])
		for i := range m {
			errors.Arm(k)[i] = math.Sqrt(l.s.Sums.square(k, i))
		}
	}
	return means, errors
}

// Changes is the number of changes of an arm found so far.
func (l *Learner) Changes() int { return l.s.Found }

// SolutionError is the error of the last program, nil if there was none: the mixtures are then
// those of the program before it.
func (l *Learner) SolutionError() error { return l.program.Err }

// sureErrors is the number of standard errors beyond which an estimate is surely off.
const sureErrors = 3

// Infeasible tells whether the guardrails, hard or not, can be held at all, by what is known so
// far: nil when some mixture of the arms served so far holds them by the estimates V̂, else the
// least violation there is by them (of single arms, where the linear program is too ill-conditioned
// for more). Sure reports that not even estimates moved in the good direction by three standard
// errors could hold them, or by the quantile of Student's t that leaves out as much, while errors
// rest on few rounds. It is never sure while an active arm has not been served since the start or
// its last change, or a guardrail's metric has shown no scatter. It solves two linear programs, and
// changes nothing. It is nil for objectives that are not [pasto.Goals], and until an error is
// known.
func (l *Learner) Infeasible() (least *optimum.Infeasible, sure bool) {
	if l.goals == nil || !l.ready() {
		return nil, false
	}
	l.move(func(int, int) float64 { return 0 })
	least, sure = l.program.Infeasible(l.goals)
	if least == nil || !sure || l.s.Unobserved > 0 {
		return least, false
	}
	s := &l.s.Sums
	l.move(func(k, i int) float64 {
		if l.goals.Metrics()[i].Role != pasto.Guardrail {
			return 0
		}
		square, free := s.square(k, i), s.Free[k]
		if s.unitsKnown(k, i) {
			free = s.Weight[k] - 1
		} else if free > 0 { // the scatter of a noisy arm counts without the pooled one
			square = max(square, s.Squares[k*len(l.metrics)+i]/free/s.Weight[k])
		}
		if sure = sure && free > 0 && s.pooled[i].variance > 0; !sure {
			return 0
		}
		return float64(stat.Student(sureErrors, free) * math.Sqrt(square))
	})
	if sure {
		best, exact := l.program.Infeasible(l.goals)
		sure = best != nil && exact
	}
	return least, sure
}
