package confident

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/mixed"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Learner is the learner of the name "default". It keeps each arm's mean V̂_k and standard error
// se_k and solves two exact problems by [optimum.Maximize]'s method, in rounds that grow by 5 %,
// where an arm has changed, and up to 128 arms where the size of an arm's groups reaches or passes
// a power of two, as p⁺ may send most of the groups to one arm:
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
// They are those of package pasto/internal/mixed: one linear mixed model for each metric, û = μ_k +
// u_t + e, in which what all arms of a round have in common cancels in comparisons and counts fully
// for absolute levels. Rounds are taken to be independent. An arm whose contrasts with the other
// arms of its rounds change is begun anew, and it alone. Where nothing is promised, optimism then
// counts what each arm has had since, and no more than three groups of before, so that an arm that
// became good while it was hardly served is found. With a control an arm that got worse alone is
// compared with it first, and has as many units meanwhile as its guardrails allow. Metrics that are
// only watched ([pasto.Report]) begin nothing anew.
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
// metric that is estimated jointly; memory is thirteen tables of K·M numbers, two more where
// variances of units are known, one more after a change where nothing is promised, and two under
// caps. A solution takes at most 400 passes over the arms, and as many again for each arm that a
// cap cuts; where K·M is above 7.5 million 3·10⁹/(K·M) or 30, whichever is more, and the next goes
// on from what it found. Near round t some 20/t of the rounds have a solution, and up to 128 arms
// another 1.4·K/t. Under a promise every round has one up to 64 arms. Observe allocates nothing
// once its buffers have grown.
type Learner struct {
	estimates
	text    string
	guard   guard
	plan    planner
	sampler round.Sampler
	checker round.Checker
	theta   []float64 // M: of an arm that is doubtful
	other   []float64 // M: of the control
}

// New makes the default learner on K arms.
func New(f pasto.Objective, arms int, o Options) (*Learner, error) {
	if err := pasto.CheckProblem(f, arms); err != nil {
		return nil, err
	}
	if err := o.validate(arms); err != nil {
		return nil, err
	}
	o.Caps = slices.Clone(o.Caps)
	l := &Learner{estimates: estimates{problem: newProblem(f, o), s: newState(arms, f.Dim(), o.Control)}}
	l.model = mixed.New(l.about, &l.s.Model)
	l.guard = guard{estimates: &l.estimates}
	l.plan = planner{guard: &l.guard}
	l.checker.Earlier, l.checker.Noisy = true, true
	l.checker.Raw = slices.ContainsFunc(l.metrics, func(x metric) bool { return x.Relative })
	l.begin()
	l.text = fmt.Sprintf("confident(metrics=%d, %+v)", f.Dim(), o)
	return l, nil
}

// begin plans for as many arms as the state has.
func (l *Learner) begin() {
	l.model.Resize()
	l.plan.reset()
	l.plan.solve()
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
	l.sampler.Draw(r, l.s.Serving, arms, l.options.scheme())
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
	s.Unobserved -= l.model.Observe(obs)
	changed := len(l.model.Changed())
	s.Unobserved += changed
	l.replan(before, changed)
	return nil
}

// replan ends a round in which so many arms were found to have changed. Before is how many active
// arms had no data at its beginning.
func (l *Learner) replan(before, changed int) {
	s := &l.s
	if changed > 0 {
		s.Began, s.Found = s.T, s.Found+changed
	}
	s.AllObserved = s.AllObserved || s.Unobserved == 0
	solve := changed > 0 || l.model.Probing || l.model.Doubled && s.Live <= manyArms ||
		s.T >= s.Next || before > 0 && s.Unobserved == 0
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
}

// AddArm implements [pasto.Roster]: the arm is served for the first time within about K/Q rounds,
// or as soon as the hard guardrails that are promised leave room for it. There is no error.
func (l *Learner) AddArm() (int, error) {
	l.s.grow(1, l.objective.Dim())
	l.s.Began = max(l.s.Began, l.s.T-1000) // solve more often
	l.begin()
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
	s.retire(k)
	if l.model.Rounds(k) == 0 {
		s.Unobserved--
	}
	l.plan.solve()
	l.mix()
	return nil
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }
