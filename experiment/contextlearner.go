package experiment

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit/contextual"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/policy"
)

// contextLearner is the learner of a contextual policy: a regression of the rewards on the contexts
// for each arm. Its arms are those of the roster.
type contextLearner struct {
	*contextual.Learner
	s       contextState
	options contextual.LearnerOptions
	memory  int // the rounds after which it begins anew, 0 for never
}

// contextState is what a contextLearner persists beside its model.
type contextState struct {
	Model  []byte // in snapshots
	Rounds int    // since it began
	// Recent are contexts of the last units that were learned from, Next is the index of the next
	// one to replace.
	Recent []recentContext
	Next   int
}

// sealed is a policy of what was learned. Shares and best are the means over the recent contexts of
// the distribution that it serves, and of the one that would be deployed.
type sealed struct {
	linear       *policy.Linear
	shares, best []float64
}

// recentContext has the coordinates of a context that are not 0.
type recentContext struct {
	Coordinate []uint32
	Weight     []float64
}

// recentContexts is the number of contexts over which distributions are averaged.
const recentContexts = 256

// certainGamma is the rate with which squarecb gives everything to the best arm.
const certainGamma = 1e100

const contextMagic = "noregret-experiment-context-2\n"

func newContextLearner(d *definition.Definition, arms int) (*contextLearner, error) {
	o := contextual.DefaultLearnerOptions(d.Policy.Kind, d.Context, arms)
	if d.Policy.Alpha != nil {
		o.Alpha = *d.Policy.Alpha
	}
	if d.Policy.Gamma != nil {
		o.Gamma = *d.Policy.Gamma
	}
	m, err := contextual.NewLearner(o)
	return &contextLearner{Learner: m, options: o, memory: int(d.Drift.Memory)}, err
}

// Observe implements [learner]. A contextLearner takes versions by its method learn instead.
func (l *contextLearner) Observe([]pasto.Observation) error {
	return noregret.Errorf(noregret.Internal, "learner", "a contextual policy observes units, not metrics of arms")
}

// contextual passes to f the units of a matured version that a contextual policy learns from: those
// of active arms with a context and all goals. It returns their number.
func (x *roster) contextual(c *join.Version, f func(at, arm int, v []float64, reward float64)) (learned int64) {
	is, v := definition.RewardOf(x.def), make([]float64, x.encoder.Dim())
	for at, u := range c.Rows() {
		k := u.Slot()
		if !u.Seen() || k == len(c.Mixture) || !x.Arms[k].Active || !c.Context(at, v) {
			continue
		}
		if reward, ok := contextReward(is, x.def, u); ok {
			learned++
			f(at, k, v, reward)
		}
	}
	return learned
}

// learn takes a unit of a version whose window has closed, at a row of its cohort.
func (l *contextLearner) learn(c *join.Version, at, arm int, v []float64, reward float64) {
	if l.Learner.Observe(arm, v, reward, 1) == nil {
		l.remember(c, at)
	}
}

// endRound ends a version that was learned from, and begins anew where that is due. The recent
// contexts stay: the shares are averaged over them.
func (l *contextLearner) endRound(r *roster) error {
	if l.memory == 0 {
		return nil
	}
	if l.s.Rounds++; l.s.Rounds < l.memory {
		return nil
	}
	l.s.Rounds = 0
	o := l.options
	o.Arms = len(r.Arms)
	m, err := contextual.NewLearner(o)
	if err != nil {
		return err
	}
	for k := range r.Arms {
		if !r.Arms[k].Active {
			if err := m.RetireArm(k); err != nil {
				return err
			}
		}
	}
	l.Learner = m
	return nil
}

// contextReward returns the reward of a row. Ok is false if a goal has no value.
func contextReward(is definition.Reward, d *definition.Definition, u *join.Row) (reward float64, ok bool) {
	for i, m := range is.Metrics {
		v := u.Values[m]
		if !u.Has(m) {
			p := d.Metrics[m].Default
			if p == nil {
				return 0, false
			}
			v = *p
		}
		reward += float64(is.Weights[i] * v)
	}
	return reward, true
}

// remember keeps the context of a row in place of the oldest one.
func (l *contextLearner) remember(c *join.Version, row int) {
	coordinates, values := c.ContextTerms(row)
	r := recentContext{slices.Clone(coordinates), slices.Clone(values)}
	if len(l.s.Recent) < recentContexts {
		l.s.Recent = append(l.s.Recent, r)
		return
	}
	l.s.Recent[l.s.Next] = r
	l.s.Next = (l.s.Next + 1) % recentContexts
}

// seal returns the policy of what was learned so far.
func (l *contextLearner) seal(r *roster) (*sealed, error) {
	linear, err := l.Learner.Seal()
	if err != nil {
		return nil, err
	}
	out := &sealed{linear: relinear(linear, r)}
	out.linear.Floor = r.def.ExplorationFloor
	if err := out.linear.Prepare(len(r.Arms)); err != nil {
		return nil, err
	}
	if out.shares, err = l.average(out.linear); err != nil {
		return nil, err
	}
	best := certain(out.linear)
	if err := best.Prepare(len(r.Arms)); err != nil {
		return nil, err
	}
	out.best, err = l.average(best)
	return out, err
}

// average returns the mean distribution over the recent contexts, or before the first one of a
// context without any coordinate but the constant.
func (l *contextLearner) average(linear *policy.Linear) ([]float64, error) {
	sum, p := make([]float64, len(linear.Arms)), []float64(nil)
	recent, x := l.s.Recent, make([]float64, l.Encoder().Dim())
	if len(recent) == 0 {
		recent = []recentContext{{[]uint32{0}, []float64{1}}}
	}
	for i := range recent {
		clear(x)
		for j, at := range recent[i].Coordinate {
			x[at] = recent[i].Weight[j]
		}
		var err error
		if p, err = linear.Distribution(p, x); err != nil {
			return nil, err
		}
		for k, v := range p {
			sum[k] += v
		}
	}
	normalize(sum)
	return sum, nil
}

// certain returns the policy that would be deployed: the best arm for each context.
func certain(linear *policy.Linear) *policy.Linear {
	out := &policy.Linear{Kind: linear.Kind, Features: linear.Features, Arms: linear.Arms}
	if out.Kind == policy.SquareCB {
		out.Gamma = certainGamma
	} else {
		out.Kind = policy.LinUCB
	}
	return out
}

// relinear returns a policy, not prepared, in which the arms that are not planned with, and those
// without a model, are retired.
func relinear(linear *policy.Linear, r *roster) *policy.Linear {
	out := &policy.Linear{
		Kind: linear.Kind, Features: linear.Features, Alpha: linear.Alpha, Gamma: linear.Gamma, Floor: linear.Floor,
		Arms: make([]policy.LinearArm, len(r.Arms)),
	}
	for k := range out.Arms {
		if k < len(linear.Arms) && !linear.Arms[k].Retired && (stopView{r}).planned(k) {
			out.Arms[k] = linear.Arms[k]
		} else {
			out.Arms[k].Retired = true
		}
	}
	return out
}

// MarshalBinary implements [learner].
func (l *contextLearner) MarshalBinary() ([]byte, error) {
	s, err := l.s, error(nil)
	if s.Model, err = l.Learner.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(contextMagic, l.Learner.String(), &s)
}

// UnmarshalBinary implements [learner].
func (l *contextLearner) UnmarshalBinary(data []byte) error {
	var s contextState
	if err := snapshot.Open(data, contextMagic, l.Learner.String(), &s); err != nil {
		return err
	}
	ok := s.Rounds >= 0 && s.Rounds <= l.memory && len(s.Recent) <= recentContexts && s.Next >= 0 &&
		s.Next < recentContexts
	for i := range s.Recent {
		r := &s.Recent[i]
		ok = ok && len(r.Coordinate) == len(r.Weight)
		for j, at := range r.Coordinate {
			ok = ok && int(at) < l.Encoder().Dim() && j < len(r.Weight) && math.Abs(r.Weight[j]) <= 1
		}
	}
	if !ok {
		return snapshot.Bad("damaged: the contexts do not fit %d coordinates", l.Encoder().Dim())
	}
	if err := l.Learner.UnmarshalBinary(s.Model); err != nil {
		return err
	}
	s.Model = nil
	l.s = s
	return nil
}
