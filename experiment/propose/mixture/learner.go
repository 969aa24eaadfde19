package mixture

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
)

// Learner is the policy as a [pasto.Learner]: it adds each round to a store, and asks the policy
// what to serve next. It observes the raw values of every arm, the control among them. The groups
// of an arm have a Size in units and the Variances of one; without either a group counts as a unit.
// Rounds may come late, in their order. A round costs what [Policy.Propose] does. It is not safe
// for concurrent use.
type Learner struct {
	problem           *propose.Problem
	policy            *Policy
	store             *compare.Store
	control           int
	text              string
	rounds            int
	serving, deployed []float64 // by arm of the problem's user
	round             []compare.Sums
}

// NewLearner makes the policy of a problem a learner, whose arm of the given index is the control,
// the problem's arm 0; the others follow in their order. It keeps the problem, which must not
// change. The error is one of code bad_input: of the problem, an option or the index.
func NewLearner(p *propose.Problem, control int, o Options) (*Learner, error) {
	policy, err := New(p, o)
	if err != nil {
		return nil, err
	}
	arms := len(p.Arms)
	if control < 0 || control >= arms {
		return nil, noregret.BadInputf("control", "%d: want an arm from 0 to %d", control, arms-1)
	}
	if i := slices.IndexFunc(p.Metrics, func(m propose.Metric) bool { return m.Ratio }); i >= 0 {
		return nil, noregret.BadInputf(fmt.Sprintf("metrics[%d]", i), "a ratio: want metrics of one part")
	}
	l := &Learner{
		problem: p, policy: policy, control: control,
		text:    fmt.Sprintf("mixture(control=%d, %+v, %+v)", control, *p, o),
		serving: make([]float64, arms), deployed: make([]float64, arms),
	}
	if l.store, err = p.Store(); err != nil {
		return nil, err
	}
	return l, l.propose()
}

// propose asks the policy for the mixtures.
func (l *Learner) propose() error {
	p, err := l.policy.Propose(l.store)
	if err != nil {
		return err
	}
	for k := range l.serving {
		at := compare.Index(l.control, k)
		l.serving[k], l.deployed[k] = p.Serving[at], p.Deployed[at]
	}
	return nil
}

// Arms implements [pasto.Learner].
func (l *Learner) Arms() int { return len(l.serving) }

// Rounds implements [pasto.Learner].
func (l *Learner) Rounds() int { return l.rounds }

// Serving implements [pasto.Learner].
func (l *Learner) Serving() []float64 { return l.serving }

// Deployed implements [pasto.Learner].
func (l *Learner) Deployed() []float64 { return l.deployed }

// Draw implements [pasto.Learner]: an arm has its share of the groups, to one group, in a random
// order.
func (l *Learner) Draw(r pasto.Rand, arms []int) {
	u, next, last, below := r.Float64(), 0, 0, 0.0 // below is the sum of the shares before arm next
	for i := range arms {
		for next < len(l.serving) && (u+float64(i))/float64(len(arms)) >= below {
			if v := l.serving[next]; v > 0 {
				last, below = next, below+v
			}
			next++
		}
		arms[i] = last
	}
	for i := len(arms) - 1; i > 0; i-- {
		j := int(r.Float64() * float64(i+1))
		arms[i], arms[j] = arms[j], arms[i]
	}
}

// Observe implements [pasto.Learner].
func (l *Learner) Observe(obs []pasto.Observation) error {
	if len(obs) == 0 {
		return noregret.BadInputf("observations", "none in round %d: want at least one group", l.rounds+1)
	}
	for i := range obs {
		if err := l.check(&obs[i]); err != nil {
			return noregret.BadInputf(fmt.Sprintf("observations[%d]", i), "%w", err)
		}
	}
	for m := range l.problem.Metrics {
		l.round = l.round[:0]
		for i := range obs {
			l.add(&obs[i], m)
		}
		if err := l.store.Add(m, l.round); err != nil {
			return err
		}
	}
	l.rounds++
	return l.propose()
}

// add adds a metric of a group to the round.
func (l *Learner) add(o *pasto.Observation, m int) {
	s := compare.Sums{Arm: compare.Index(l.control, o.Arm), N: 1, X: o.Metrics[m]}
	if o.Size > 0 && o.Variances != nil && o.Variances[m] == o.Variances[m] {
		s.N, s.XX = o.Size, float64(o.Variances[m]*max(o.Size-1, 0))
	}
	if i := slices.IndexFunc(l.round, func(x compare.Sums) bool { return x.Arm == s.Arm }); i >= 0 {
		l.round[i].Merge(s)
		return
	}
	l.round = append(l.round, s)
}

// most bounds means, sizes, and the roots of variances, so that no sum overflows.
const most = 1e60

// check returns an error if a group cannot be one of the running round.
func (l *Learner) check(o *pasto.Observation) error {
	metrics := len(l.problem.Metrics)
	switch {
	case o.Arm < 0 || o.Arm >= l.Arms():
		return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", o.Arm, l.Arms()-1)
	case o.Round != 0 && o.Round != l.rounds+1:
		return noregret.BadInputf("round", "%d: want round %d, which is running", o.Round, l.rounds+1)
	case !(l.serving[o.Arm] > 0) && !o.Earlier:
		return noregret.BadInputf("arm", "%d has the share 0 in this round: it cannot have been drawn", o.Arm)
	case o.Control != nil:
		return noregret.BadInputf("control", "a control group, and the control is an arm: leave it out")
	case !(o.Size >= 0 && o.Size <= most):
		return noregret.BadInputf("size", "%v: want a number from 0 to %v", o.Size, most)
	case len(o.Metrics) != metrics || o.Variances != nil && len(o.Variances) != metrics:
		return noregret.BadInputf("metrics", "%d, and %d variances: want %d of each, or no variances", len(o.Metrics),
			len(o.Variances), metrics)
	}
	for m, v := range o.Metrics {
		x := &l.problem.Metrics[m]
		if !vec.IsFinite(v) || v > most || v < -most || x.HasRange() && !(v >= x.Lower && v <= x.Upper) {
			return noregret.BadInputf(x.Name, "%v: want a finite number in the metric's range", v)
		}
	}
	for m, v := range o.Variances {
		if v == v && !(v >= 0 && v <= most*most) {
			return noregret.BadInputf("variances", "%v of %s: want a finite number, at least 0, or NaN", v,
				l.problem.Metrics[m].Name)
		}
	}
	return nil
}

// String describes the learner in one line.
func (l *Learner) String() string { return l.text }

// magic begins the snapshots of learners.
const magic = "noregret-mixture-2\n"

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	store, err := l.store.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return snapshot.Seal(magic, l.text, &saved{l.rounds, store})
}

// saved is what a snapshot holds.
type saved struct {
	Rounds int
	Store  []byte
}

// UnmarshalBinary implements [pasto.Learner]. An error leaves the learner as it was.
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s saved
	if err := snapshot.Open(data, magic, l.text, &s); err != nil {
		return err
	}
	store, err := l.problem.Store()
	if err != nil {
		return err
	}
	if err := store.UnmarshalBinary(s.Store); err != nil {
		return err
	}
	if s.Rounds < 0 || l.problem.Check(store) != nil {
		return snapshot.Bad("damaged: it does not fit %d arms and %d metrics", l.Arms(), len(l.problem.Metrics))
	}
	old := *l
	l.rounds, l.store = s.Rounds, store
	if err := l.propose(); err != nil {
		*l = old
		return err
	}
	return nil
}
