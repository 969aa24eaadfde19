package contextual

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/policy"
)

// LearnerOptions are the parameters of a [Learner]. Begin with [DefaultLearnerOptions].
type LearnerOptions struct {
	// Kind is policy.LinUCB, policy.LinThompson or policy.SquareCB.
	Kind string
	// Features declare the context, see policy.Encoder.
	Features []policy.Feature
	// Arms is the number of arms at the beginning.
	Arms int
	// Ridge is the multiple λ of the identity in each arm's matrix, from 1e-9 to 1e9.
	Ridge float64
	// Alpha multiplies the standard errors of lin-ucb and lin-thompson, from 0 to 1000.
	Alpha float64
	// Gamma is the rate at which squarecb turns from exploring to exploiting, from 0 to 1e6. The
	// policy's rate is Gamma·√n/σ̂ after n observations.
	Gamma float64
	// Floor is the share that is spread evenly over the arms, in [0, 1].
	Floor float64
	// Noise is the standard deviation σ of rewards given context and arm; 0 estimates it.
	Noise float64
}

// DefaultLearnerOptions are Ridge 1, Alpha 1, Gamma 5 and no floor; the noise is estimated.
func DefaultLearnerOptions(kind string, features []policy.Feature, arms int) LearnerOptions {
	return LearnerOptions{Kind: kind, Features: features, Arms: arms, Ridge: 1, Alpha: 1, Gamma: 5}
}

// Learner learns a contextual policy with one linear model for each arm: ridge regression of the
// arm's rewards on the context's vector x. It is the learner of the decision service: rewards come
// in any order, of any arm, by whatever rule the arms were chosen; [Learner.Seal] makes the policy
// that decides from then on.
//
// Scores shrink to the mean reward of all arms, not to 0: arm k's score is c + ⟨x, θ_k⟩ with c =
// Σwy/Σw over all arms and θ_k the ridge regression of y − c. Widths are multiples of σ̂, by
// default estimated by
//
//	σ̂² = (1/n)·Σ_k min over θ of λ‖θ‖² + Σ w·(y − c − ⟨x, θ⟩)²
//
// which has the mean σ² if c is the mean and θ_k has the distribution N(0, σ²/λ·I), the prior that
// makes ridge regression a posterior mean. So shares do not depend on the unit of rewards, nor on
// a constant added to them, up to rounding.
//
// The state is a function of the sequence of calls, with the same bits on every machine. Observe
// costs O(d²) and allocates nothing; memory is d²/2 numbers for each arm. Not safe for concurrent
// use.
type Learner struct {
	o       LearnerOptions
	encoder *policy.Encoder
	text    string
	work    workspace
	s       learnerState
}

type learnerState struct{ Arms []armState }

type armState struct {
	Model   regression
	Retired bool
}

const learnerMagic = "noregret-contextual-learner-2\n"

// NewLearner returns a learner without observations, whose policy is uniform. It returns an error
// of code bad_input if an option is out of its range, or if the arms' factors would have more than
// policy.MaxNumbers numbers.
func NewLearner(o LearnerOptions) (*Learner, error) {
	if !slices.Contains(policy.LinearKinds(), o.Kind) {
		return nil, noregret.BadInputf("kind", "%s", named.Unknown(o.Kind, policy.LinearKinds()))
	}
	for _, c := range []struct {
		name               string
		value, least, most float64
	}{
		{"ridge", o.Ridge, 1e-9, 1e9},
		{"alpha", o.Alpha, 0, 1000},
		{"gamma", o.Gamma, 0, 1e6},
		{"floor", o.Floor, 0, 1},
		{"noise", o.Noise, 0, maxReward},
	} {
		if !(c.value >= c.least && c.value <= c.most) {
			return nil, noregret.BadInputf(c.name, "%v: want a number from %v to %v", c.value, c.least, c.most)
		}
	}
	e, err := policy.NewEncoder(o.Features)
	if err != nil {
		return nil, err
	}
	if err := checkSize(o.Arms, e.Dim()); err != nil {
		return nil, err
	}
	o.Features = e.Features()
	features, err := json.Marshal(o.Features)
	if err != nil {
		return nil, noregret.BadInputf("features", "%w", err)
	}
	l := &Learner{o: o, encoder: e, work: newWorkspace(e.Dim())}
	l.text = fmt.Sprintf("%s(ridge=%v, alpha=%v, gamma=%v, floor=%v, noise=%v, features=%s)", o.Kind, o.Ridge, o.Alpha,
		o.Gamma, o.Floor, o.Noise, features)
	for range o.Arms {
		l.s.Arms = append(l.s.Arms, armState{Model: newRegression(e.Dim(), o.Ridge)})
	}
	return l, nil
}

// checkSize returns an error unless there is an arm and the factors of all are small enough.
func checkSize(arms, dim int) error {
	if most := policy.MaxNumbers / policy.Triangle(dim); arms < 1 || arms > most {
		return noregret.BadInputf("arms", "%d with %d coordinates: want 1 to %d", arms, dim, most)
	}
	return nil
}

// Encoder returns the encoder of the features.
func (l *Learner) Encoder() *policy.Encoder { return l.encoder }

// Arms is the number of arms, retired ones included.
func (l *Learner) Arms() int { return len(l.s.Arms) }

// Count is the number of observations of arm k.
func (l *Learner) Count(k int) uint64 { return l.s.Arms[k].Model.Count }

// Retired reports whether arm k is retired.
func (l *Learner) Retired(k int) bool { return l.s.Arms[k].Retired }

// Observe adds the reward of an arm in the context x. The weight is usually 1; an observation of
// weight w counts as w observations with this reward. Retired arms can have rewards. It returns an
// error of code bad_input, and changes nothing, if the arm does not exist, x is not a vector of the
// encoder with coordinates of size at most 1e15, the reward is of size above 1e30, or the weight is
// not from 1e-9 to 1e9.
func (l *Learner) Observe(arm int, x []float64, reward, weight float64) error {
	if err := l.checkArm(arm); err != nil {
		return err
	}
	if err := checkVector(x, l.encoder.Dim()); err != nil {
		return err
	}
	if err := checkObservation(reward, weight); err != nil {
		return err
	}
	l.s.Arms[arm].Model.observe(l.work, x, reward, weight)
	return nil
}

func (l *Learner) checkArm(k int) error {
	if k < 0 || k >= len(l.s.Arms) {
		return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, len(l.s.Arms)-1)
	}
	return nil
}

// AddArm adds an arm without observations and returns its index. It returns an error of code
// bad_input if the factors would have more than policy.MaxNumbers numbers.
func (l *Learner) AddArm() (int, error) {
	if err := checkSize(len(l.s.Arms)+1, l.encoder.Dim()); err != nil {
		return 0, err
	}
	l.s.Arms = append(l.s.Arms, armState{Model: newRegression(l.encoder.Dim(), l.o.Ridge)})
	return len(l.s.Arms) - 1, nil
}

// RetireArm removes arm k for good: it gets no share. It returns an error of code bad_input if the
// arm does not exist, is already retired or is the last active one.
func (l *Learner) RetireArm(k int) error {
	if err := l.checkArm(k); err != nil {
		return err
	}
	if l.s.Arms[k].Retired {
		return noregret.BadInputf("arm", "%d is already retired", k)
	}
	active := 0
	for i := range l.s.Arms {
		if !l.s.Arms[i].Retired {
			active++
		}
	}
	if active == 1 {
		return noregret.BadInputf("arm", "%d is the last active one: at least one must stay", k)
	}
	l.s.Arms[k].Retired = true
	return nil
}

// Mean returns c = Σwy/Σw over all arms, and 0 before the first observation.
func (l *Learner) Mean() float64 {
	sum, weight := 0.0, 0.0
	for k := range l.s.Arms {
		sum += l.s.Arms[k].Model.Sum
		weight += l.s.Arms[k].Model.Weight
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}

// Noise returns the standard deviation of rewards, σ̂ or that of the options, and the number of
// observations n. It is 0 before the first observation if it is estimated.
func (l *Learner) Noise() (deviation float64, n uint64) {
	c, squares, all := l.Mean(), 0.0, 0.0
	for k := range l.s.Arms {
		g := &l.s.Arms[k].Model
		n += g.Count
		square := float64(float64(c*c) * g.UU)
		squares += g.YY - float64(2*c*g.YU) + square
		all += g.YY + square
	}
	switch {
	case l.o.Noise > 0:
		return l.o.Noise, n
	case n == 0:
		return 0, 0
	}
	// Rounding alone leaves a share of some 1e-16 where all rewards are the same.
	return math.Sqrt(max(squares, float64(1e-13*all)) / float64(n)), n
}

// Seal returns the policy that the observations so far lead to, prepared for decisions. It shares
// no memory with the learner. It returns an error of code bad_input if the weights have become too
// large for a policy. O(arms·d²).
func (l *Learner) Seal() (*policy.Linear, error) {
	c := l.Mean()
	noise, n := l.Noise()
	p := &policy.Linear{Kind: l.o.Kind, Features: l.encoder.Features(), Floor: l.o.Floor}
	if l.o.Kind == policy.SquareCB {
		if noise > 0 {
			p.Gamma = min(l.o.Gamma*math.Sqrt(float64(n))/noise, 1e100)
		}
	} else {
		p.Alpha = min(l.o.Alpha*noise, policy.MaxAlpha)
	}
	for k := range l.s.Arms {
		a := &l.s.Arms[k]
		out := policy.LinearArm{Retired: a.Retired}
		if !a.Retired {
			out.Mean = make([]float64, len(a.Model.Mean))
			for i, v := range a.Model.Mean {
				out.Mean[i] = v - float64(c*a.Model.Unit[i])
			}
			out.Mean[0] += c
			if l.o.Kind != policy.SquareCB {
				out.Factor = slices.Clone(a.Model.Factor)
			}
		}
		p.Arms = append(p.Arms, out)
	}
	p = p.Clone() // the features' values are the encoder's
	return p, p.Prepare(len(p.Arms))
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }

// MarshalBinary returns a snapshot. It restores into a learner with the same options, whatever its
// arms, which then continues bit for bit.
func (l *Learner) MarshalBinary() ([]byte, error) { return snapshot.Seal(learnerMagic, l.text, &l.s) }

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken from a learner with other options.
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s learnerState
	if err := snapshot.Open(data, learnerMagic, l.text, &s); err != nil {
		return err
	}
	active := false
	for k := range s.Arms {
		if !s.Arms[k].Model.valid(l.encoder.Dim()) {
			return snapshot.Bad("damaged: arm %d does not fit %d coordinates", k, l.encoder.Dim())
		}
		active = active || !s.Arms[k].Retired
	}
	if !active || checkSize(len(s.Arms), l.encoder.Dim()) != nil {
		return snapshot.Bad("damaged: %d arms, of which at least one must be active", len(s.Arms))
	}
	l.s = s
	return nil
}
