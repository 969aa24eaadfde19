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
// se_k and solves two exact problems by [optimum.Maximize]'s method, in rounds that grow by 5 % and
// whenever the observations of an arm have doubled:
//
//	optimistic p⁺ = argmax f((V̂ + z·se)·p),
//	cautious p⁻ = argmax f((V̂ − c·se)·p),
//
// every metric moved in its good direction and kept in its range. It deploys p⁻ and serves mostly a
// mixture of the two, (1−ε)·p⁻ + ε·p⁺, with an ε that falls with information: see [Exploration].
// Optimism brings data to the arms that could matter, so that no arm freezes on a bad first sample,
// and caution keeps an arm that was lucky in few samples from being deployed (the winner's curse).
// There is no step size and no importance weight. The result does not depend on the units of the
// metrics.
//
// Unobserved arms receive all traffic at first and their proportional share later. Of the rest,
// arms of one or two groups receive half of their proportional share. A share of at most a tenth
// that falls with information is spread over all arms.
//
// # Estimates
//
// An observation is û = μ_k + u_t + e, with a part u_t that all arms of round t have in common: the
// season, growth, the shock of a day. Its variance τ² is estimated for each metric from the
// products of deviations of two groups of a round. Where it is surely above 0 and the arms are at
// most 512, generalized least squares estimates all arms jointly, so that u_t cancels in
// comparisons and counts fully for absolute levels only; elsewhere each arm is estimated by its
// mean, with a squared standard error of σ²/n + τ²·Σ_t n_t²/n², for n_t of n units in round t.
// Rounds are taken to be independent, and e too.
//
// σ² of an arm is mixed with the pooled one of the metric, worth 8 groups. It is that of what an
// arm deviates by from the other arms of its rounds. Where [pasto.Observation.Variances] tell the
// variance of a unit it is that from the first round on, and the scatter between rounds can only
// raise it.
//
// # Changes
//
// Changes are found by comparing, for each arm and metric, a recent block of rounds, and the last
// 16, with those before them, after each 16 rounds that served the arm; blocks are of 32, 64, ...
// such rounds, up to half of all or 1,024, and begin again. Compared are contrasts with the other
// arms of the same rounds, so that what all arms have in common is no change; with one arm in each
// round they are the arm's own values. A difference of 6 standard errors, and as much more as a
// skewed or long-tailed metric needs, begins that arm anew, and it alone: it is served again, and
// until then its old mean counts for one group. Metrics that are only watched ([pasto.Report])
// begin nothing anew.
//
// # Hard guardrails
//
// With a control arm ([Options]) what is served holds them in every round, with the probability
// that [Learner.Promise] states. Without one they are constraints of both problems with a caution
// of their own, HardCaution, so that what is deployed seldom breaks them; what is served to learn
// is under no promise. Where no mixture holds them with all that caution, the control arm is
// deployed, and without one as much of the caution is taken as there is room for, to a 64th; where
// none holds them by the estimates it is the mixture of least violation. [Learner.Infeasible] tells
// whether they can be held at all.
//
// # Cost
//
// A round costs O(Q·(M + Q + log K)), and O(K) more where an arm was served for the first or the
// third time, a round with a solution O(K·M) for each arm that enters, and O(K³) for each metric
// that is estimated jointly; memory is eight tables of K·M numbers, and four more where variances
// of units are known. A solution takes at most 400 passes over the arms; where K·M is above 7.5
// million 3·10⁹/(K·M) or 30, whichever is more, and the next goes on from what it found. Observe
// allocates nothing once its buffers have grown.
type Learner struct {
	objective pasto.Objective
	goals     *pasto.Goals // the objective, if it is such
	hard      *pasto.Goals // the objective, if it has hard guardrails
	guards    []int        // the metrics of these
	options   Options
	sign      []float64 // of each metric's good direction
	relative  []bool    // of each metric: a contrast with the control arm
	ignored   []bool    // metrics that are only watched
	caution   []float64 // of each metric
	low, high []float64 // range of each metric as the objective sees it
	width     []float64 // of the range of a unit's value, 0 if that is unknown
	text      string
	s         state
	round     roundSums
	noise     noiseWork
	plan      planner
	extra     []float64 // K: what is served beside the solutions
	bounded   []bool    // K
	half      []float64 // K: see base
	sampler   round.Sampler
	checker   round.Checker
}

// stateFormat is the format of the state in snapshots.
const stateFormat = ", state 6: "

// New makes the default learner on K arms.
func New(f pasto.Objective, arms int, o Options) (*Learner, error) {
	if err := pasto.CheckProblem(f, arms); err != nil {
		return nil, err
	}
	if err := o.validate(arms); err != nil {
		return nil, err
	}
	o.Caps = slices.Clone(o.Caps)
	l := &Learner{objective: f, options: o}
	l.goals, _ = f.(*pasto.Goals)
	if l.goals != nil && l.goals.HasHard() {
		l.hard = l.goals
	}
	l.describe()
	l.s = newState(arms, f.Dim(), o.Control)
	l.workspace()
	l.solve()
	l.mix()
	l.text = fmt.Sprintf("confident(metrics=%d, %+v)", f.Dim(), o)
	return l, nil
}

// describe takes what there is to know about the metrics from the objective.
func (l *Learner) describe() {
	m := l.objective.Dim()
	l.sign, l.caution, l.width = make([]float64, m), make([]float64, m), make([]float64, m)
	l.low, l.high = make([]float64, m), make([]float64, m)
	l.relative, l.ignored = make([]bool, m), make([]bool, m)
	for i := range m {
		l.sign[i], l.caution[i] = 1, l.options.Caution
		l.low[i], l.high[i] = math.Inf(-1), math.Inf(1)
		if d, ok := l.objective.(pasto.Directed); ok {
			l.sign[i] = d.Sign(i)
		}
		if b, ok := l.objective.(pasto.Ranged); ok {
			if l.low[i], l.high[i] = b.Range(i); !math.IsInf(l.high[i]-l.low[i], 1) {
				l.width[i] = l.high[i] - l.low[i]
			}
		}
		if l.goals == nil {
			continue
		}
		x := &l.goals.Metrics()[i]
		l.ignored[i] = x.Role == pasto.Report
		l.width[i] = x.Upper - x.Lower
		l.relative[i] = x.Relative && l.options.Control >= 0
		if x.Hard {
			l.caution[i] = l.options.HardCaution
			l.guards = append(l.guards, i)
		}
	}
	l.checker.Raw = slices.Contains(l.relative, true)
}

// workspace makes room for as many arms as the state has.
func (l *Learner) workspace() {
	arms, m := len(l.s.Active), l.objective.Dim()
	l.plan.reset(l.objective, arms, slices.Contains(l.relative, true))
	l.round.slot, l.noise.before = make([]int, arms), make([]int, arms)
	l.noise.sum, l.noise.own = make([]float64, m), make([]float64, m)
	l.extra = make([]float64, arms)
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
	before, few := s.Unobserved, s.Underobserved
	l.learn(obs)
	changed := l.changed()
	if s.T++; changed {
		s.Began = s.T
	}
	if s.Unobserved == 0 {
		s.AllObserved = true
	}
	solve := changed || s.T >= s.Next || before > 0 && s.Unobserved == 0
	for a := range l.round.arms {
		k := l.round.arms[a].arm
		solve = solve || s.Stats.Count[k] >= 2*s.Solved[k] && s.Solved[k] >= 1
	}
	mix := solve || s.Unobserved != before || s.Underobserved != few
	if solve || mix && l.promised() {
		s.Next = max(s.Began+int(float64(s.T-s.Began)*epochRatio), s.T+1)
		l.solve()
	}
	if mix {
		l.mix()
	}
	return nil
}

// learn adds the observations of a round to the statistics.
func (l *Learner) learn(obs []pasto.Observation) {
	s := &l.s
	l.round.collect(&s.Stats, obs)
	s.Noise.addRound(&s.Stats, obs, &l.round, &l.noise)
	s.Joint.addRound(&l.round, l.noise.sum)
	if s.First == 0 {
		for a := range l.round.arms {
			s.First += l.round.arms[a].size
		}
	}
	l.round.adjust(&s.Stats, s.Noise.AcrossOf > 0, l.effectsShown())
	for a := range l.round.arms {
		x := &l.round.arms[a]
		s.count(x.arm, -1)
		s.Stats.addRound(x)
		s.count(x.arm, 1)
		s.Changes.Seen[x.arm] = float64(s.T)
		if x.tested = x.weight > 0; x.tested {
			s.Changes.add(x)
		}
	}
}

// effectsShown reports whether some metric surely has effects of rounds.
func (l *Learner) effectsShown() bool {
	for i, ignored := range l.ignored {
		if !ignored && l.metricShown(i) {
			return true
		}
	}
	return false
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
	l.solve()
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
	s.count(k, -1)
	for _, p := range [][]float64{s.Up, s.Down, s.Safe} {
		round.Drop(p, k, s.Active)
	}
	l.solve()
	l.mix()
	return nil
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, l.text+stateFormat+round.Identity(l.objective), &l.s)
}

// UnmarshalBinary implements [pasto.Learner]. Snapshots of the states before format 6 are refused:
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
	l.plan.err, l.plan.slack = nil, l.plan.slack[:0]
	l.workspace()
	l.sampler.Reset()
	return nil
}

// oldState matches the format of the state in snapshots of earlier versions of the learner.
var oldState = regexp.MustCompile(`, state [1-5]: |HardCaution:[^ ]+ Explore:`)

// checkFormat returns an error that names the format if data are a snapshot of an earlier one, and
// err otherwise.
func checkFormat(data []byte, err error) error {
	if oldState.Match(data) {
		return snapshot.Bad(
			"a format before state 6: the default learner keeps other statistics since, learn "+
				"anew (%w)", err)
	}
	return err
}
