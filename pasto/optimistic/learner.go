package optimistic

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// Options are the options of [New]. Start from [DefaultOptions].
type Options struct {
	// Delta is δ, the probability with which a guarantee may fail, from 1e-12 to 0.5.
	Delta float64
	// Safe, if not nil, is an arm known to be safe: the learner is cautious.
	Safe *Safe
}

// Safe is an arm whose guardrail metrics are known, for instance today's setting.
type Safe struct {
	Arm int
	// Means are the true means of the arm, of length M. Only those of guardrails count; they must
	// hold the guardrails and not be at the threshold.
	Means []float64
}

// DefaultOptions returns δ = 0.05 without a safe arm.
func DefaultOptions() Options { return Options{Delta: 0.05} }

// Learner is a bandit under guardrails. It implements [pasto.Learner]. A round costs the solution
// of a linear program with K arms and a row for each guardrail, O(K·M) a step of the simplex
// method, and memory is O(K·M).
//
// An observation counts as one draw in the metrics' ranges, whatever its Size: the guarantee is for
// observations whose means are those of their arms, given the past.
type Learner struct {
	goals   *pasto.Goals
	options Options
	stretch float64
	text    string
	s       state
	p       []float64
	bad     pasto.Table // the bad ends of the intervals
	hope    pasto.Table // what the program is solved for
	solver  optimum.HardSolver
	plan    optimum.HardSolver // for Deployed
	means   pasto.Table
	theta   []float64
	other   []float64
	sampler round.Sampler
	checker round.Checker
	fresh   bool // plan holds the solution of the current round
}

type state struct {
	Rounds    int
	Count     []float64
	Mean      []float64 // of arm k and metric m at k·M + m
	Regret    float64
	Violation []float64
}

// New returns a learner on K arms. It returns an error of code bad_input if the goals have no hard
// guardrail, a soft one or one relative to a control group, a metric other than those to report has
// no range, or an option is out of range. With a safe arm and a soft minimum the guardrails' part
// of the guarantee holds, but that of the reward only for weighted sums.
func New(g *pasto.Goals, arms int, o Options) (*Learner, error) {
	if err := pasto.CheckProblem(g, arms); err != nil {
		return nil, err
	}
	if !(o.Delta >= 1e-12 && o.Delta <= 0.5) {
		return nil, noregret.BadInputf("delta", "%v: want a number from 1e-12 to 0.5", o.Delta)
	}
	if err := checkGoals(g); err != nil {
		return nil, err
	}
	l := &Learner{goals: g, options: o, stretch: 1}
	if o.Safe != nil {
		if err := l.checkSafe(o.Safe, arms); err != nil {
			return nil, err
		}
	}
	m := g.Dim()
	l.text = fmt.Sprintf("optimistic(arms=%d, metrics=%d, delta=%v", arms, m, o.Delta)
	if o.Safe != nil {
		l.text += fmt.Sprintf(", safe=%+v", *o.Safe)
	}
	l.text += ")"
	l.s = state{Count: make([]float64, arms), Mean: make([]float64, arms*m), Violation: make([]float64, m)}
	l.p, l.theta, l.other = make([]float64, arms), make([]float64, m), make([]float64, m)
	return l, l.prepare()
}

// checkGoals returns an error for goals that the guarantee does not cover.
func checkGoals(g *pasto.Goals) error {
	if !g.HasHard() {
		return noregret.BadInputf("goals", "without a hard guardrail: use package bandit, or make one hard")
	}
	for i := range g.Metrics() {
		m := &g.Metrics()[i]
		place := fmt.Sprintf("metrics[%d]", i)
		switch {
		case m.Role == pasto.Report:
		case m.Relative:
			return noregret.BadInputf(place, "%q is relative to a control group: its contrast has no range", m.Name)
		case m.Role == pasto.Guardrail && !m.Hard:
			return noregret.BadInputf(place, "%q is a soft guardrail: want a hard one", m.Name)
		case !m.HasRange():
			return noregret.BadInputf(place, "%q has no range: confidence intervals need one", m.Name)
		}
	}
	return nil
}

// checkSafe checks the safe arm and computes the stretch.
func (l *Learner) checkSafe(s *Safe, arms int) error {
	if s.Arm < 0 || s.Arm >= arms {
		return noregret.BadInputf("safe arm", "%d is unknown: want one of 0 to %d", s.Arm, arms-1)
	}
	if err := check.Vector("safe means", s.Means, l.goals.Dim()); err != nil {
		return err
	}
	for i := range l.goals.Metrics() {
		m := &l.goals.Metrics()[i]
		if m.Role != pasto.Guardrail {
			continue
		}
		room := float64(m.Direction.Sign()*(s.Means[i]-m.Threshold)) / (m.Upper - m.Lower)
		if !(room >= 1e-6) || !m.Admits(s.Means[i]) {
			return noregret.BadInputf("safe means", "%v of %q: want a value in its range that holds the threshold %v "+
				"with room to spare", s.Means[i], m.Name, m.Threshold)
		}
		l.stretch = max(l.stretch, 1+2/room)
	}
	return nil
}

// Stretch is the factor by which the intervals of the reward are widened: 1 without a safe arm, and
// 1 + 2·max_j range_j/room_j with one, where room_j is how far the safe arm is from the threshold
// of guardrail j. With it the best cautious mixture of the best mixture and the safe arm is worth
// at least the optimum (Pacchiano and others 2021, Lemma 3): a regret that holds all guardrails in
// all rounds costs this factor.
func (l *Learner) Stretch() float64 { return l.stretch }

// prepare solves the program of the next round.
func (l *Learner) prepare() error {
	k, m := len(l.s.Count), l.goals.Dim()
	l.bad.Reset(k, m)
	l.hope.Reset(k, m)
	for arm := range k {
		l.intervals(arm)
	}
	feasible, err := l.solver.Maximize(l.goals, &l.hope, tolerance, iterations)
	switch {
	case err != nil:
		return err
	case feasible:
		copy(l.p, l.solver.Best.Mixture)
	default: // an interval does not hold, or no mixture holds the guardrails
		copy(l.p, l.solver.LeastViolation())
	}
	l.sampler.Reset()
	l.fresh = false
	return nil
}

// The options of the solver. For a weighted sum the program's first solution is exact.
const (
	tolerance  = 1e-9
	iterations = 10_000
)

// intervals writes the ends of the intervals of an arm.
func (l *Learner) intervals(arm int) {
	dim := l.goals.Dim()
	width := HalfWidth(len(l.s.Count), dim, l.s.Count[arm], l.options.Delta)
	safe := l.options.Safe
	for i := range l.goals.Metrics() {
		m := &l.goals.Metrics()[i]
		mean := l.s.Mean[arm*dim+i]
		if m.Role == pasto.Report {
			l.bad.Arm(arm)[i], l.hope.Arm(arm)[i] = mean, mean
			continue
		}
		if l.s.Count[arm] == 0 {
			mean = m.Lower + float64((m.Upper-m.Lower)/2)
		}
		half := float64(width * (m.Upper - m.Lower) * m.Direction.Sign()) // towards the good end
		bad := min(max(mean-half, m.Lower), m.Upper)
		hope := min(max(mean+half, m.Lower), m.Upper)
		switch {
		case m.Role == pasto.Guardrail && safe != nil && safe.Arm == arm:
			bad, hope = safe.Means[i], safe.Means[i]
		case m.Role == pasto.Guardrail && safe != nil:
			hope = bad
		case safe != nil:
			hope = mean + float64(l.stretch*half)
		}
		l.bad.Arm(arm)[i], l.hope.Arm(arm)[i] = bad, hope
	}
}

// Arms implements [pasto.Learner].
func (l *Learner) Arms() int { return len(l.s.Count) }

// Rounds implements [pasto.Learner].
func (l *Learner) Rounds() int { return l.s.Rounds }

// Serving implements [pasto.Learner]: the mixture of the current round, with at most one arm more
// than there are guardrails.
func (l *Learner) Serving() []float64 { return l.p }

// Draw implements [pasto.Learner]. The arms are drawn independently.
func (l *Learner) Draw(r pasto.Rand, arms []int) { l.sampler.Draw(r, l.p, arms, pasto.IID) }

// Regret bounds the sum over all rounds of the optimum less the value of the mixture served: with
// probability at least 1 − δ it holds after every round.
func (l *Learner) Regret() float64 { return l.s.Regret }

// Violation bounds the sum over all rounds of the violation of guardrail i by the true means of the
// mixture served, likewise; 0 for other metrics. With a safe arm it is 0 up to the guardrail's
// slack.
func (l *Learner) Violation(i int) float64 { return l.s.Violation[i] }

// Observe implements [pasto.Learner].
func (l *Learner) Observe(obs []pasto.Observation) error {
	obs, _, err := l.checker.Check(l.goals, obs, l.s.Rounds+1, l.p, nil)
	if err != nil {
		return err
	}
	s, dim := &l.s, l.goals.Dim()
	l.hope.Mean(l.theta, l.p)
	l.bad.Mean(l.other, l.p)
	s.Regret += max(l.goals.Reward(l.theta)-l.goals.Reward(l.other), 0)
	l.goals.Violations(l.theta, l.other)
	for i, v := range l.theta {
		s.Violation[i] += v
	}
	for i := range obs {
		k := obs[i].Arm
		s.Count[k]++
		for j, y := range obs[i].Metrics {
			s.Mean[k*dim+j] += (y - s.Mean[k*dim+j]) / s.Count[k]
		}
	}
	s.Rounds++
	return l.prepare()
}

// Deployed implements [pasto.Learner]: the best mixture for the estimated means, of least violation
// if none holds the guardrails, and uniform before every arm has been observed. The first call in a
// round solves the program.
func (l *Learner) Deployed() []float64 {
	if !l.fresh {
		l.fresh = true
		l.deploy()
	}
	return l.plan.Best.Mixture
}

func (l *Learner) deploy() {
	k, dim := len(l.s.Count), l.goals.Dim()
	best := &l.plan.Best.Mixture
	all := true
	l.means.Reset(k, dim)
	for arm, n := range l.s.Count {
		all = all && n > 0
		copy(l.means.Arm(arm), l.s.Mean[arm*dim:(arm+1)*dim])
	}
	if all {
		feasible, err := l.plan.Maximize(l.goals, &l.means, tolerance, iterations)
		if err == nil && feasible {
			return
		}
		if err == nil {
			*best = append((*best)[:0], l.plan.LeastViolation()...)
			return
		}
	}
	*best = check.Zeros(*best, k)
	for arm := range *best {
		(*best)[arm] = 1 / float64(k)
	}
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, l.text+round.Identity(l.goals), &l.s)
}

// UnmarshalBinary implements [pasto.Learner].
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, round.SnapshotMagic, l.text+round.Identity(l.goals), &s); err != nil {
		return err
	}
	n, m := len(l.s.Count), l.goals.Dim()
	ok := check.Vector("means", s.Mean, n*m) == nil && check.Vector("violations", s.Violation, m) == nil &&
		len(s.Count) == n && s.Rounds >= 0 && s.Regret >= 0 && !math.IsInf(s.Regret, 1)
	for _, c := range s.Count {
		ok = ok && c >= 0 && c == math.Floor(c)
	}
	if !ok {
		return snapshot.Bad("damaged: it does not fit %d arms and %d metrics", n, m)
	}
	last := l.s
	l.s = s
	if err := l.prepare(); err != nil {
		l.s = last
		return err
	}
	return nil
}
