package confident

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// Learner is the learner of the package. Make it with [New].
//
// # Cost
//
// A round costs O(Q·M) for Q groups and M metrics, and O(K) where an arm has few rounds. Near round
// t a share of about 20/t of the rounds solve two programs by [optimum.Partial.Maximize], in O(K·M)
// for each arm that enters a mixture, and so do rounds in which the data of an arm of p⁺ have
// doubled. The memory is seven tables of K·M numbers, and two more where variances of units are
// given. Observe allocates nothing once its buffers have grown. A Learner is not safe for
// concurrent use.
type Learner struct {
	objective pasto.Objective
	goals     *pasto.Goals // the objective, if it is such
	options   Options
	metrics   []metric
	text      string

	s       state
	sums    round.Sums
	checker round.Checker
	sampler round.Sampler

	program  optimum.Partial
	up, down []float64 // solutions that may fail
	changed  []int
}

// metric is what the learner must know about a metric.
type metric struct {
	sign     float64 // of its good direction
	caution  float64
	hard     bool
	watched  bool    // it is only reported: no change is looked for
	from, to float64 // its range, as the objective sees it
	// of the arm that is observed: its variance before the round, and its clipped value
	variance, clipped float64
}

// New makes a learner on K arms. The error is one of code bad_input: of the objective, the number
// of arms or an option.
func New(f pasto.Objective, arms int, o Options) (*Learner, error) {
	if err := pasto.CheckProblem(f, arms); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	l := &Learner{objective: f, options: o, s: newState(arms, f.Dim())}
	l.goals, _ = f.(*pasto.Goals)
	for i := range f.Dim() {
		x := metric{sign: 1, caution: o.Caution, from: math.Inf(-1), to: math.Inf(1)}
		if d, ok := f.(pasto.Directed); ok {
			x.sign = d.Sign(i)
		}
		if b, ok := f.(pasto.Ranged); ok {
			x.from, x.to = b.Range(i)
		}
		if l.goals != nil {
			g := &l.goals.Metrics()[i]
			if x.watched, x.hard = g.Role == pasto.Report, g.Hard; x.hard {
				x.caution = o.HardCaution
			}
		}
		l.metrics = append(l.metrics, x)
	}
	l.checker.Earlier = true
	l.text = fmt.Sprintf("confident(metrics=%d, %+v)", f.Dim(), o)
	l.begin()
	return l, nil
}

// begin plans for as many arms as the state has.
func (l *Learner) begin() {
	l.s.Sums.refresh()
	l.program.Reset(l.objective, len(l.s.Active))
	l.solve()
	l.mix()
}

// Arms implements [pasto.Learner].
func (l *Learner) Arms() int { return len(l.s.Active) }

// Rounds implements [pasto.Learner].
func (l *Learner) Rounds() int { return l.s.T }

// Serving implements [pasto.Learner].
func (l *Learner) Serving() []float64 { return l.s.Serving }

// Deployed implements [pasto.Learner]: the cautious mixture p⁻.
func (l *Learner) Deployed() []float64 { return l.s.Down }

// Draw implements [pasto.Learner].
func (l *Learner) Draw(r pasto.Rand, arms []int) {
	scheme := pasto.Systematic
	if l.options.IID {
		scheme = pasto.IID
	}
	l.sampler.Draw(r, l.s.Serving, arms, scheme)
}

// Observe implements [pasto.Learner]. A round whose program fails, because the gradient of a
// [pasto.Utility] is not finite, counts and leaves the mixtures as they were: see
// [Learner.SolutionError].
func (l *Learner) Observe(obs []pasto.Observation) error {
	s := &l.s
	obs, _, err := l.checker.Check(l.objective, obs, s.T+1, s.Serving, s.Active)
	if err != nil {
		return err
	}
	l.sums.Collect(obs, len(s.Active), len(l.metrics))
	s.T++
	before, solve, few := s.Unobserved, s.T >= s.Next, false
	l.changed = l.changed[:0]
	for a := range l.sums.Arms {
		x := &l.sums.Arms[a]
		old := s.Sums.Weight[x.Arm]
		if old == 0 {
			s.Unobserved--
		}
		few = few || s.Sums.Rounds[x.Arm] < fewRounds
		solve = solve || s.Up[x.Arm] > 0 && math.Ilogb(old+x.Size) > math.Ilogb(old)
		if s.Sums.add(x, l.metrics, l.options.ChangeThreshold) {
			l.changed = append(l.changed, x.Arm)
		}
	}
	if len(l.changed) > 0 {
		s.begin(l.changed)
	}
	s.Sums.refresh()
	s.AllObserved = s.AllObserved || s.Unobserved == 0
	if solve = solve || len(l.changed) > 0 || before > 0 && s.Unobserved == 0; solve {
		s.Next = max(s.Began+int(float64(s.T-s.Began)*epoch), s.T+1)
		l.solve()
	}
	if solve || few {
		l.mix()
	}
	return nil
}

// AddArm implements [pasto.Roster]. There is no error. The arm has the share 1/K until it has been
// observed, for K active arms.
func (l *Learner) AddArm() (int, error) {
	l.s.grow(1, len(l.metrics))
	l.begin()
	return len(l.s.Active) - 1, nil
}

// RetireArm implements [pasto.Roster].
func (l *Learner) RetireArm(k int) error {
	s := &l.s
	if err := round.CheckRetire(k, s.Active); err != nil {
		return err
	}
	s.retire(k)
	l.solve()
	l.mix()
	return nil
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }
