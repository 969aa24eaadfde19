package pasto

import (
	"encoding"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/noregret/noregret"
)

// Rand is the randomness of draws; the generators of math/rand/v2 have its methods. It is handed
// in, so that a host can save and replay it.
type Rand interface {
	// Float64 is uniform on [0, 1).
	Float64() float64
}

// Observation is what one group of units of the running round has shown.
type Observation struct {
	// Arm is the arm that the group was served, as drawn: of positive propensity in the running
	// round.
	Arm int
	// Metrics are the group's raw means per unit, of length M, each of size at most 1e100 and in
	// the metric's range where it has one.
	Metrics []float64
	// Control are the raw means of the concurrent control group, of length M, needed where the
	// objective has a guardrail that is [Metric.Relative]; the learner forms the contrast itself
	// ([Goals.Contrast]).
	Control []float64
	// Size is the number of units, fixed before the arms were drawn, from 1e-9 to 1e15; 0 means
	// that all groups are equal.
	Size float64
	// Round is that of the draw; 0 means the running round. Any other than the running one is
	// refused.
	Round int
}

// Learner finds a mixture by experiment. Round by round it names the serving distribution p_t, the
// host draws an arm from it for each group of units (Draw, or its own way), and Observe ends the
// round. A learner is deterministic given the draws, has no clock and no goroutine, and allocates
// nothing per round after the first ones. It is not safe for concurrent use.
type Learner interface {
	// Arms is K, retired arms included.
	Arms() int
	// Rounds is the number of finished rounds.
	Rounds() int
	// Serving is p_t, the distribution to draw from in the running round: the propensities to log.
	// Read it, do not write to it.
	Serving() []float64
	// Draw draws an arm for each group of the round.
	Draw(r Rand, arms []int)
	// Observe ends the round. What breaks a rule is refused with an error of code bad_input and
	// changes nothing.
	Observe(obs []Observation) error
	// Deployed is the mixture to ship if the experiment ended now. Read it, do not write to it; the
	// next Observe may change it.
	Deployed() []float64
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Roster is a learner whose arms come and go mid-run (spec 10.5): all of [Algorithms] are.
type Roster interface {
	Learner
	// AddArm adds an arm of which nothing is known, and returns its index, the number of arms
	// before.
	AddArm() (k int, err error)
	// RetireArm takes arm k out for good: its index stays, its share is 0, and its observations are
	// refused from now on. The last active arm cannot be retired.
	RetireArm(k int) error
}

// retirable refuses to retire an arm that there is not, that is retired already, or that is the
// last one.
func retirable(k int, active []bool) error {
	live := 0
	for _, a := range active {
		if a {
			live++
		}
	}
	switch {
	case k < 0 || k >= len(active):
		return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, len(active)-1)
	case !active[k]:
		return noregret.BadInputf("arm", "%d is retired already", k)
	case live == 1:
		return noregret.BadInputf("arm", "%d is the last active one: at least one must stay", k)
	}
	return nil
}

// checkProblem refuses an objective or a number of arms that nobody can learn.
func checkProblem(f Objective, arms int) error {
	if err := validate(f); err != nil {
		return err
	}
	if arms < 1 {
		return noregret.BadInputf("arms", "%d: want at least 1", arms)
	}
	if u, ok := f.(*Utility); ok && u.boxed() {
		return checkConcave(u, u.Lower, u.Upper, 100, 0, 1e-6)
	}
	return nil
}

// checkObjective is checkProblem for learners that follow gradients or score arms.
func checkObjective(f Objective, arms int) error {
	if err := checkProblem(f, arms); err != nil {
		return err
	}
	if g, ok := f.(*Goals); ok && g.HasHard() {
		return noregret.BadInputf("objective", "it has a hard guardrail, which has no gradient: learn with squared "+
			"violations and a "+
			"larger lambda for smaller ones, or with the default")
	}
	return nil
}

// intake checks the observations of rounds, and holds the contrasts of the running one.
type intake struct {
	obs    []Observation
	values []float64
}

// take refuses a round's observations that break a rule, before anything changes. It returns them
// in the form that the objective sees, and Σ Size, 0 for equal groups. What it returns is good
// until the next call.
func (in *intake) take(f Objective, obs []Observation, round int, p []float64, active []bool) (seen []Observation,
	total float64, err error,
) {
	if len(obs) == 0 {
		return nil, 0, noregret.BadInputf("observations", "none in round %d: want at least one group", round)
	}
	for i := range obs {
		if err := obs[i].check(i, f.Dim(), round, p, active); err != nil {
			return nil, 0, err
		}
		if (obs[i].Size > 0) != (obs[0].Size > 0) {
			return nil, 0, observed(i, "size %v beside %v: give all groups of a round a size, or none", obs[i].Size,
				obs[0].Size)
		}
		total += obs[i].Size
	}
	if u, ok := f.(*Utility); ok {
		for i := range obs {
			for m, v := range obs[i].Metrics {
				if lower, upper := u.bounds(m); !(v >= lower && v <= upper) {
					return nil, 0, observed(i, "metric %d of utility %q is %v: want a number in its range [%v, %v]", m,
						u.Name, v, lower, upper)
				}
			}
		}
	}
	g, ok := f.(*Goals)
	if !ok {
		return obs, total, nil
	}
	if !g.HasRelative() {
		for i := range obs {
			for m, v := range obs[i].Metrics {
				if x := &g.metrics[m]; !x.Admits(v) {
					return nil, 0, observed(i, "metric %q is %v: want a number in its range [%v, %v]", x.Name, v,
						x.Lower, x.Upper)
				}
			}
		}
		return obs, total, nil
	}
	in.obs = append(in.obs[:0], obs...)
	in.values = slices.Grow(in.values[:0], len(obs)*g.Dim())[:len(obs)*g.Dim()]
	for i := range in.obs {
		row := in.values[i*g.Dim() : (i+1)*g.Dim()]
		if err := g.Contrast(row, obs[i].Metrics, obs[i].Control); err != nil {
			return nil, 0, observed(i, "%w", err)
		}
		in.obs[i].Metrics = row
	}
	return in.obs, total, nil
}

// check refuses observation i of a round if it breaks a rule of its own.
func (o *Observation) check(i, metrics, round int, p []float64, active []bool) error {
	switch {
	case o.Arm < 0 || o.Arm >= len(p):
		return observed(i, "arm %d is unknown: want one of 0 to %d", o.Arm, len(p)-1)
	case active != nil && !active[o.Arm]:
		return observed(i, "arm %d is retired: archive what comes late", o.Arm)
	case o.Round != 0 && o.Round < round:
		return observed(i, "round %d is closed already: a duplicate or a late observation, round %d is running",
			o.Round, round)
	case o.Round > round:
		return observed(i, "round %d is unknown: round %d is running", o.Round, round)
	case len(o.Metrics) != metrics:
		return observed(i, "it has %d metrics: want %d", len(o.Metrics), metrics)
	case o.Size != 0 && !(o.Size >= smallestSize && o.Size <= largestSize):
		return observed(i, "size %v: want 0, or a number from %v to %v", o.Size, smallestSize, largestSize)
	case !(p[o.Arm] > 0):
		return observed(i, "arm %d has propensity %v in this round: it cannot have been drawn", o.Arm, p[o.Arm])
	}
	for m, v := range o.Metrics {
		if !(math.Abs(v) <= largest) {
			return observed(i, "metric %d is %v: want a finite number, of size at most %v", m, v, largest)
		}
	}
	for m, v := range o.Control {
		if !(math.Abs(v) <= largest) {
			return observed(i, "control metric %d is %v: want a finite number, of size at most %v", m, v, largest)
		}
	}
	return nil
}

func observed(i int, format string, args ...any) error {
	return noregret.BadInputf(fmt.Sprintf("observations[%d]", i), format, args...)
}

// Scheme is a way to draw Q arms of a round.
type Scheme int

const (
	// IID draws each group's arm from p_t independently, with replacement: the unbiased form of the
	// paper's parallel queries.
	IID Scheme = iota
	// Systematic draws all arms with one random number and equal steps through the cumulative
	// shares, then shuffles them over the groups. An arm's expected number of groups is Q·p_k as
	// before and its variance least, so that the formula of the estimators stays unbiased, without
	// a cap on large shares.
	Systematic
)

// sampler draws from a distribution by its cumulative sums.
type sampler struct {
	cum   []float64
	ready bool
}

func (s *sampler) prepare(p []float64) {
	if s.ready {
		return
	}
	if len(s.cum) != len(p) {
		s.cum = make([]float64, len(p))
	}
	sum := 0.0
	for k, v := range p {
		sum += v
		s.cum[k] = sum
	}
	s.ready = true
}

// find returns the first arm of positive share whose cumulative sum is above x.
func (s *sampler) find(x float64) int {
	n := len(s.cum)
	k := sort.Search(n, func(i int) bool { return s.cum[i] > x })
	if k == n { // x is the total, by rounding: the last arm of positive share
		total := s.cum[n-1]
		k = sort.Search(n, func(i int) bool { return s.cum[i] >= total })
	}
	return k
}

func (s *sampler) draw(r Rand, p []float64, arms []int, scheme Scheme) {
	s.prepare(p)
	total := s.cum[len(s.cum)-1]
	if scheme == IID {
		for i := range arms {
			arms[i] = s.find(float64(r.Float64() * total))
		}
		return
	}
	u := r.Float64()
	for i := range arms {
		arms[i] = s.find(float64((u + float64(i)) / float64(len(arms)) * total))
	}
	for i := len(arms) - 1; i > 0; i-- {
		j := int(r.Float64() * float64(i+1))
		arms[i], arms[j] = arms[j], arms[i]
	}
}
