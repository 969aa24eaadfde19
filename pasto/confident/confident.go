package confident

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Learner is the learner of the name "default". It keeps each arm's mean V̂_k and standard error
// se_k and solves two exact problems by [optimum.Maximize]'s method, in rounds that grow by 5 %
// and whenever the observations of an arm have doubled:
//
//	optimistic p⁺ = argmax f((V̂ + z·se)·p),
//	cautious p⁻ = argmax f((V̂ − c·se)·p),
//
// every metric moved in its good direction and kept in its range. It deploys p⁻ and serves mostly a
// mixture of the two, (1−ε)·p⁻ + ε·p⁺, with an ε that falls with information: see [Exploration].
// Optimism brings data to the arms that could matter, so that no arm freezes on a bad first sample,
// and caution keeps an arm that was lucky in few samples from being deployed (the winner's curse).
// There is no step size and no importance weight. The result does not depend on the units of the
// metrics. Unobserved arms receive all traffic at first and their proportional share later.
//
// # Estimates
//
// An observation is û = μ_k + u_t + e, with a part u_t that all arms of round t have in common: the
// season, growth, the shock of a day. Its variance τ² is estimated for each metric from the
// products of deviations of two arms of a round. Where it is surely above 0 in some metric and the
// arms are at most 512, least squares with an effect of each round estimates all arms jointly, so
// that u_t cancels in comparisons and counts fully for absolute levels only; elsewhere each arm is
// estimated by its mean, with a squared standard error of σ²/n + τ²·Σ_t n_t²/n², for n_t of n units
// in round t. Rounds are taken to be independent, and e too.
//
// σ² of an arm is mixed with the pooled one of the metric, worth 8 groups or 200 units. It is that
// of what an arm deviates by from the other arms of its rounds. Where
// [pasto.Observation.Variances] tell the variance of a unit it is that from the first round on, and
// the scatter between rounds can only raise it.
//
// # Changes
//
// Changes are found by comparing, for each arm and metric, the newest round, the running 16 rounds
// and blocks of 32, 64, ... rounds with those before them. Compared are contrasts with the other
// arms of the same rounds, so that what all arms have in common is no change; with one arm in each
// round they are the arm's own values. A difference of 6 standard errors, and as much more as a
// skewed or long-tailed metric needs, begins that arm anew, and it alone. Metrics that are only
// watched ([pasto.Report]) begin nothing anew.
//
// # Hard guardrails
//
// With a control arm ([Options]) what is served holds them in every round, with the probability
// that [Learner.Promise] states: it is the optimistic mixture under pessimistic guardrails, beside
// a share that explores, moved towards the control until both are safe together. Without one they
// are constraints of both problems with a caution of their own, HardCaution, so that what is
// deployed seldom breaks them; what is served to learn is under no promise. Where no mixture holds
// them with all that caution, the control arm is deployed, and without one as much of the caution
// is taken as there is room for, to a 64th; where none holds them by the estimates it is the
// mixture of least violation. [Learner.Infeasible] tells whether they can be held at all.
//
// # Cost
//
// A round costs O(Q·M), a round with a solution O(K·M) for each arm that enters, and O(K³) for each
// metric that is estimated jointly; memory is nine tables of K·M numbers, and two more where
// variances of units are known. A solution takes at most 400 passes over the arms; where K·M is
// above 7.5 million 3·10⁹/(K·M) or 30, whichever is more, and the next goes on from what it found.
// Under a promise there is a solution in each round up to 64 arms. Observe allocates nothing once
// its buffers have grown.
type Learner struct {
	*problem
	text    string
	s       state
	round   roundSums
	signs   []float64 // of changes, of the arms of a round
	est     estimates
	guard   guard
	plan    planner
	sampler round.Sampler
	checker round.Checker
}

// stateFormat is the format of the state in snapshots.
const stateFormat = ", state 8: "

// New makes the default learner on K arms.
func New(f pasto.Objective, arms int, o Options) (*Learner, error) {
	if err := pasto.CheckProblem(f, arms); err != nil {
		return nil, err
	}
	if err := o.validate(arms); err != nil {
		return nil, err
	}
	o.Caps = slices.Clone(o.Caps)
	l := &Learner{problem: newProblem(f, o), s: newState(arms, f.Dim(), o.Control)}
	l.est = estimates{problem: l.problem, s: &l.s}
	l.guard = guard{estimates: &l.est}
	l.plan = planner{guard: &l.guard}
	l.checker.Earlier = true
	l.checker.Raw = slices.Contains(l.relative, true)
	l.workspace()
	l.plan.solve()
	l.mix()
	l.text = fmt.Sprintf("confident(metrics=%d, %+v)", f.Dim(), o)
	return l, nil
}

// workspace makes room for as many arms as the state has.
func (l *Learner) workspace() {
	l.est.reset()
	l.plan.reset()
	l.round.slot = make([]int, len(l.s.Active))
	l.s.Stats.rules = l.options.without
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

// Observe implements [pasto.Learner]. A round whose solution fails, as the gradient of a
// [pasto.Utility] is not finite, counts, and leaves the mixtures as they were: see
// [Learner.SolutionError].
func (l *Learner) Observe(obs []pasto.Observation) error {
	obs, _, err := l.checker.Check(l.objective, obs, l.s.T+1, l.s.Serving, l.s.Active)
	if err != nil {
		return err
	}
	s := &l.s
	before := s.Unobserved
	s.T++
	l.learn(obs)
	changed := l.changed()
	if changed {
		s.Began = s.T
	}
	s.AllObserved = s.AllObserved || s.Unobserved == 0
	solve := changed || s.T >= s.Next || before > 0 && s.Unobserved == 0
	if l.promised() {
		solve = solve || s.Live <= fewArms || s.Unobserved != before
	}
	if solve {
		s.Next = max(s.Began+int(float64(s.T-s.Began)*epochRatio), s.T+1)
		l.plan.solve()
	}
	if solve || s.Unobserved != before {
		l.mix()
	}
	return nil
}

// learn adds the observations of a round to the statistics.
func (l *Learner) learn(obs []pasto.Observation) {
	s := &l.s
	l.round.collect(&s.Stats, obs)
	s.Noise.addProducts(&s.Stats, &l.round)
	l.round.adjust(&s.Stats, l.est.effectsShown(), l.positive)
	s.Noise.addExcess(&s.Stats, &l.round)
	s.Joint.addRound(&l.round, l.plan.row)
	for a := range l.round.arms {
		x := &l.round.arms[a]
		if !x.known {
			s.Unobserved--
		}
		s.Stats.add(x)
		if x.weight > 0 {
			s.Changes.add(x)
		}
	}
}

// SolutionError is the error of the last solution, nil if there was none: the mixtures are then
// those of the solution before it.
func (l *Learner) SolutionError() error { return l.plan.err }

// AddArm implements [pasto.Roster]: the arm is served for the first time within about K/Q rounds,
// or as soon as the hard guardrails that are promised leave room for it. There is no error.
func (l *Learner) AddArm() (int, error) {
	l.s.grow(l.objective.Dim())
	l.s.Began = max(l.s.Began, l.s.T-1000) // solve more often
	l.workspace()
	l.plan.solve()
	l.mix()
	return len(l.s.Active) - 1, nil
}

// RetireArm implements [pasto.Roster]. The control arm cannot be retired.
func (l *Learner) RetireArm(k int) error {
	s := &l.s
	if err := round.CheckRetire(k, s.Active); err != nil {
		return err
	}
	if k == l.options.Control {
		return noregret.BadInputf("arm", "%d is the control arm: it cannot be retired", k)
	}
	s.Active[k] = false
	s.Live--
	if s.Stats.Rounds[k] == 0 {
		s.Unobserved--
	}
	for _, p := range [][]float64{s.Up, s.Down, s.Safe} {
		round.Drop(p, k, s.Active)
	}
	l.plan.solve()
	l.mix()
	return nil
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, l.text+stateFormat+round.Identity(l.objective), &l.s)
}

// UnmarshalBinary implements [pasto.Learner]. Snapshots of the states before format 8 are refused:
// the learner kept other statistics then.
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, round.SnapshotMagic, l.text+stateFormat+round.Identity(l.objective), &s); err != nil {
		return checkFormat(data, err)
	}
	if n, m := len(s.Active), l.objective.Dim(); !s.fits(n, m) {
		return snapshot.Bad("damaged: its parts do not fit %d arms and %d metrics, or each other", n, m)
	}
	l.s = s
	l.plan.err, l.guard.slack = nil, l.guard.slack[:0]
	l.workspace()
	l.sampler.Reset()
	return nil
}

// oldState matches the format of the state in snapshots of earlier versions of the learner.
var oldState = regexp.MustCompile(`, state [1-7]: |HardCaution:[^ ]+ Explore:`)

// checkFormat returns an error that names the format if data are a snapshot of an earlier one, and
// err otherwise.
func checkFormat(data []byte, err error) error {
	if oldState.Match(data) {
		return snapshot.Bad(
			"a format before state 8: the default learner keeps other statistics since, learn "+
				"anew (%w)", err)
	}
	return err
}

// Estimate returns V̂, of the raw values where the learner has a control arm, and its standard
// errors. An arm not served since the start or its last change has 0 and +Inf, and errors are +Inf
// while nothing is known of the noise or of the effects of rounds: that takes a second round.
func (l *Learner) Estimate() (means, errors *pasto.Table) {
	e, m := &l.est, len(l.sign)
	e.estimate()
	means, errors = new(pasto.Table), new(pasto.Table)
	means.Reset(l.Arms(), m)
	errors.Reset(l.Arms(), m)
	for k := range l.s.Active {
		copy(means.Arm(k), e.rows[k*m:(k+1)*m])
		for i := range m {
			if errors.Arm(k)[i] = math.Sqrt(e.squared[k*m+i] + e.level[i]); e.effectsUnknown() {
				errors.Arm(k)[i] = math.Inf(1)
			}
		}
	}
	return means, errors
}

// Changes is the number of changes of an arm found so far.
func (l *Learner) Changes() int { return l.s.Found }

// Passes is the number of passes over all arms that solutions have taken since an arm was last
// added: a measure of their cost.
func (l *Learner) Passes() int { return l.plan.solver.Passes() }
