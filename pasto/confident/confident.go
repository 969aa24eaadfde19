package confident

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/round"
	"github.com/noregret/noregret/pasto/optimum"
)

// Hold says which mixture the hard guardrails are a promise about.
type Hold int

const (
	// Served promises them for what is served in every round, where there is a control arm; the
	// zero value.
	Served Hold = iota
	// Deployed promises them for [Learner.Deployed] only, so that what is served may explore
	// freely.
	Deployed
)

// Exploration is the budget for learning.
type Exploration struct {
	// Share is the largest share of the optimistic mixture in the serving mixture, from 0 to 1.
	Share float64
	// Decay scales how long it keeps that share, min(Share, Decay/t^⅓) in round t.
	Decay float64
	// Optimism z is how many standard errors estimates move up for the optimistic mixture in the
	// first 100 rounds. It grows by a sixteenth of itself in each power of ten after them.
	Optimism float64
}

// Options are the parameters of [New]. Start from [DefaultOptions]; in each of them 0 means none,
// except that Control 0 is the first arm.
type Options struct {
	// Control is the index of the arm that relative guardrails compare with and that is safe to
	// serve, −1 where there is none. A learner with a control arm takes the raw values of every arm
	// as observations, without [pasto.Observation.Control].
	Control int
	// Share is the least share of the control arm in what is served, from 0 to 1.
	Share float64
	// Alpha is the probability with which what is served may break a hard guardrail in any of the
	// rounds, in (0, 1), where there is a control arm.
	Alpha float64
	// Hold says whether hard guardrails are promised for what is served, or for Deployed only.
	Hold Hold
	// Exploration is the budget for learning.
	Exploration Exploration
	// Caps are the largest shares of the arms in what is served and deployed, by arm, each from 0
	// to 1; nil for none, and none for arms that are added later.
	Caps []float64
	// Caution c is how many standard errors estimates move down for the cautious mixture, and
	// HardCaution replaces it for hard guardrails.
	Caution, HardCaution float64
	// Shrink scales the price of uncertainty in a mixture to deploy: Shrink·Σ_k p_k²·Σ_i λ_i·se_ki²
	// is subtracted, which for Shrink = 1 is the average growth of a guardrail's squared penalty
	// λ_i, beyond the threshold, when the arms' means miss by their standard errors. It spreads the
	// mixture while little is known, and vanishes as 1/n. For one arm it is at most the range of f
	// over the arms' estimates. For a [pasto.Utility] λ is Smooth/2. Objectives with a hard
	// guardrail have their caution instead.
	Shrink float64
	// Floor is a lower bound on the share ε_t that is spread over all arms, 0.1/√(t+10) otherwise.
	// A floor finds arms that were bad and became good unobserved, at its cost in what is served;
	// Deployed is without it.
	Floor float64
	// ChangeThreshold is the number of standard errors at which an arm's metrics count as changed;
	// 0 looks for no changes.
	ChangeThreshold float64
	// IID makes Draw sample arms independently instead of systematically.
	IID bool
}

// DefaultOptions are the measured defaults (docs/pasto.md), which the name "default" stands for.
func DefaultOptions() Options {
	return Options{
		Control: -1, Alpha: 0.05, Exploration: Exploration{Share: 0.5, Decay: 5, Optimism: 2},
		Caution: 0.5, HardCaution: 2, Shrink: 2, ChangeThreshold: 6,
	}
}

// validate returns an error if an option is out of range for a learner of so many arms.
func (o *Options) validate(arms int) error {
	if reflect.ValueOf(*o).IsZero() {
		return noregret.BadInputf("options", "the zero value neither explores nor is cautious: start from "+
			"DefaultOptions")
	}
	for _, v := range []struct {
		name string
		v    float64
	}{
		{"exploration decay", o.Exploration.Decay},
		{"exploration optimism", o.Exploration.Optimism},
		{"caution", o.Caution},
		{"hard caution", o.HardCaution},
		{"shrink", o.Shrink},
		{"change threshold", o.ChangeThreshold},
	} {
		if !(v.v >= 0) || !vec.IsFinite(v.v) {
			return noregret.BadInputf(v.name, "%v: want a finite number, at least 0", v.v)
		}
	}
	for _, v := range []struct {
		name string
		v    float64
	}{{"floor", o.Floor}, {"exploration share", o.Exploration.Share}, {"share", o.Share}} {
		if !(v.v >= 0 && v.v <= 1) {
			return noregret.BadInputf(v.name, "%v: want a share from 0 to 1", v.v)
		}
	}
	switch {
	case o.Hold != Served && o.Hold != Deployed:
		return noregret.BadInputf("hold", "%d: want Served or Deployed", int(o.Hold))
	case o.Control < -1 || o.Control >= arms:
		return noregret.BadInputf("control", "%d: want an arm from 0 to %d, or -1 for none", o.Control, arms-1)
	case o.Control < 0 && o.Share > 0:
		return noregret.BadInputf("share", "%v of a control arm, and there is none: name it by Control", o.Share)
	case o.Control >= 0 && !(o.Alpha > 0 && o.Alpha < 1):
		return noregret.BadInputf("alpha", "%v: want a probability above 0 and below 1", o.Alpha)
	}
	return o.validateCaps(arms)
}

// validateCaps returns an error if the caps are not shares that leave room for a mixture.
func (o *Options) validateCaps(arms int) error {
	if o.Caps == nil {
		return nil
	}
	if len(o.Caps) != arms {
		return noregret.BadInputf("caps", "%d for %d arms: want one for each arm, or none", len(o.Caps), arms)
	}
	sum := 0.0
	for k, c := range o.Caps {
		if !(c >= 0 && c <= 1) {
			return noregret.BadInputf(fmt.Sprintf("caps[%d]", k), "%v: want a share from 0 to 1", c)
		}
		sum += c
	}
	if !(sum >= 1) {
		return noregret.BadInputf("caps", "they sum to %v: want 1 or more", sum)
	}
	return nil
}

// Learner is the learner of the name "default". It keeps each arm's mean V̂_k and standard error
// s_k/√n_k and solves two exact problems by [optimum.Maximize]'s method, in rounds that grow by 5 %
// and whenever the observations of an arm have doubled:
//
//	optimistic p⁺ = argmax f((V̂ + z·se)·p),
//	cautious p⁻ = argmax f((V̂ − c·se)·p) − s·Σ_k p_k²·Σ_i λ_i·se_ki²,
//
// every metric moved in its good direction. It serves (1−ε_t)·(α_t·p⁺ + (1−α_t)·p⁻) + ε_t/K with
// α_t = min(½, 5·t^−⅓), once all arms are known a little, and deploys p⁻. There is no step size and
// no importance weight: the first is what makes Algorithm 1 slow, the second what makes it
// unstable; so there is no mirror step either, and nothing here is built on oco. Optimism brings
// data to the arms that could matter, so that no arm freezes on a bad first sample, and caution
// keeps an arm that was lucky in few samples from being deployed (the winner's curse). The result
// does not depend on the units of the metrics.
//
// Unobserved arms receive all traffic at first and their proportional share later. Of the rest,
// arms of one or two groups receive half of their proportional share: nearly half of all while that
// is every arm, and nothing once each has three. An arm's scatter may differ from the others':
// optimism goes by an arm's own scatter where that is far above the pooled, and the pooled counts
// for no more than a multiple of an arm's own where that has some groups. An arm that is useless
// and some hundred times as noisy as the others still misleads optimism for thousands of rounds.
//
// Groups of one round are not taken to be independent: an observation is û = μ_k + u_t + e, with a
// part u_t that all groups of round t have in common, of the same size for every arm. Such are
// shocks of the day, and the noise of a control group that the round's groups share
// ([pasto.Metric.Relative], or contrasts that the host forms). Its variance τ² is estimated for
// each metric from the products of deviations of two groups of a round, and a mean's squared
// standard error is σ²/n + τ²·Σ_t n_t²/n², for n_t of n groups in round t: what is in common does
// not average out within a round. Rounds are taken to be independent, and e too; shocks that hit
// arms differently are a part of e where an arm has one group in a round, and are missed where it
// has many. Where each round has one group, τ² is separated from σ² by their sizes, σ²/size + τ²
// being what a group misses the mean by, and where these are alike by what groups of one arm and
// round differ by, if there are any; if not the two need not be told apart.
//
// Changes are found by comparing, for each arm and metric, a recent block of rounds, and the last
// 16, with those before them, after each 16 rounds that served the arm; blocks are of 32, 64, ...
// such rounds, up to half of all, and begin again. They are found over all arms too, where 24
// rounds or so in a row are off in the same direction, as a jump of all arms may send the traffic
// to one that has no past to compare with. A difference of 6 standard errors, and as much more as a
// skewed or long-tailed metric needs, begins all arms anew, as nobody knows which have changed and
// since when: each is served again first, and until then its old mean counts for one group. The
// estimate of the noise stays (100 degrees of freedom of it). Metrics that are only watched
// ([pasto.Report]) begin nothing anew. A season that all arms have in common, of a hundred rounds
// or more and as large as the noise of a group, counts as change after change: contrasts with a
// control group have none, and ChangeThreshold = 0 looks for no changes.
//
// Hard guardrails are constraints of both problems, with a caution of their own, larger, so that
// what is deployed seldom breaks them (see the package comment); soft ones beside them keep their
// penalty. While little is known of τ² and it matters, the caution is the quantile of Student's t,
// and while nothing is what is deployed stays as it is. Where no mixture holds them with all that
// caution, p⁻ takes as much of it as there is room for, to a 64th, and where none holds them by the
// estimates it is that of least violation; [Learner.Infeasible] tells whether they can be held at
// all. After a change p⁻ stays until each arm has three groups again and a mixture holds them with
// all that caution, unless the estimates say that it no longer holds them; and once each arm has
// three groups, unless what there is room for is surely better. What is served to learn is under no
// such promise.
//
// Arms never served come first. Variances are those of groups of size 1; those of an arm are mixed
// with the pooled ones of the metric, worth 8 groups, and more where the arm's own are smaller and
// the metric has rare events: an arm that has had none yet is not taken to have no noise. Estimates
// that are moved stay in the metrics' ranges.
//
// A round costs O(Q·(M + log K)), and O(K) more where an arm was served for the first or the third
// time, a round with a solution O(K·M) for each arm that enters, one with a change O(K·M); memory
// is nine tables of K·M numbers (7.2 GB for a million arms and 100 metrics), and seven more once a
// change was found. A solution takes at most 400 passes over the arms; where K·M is above 7.5
// million 3·10⁹/(K·M) or 30, whichever is more, and the next goes on from what it found. Observe
// allocates nothing once its buffers have grown.
type Learner struct {
	objective  pasto.Objective
	hard       *pasto.Goals // the objective, if it has hard guardrails
	options    Options
	sign       []float64 // of each metric's good direction
	s          state
	moved      *pasto.Table // V̂ ± se
	solver     *optimum.Solver
	usable     []bool
	ignored    []bool    // metrics that are only watched
	now        []float64 // size of each arm in the running round; 0 between rounds
	before     []int     // of each arm, 1 + the index of its last group in the running round; 0 between rounds
	sum, own   []float64 // of the round's deviations, and of their squares
	innovation []float64 // of the round: Σ of the groups' deviations from their arms' means, in standard deviations
	part       []float64 // of the round: of what is in common in that
	groups     []float64 // of the round: the number of groups in that
	p          []float64 // serving
	caution    []float64 // of each metric
	low, high  []float64 // range of each metric
	curve      []float64 // λ of each metric
	taus       []float64 // of a solution: τ² of each metric
	squared    []float64 // of a solution: K·M squared standard errors
	ridge      []float64
	down, up   []float64 // p⁻ and p⁺ before a solution
	worse      []float64 // of surelyBetter
	better     []float64
	sampler    round.Sampler
	text       string
	checker    round.Checker
	undo       undo
	work       struct { // of hard guardrails
		optimum.HardSolver
		arms []int
		part pasto.Table
	}
}

const (
	epochRatio  = 1.05
	poolWeight  = 8
	fewGroups   = 3   // of which an arm's scatter is not told yet
	firstBlock  = 16  // rounds of a segment: after each there is a test for a change
	keptFreedom = 100 // of the noise after a change
	// A solution takes at most solverSteps passes over all arms, and of large problems so many that
	// mostNumbers are looked at, or fewestSteps; the next goes on from what it found.
	solverSteps = 400
	mostNumbers = 3_000_000_000
	fewestSteps = 30

	stateFormat = ", state 5: " // of snapshots
)

// New makes the default learner on K arms.
func New(f pasto.Objective, arms int, o Options) (*Learner, error) {
	if err := pasto.CheckProblem(f, arms); err != nil {
		return nil, err
	}
	var hard *pasto.Goals
	if g, ok := f.(*pasto.Goals); ok && g.HasHard() {
		hard = g
	}
	if err := o.validate(arms); err != nil {
		return nil, err
	}
	if o.Control >= 0 || o.Hold != Served || o.Caps != nil {
		return nil, noregret.BadInputf("options", "Control, Hold and Caps are not supported yet: leave them out")
	}
	l := &Learner{objective: f, options: o, hard: hard}
	m := f.Dim()
	l.s = newState(arms, m)
	l.sign, l.caution = make([]float64, m), make([]float64, m)
	for i := range l.sign {
		l.sign[i], l.caution[i] = 1, o.Caution
		if hard != nil && hard.Metrics()[i].Hard {
			l.caution[i] = o.HardCaution
		}
		if d, ok := f.(pasto.Directed); ok {
			l.sign[i] = d.Sign(i)
		}
	}
	l.workspace()
	l.mix()
	l.text = fmt.Sprintf("confident(metrics=%d, {Optimism:%v Caution:%v HardCaution:%v Explore:%v Shrink:%v Floor:%v "+
		"Alarm:%v IID:%v})", m, o.Exploration.Optimism, o.Caution, o.HardCaution, o.Exploration.Decay, o.Shrink,
		o.Floor,
		o.ChangeThreshold, o.IID)
	if o.Exploration.Share != 0.5 {
		l.text += fmt.Sprintf(" exploration share %v", o.Exploration.Share)
	}
	return l, nil
}

func (l *Learner) workspace() {
	arms := len(l.s.Size)
	l.moved = round.NewTable(arms, l.objective.Dim())
	l.solver = optimum.NewSolver(l.objective, l.moved)
	l.usable = make([]bool, arms)
	l.before = make([]int, arms)
	l.ridge, l.now = make([]float64, arms), make([]float64, arms)
	l.sum, l.own = make([]float64, l.objective.Dim()), make([]float64, l.objective.Dim())
	l.innovation, l.part, l.groups = make([]float64, l.objective.Dim()), make([]float64, l.objective.Dim()),
		make([]float64, l.objective.Dim())
	l.taus, l.squared = make([]float64, l.objective.Dim()), make([]float64, arms*l.objective.Dim())
	l.ignored = make([]bool, l.objective.Dim())
	if g, ok := l.objective.(*pasto.Goals); ok {
		for i := range l.ignored {
			l.ignored[i] = g.Metrics()[i].Role == pasto.Report
		}
	}
	l.worse, l.better = make([]float64, l.objective.Dim()), make([]float64, l.objective.Dim())
	l.curve = make([]float64, l.objective.Dim())
	l.low, l.high = make([]float64, l.objective.Dim()), make([]float64, l.objective.Dim())
	for i := range l.curve {
		l.curve[i] = pasto.Curvature(l.objective, i)
		l.low[i], l.high[i] = math.Inf(-1), math.Inf(1)
		if b, ok := l.objective.(pasto.Ranged); ok {
			l.low[i], l.high[i] = b.Range(i)
		}
	}
	l.p = make([]float64, arms)
}

// Arms implements [pasto.Learner].
func (l *Learner) Arms() int { return len(l.s.Size) }

// Rounds implements [pasto.Learner].
func (l *Learner) Rounds() int { return l.s.T }

// Changes is the number of changes found so far.
func (l *Learner) Changes() int { return l.s.Changes }

// Serving implements [pasto.Learner].
func (l *Learner) Serving() []float64 { return l.p }

// Deployed implements [pasto.Learner]: the cautious mixture p⁻.
func (l *Learner) Deployed() []float64 { return l.s.Down }

// Draw implements [pasto.Learner].
func (l *Learner) Draw(r pasto.Rand, arms []int) {
	scheme := pasto.Systematic
	if l.options.IID {
		scheme = pasto.IID
	}
	l.sampler.Draw(r, l.p, arms, scheme)
}

// Observe implements [pasto.Learner]. A gradient that is not finite, of a [pasto.Utility] or by
// overflow, is an error too.
func (l *Learner) Observe(obs []pasto.Observation) error {
	obs, _, err := l.checker.Check(l.objective, obs, l.s.T+1, l.p, l.s.Active)
	if err != nil {
		return err
	}
	l.mark(obs)
	before, few := l.s.Unobserved, l.s.Underobserved
	l.addBetweenGroups(obs)
	l.addWithinArm(obs)
	for i := range obs {
		l.addObservation(&obs[i])
	}
	changed := l.changed(obs)
	l.s.T++
	l.s.Clock++
	if changed {
		l.s.Changes++
		l.s.Clock, l.s.Next = 0, 0
		l.markAll()
		l.reset()
	}
	if l.s.Unobserved == 0 {
		l.s.AllObserved = true
	}
	solve := l.s.Clock >= l.s.Next || before > 0 && l.s.Unobserved == 0
	for i := range obs {
		if k := obs[i].Arm; l.s.Count[k] >= 2*l.s.Solved[k] && l.s.Solved[k] >= 1 {
			solve = true
		}
	}
	if solve {
		l.s.Next = max(int(float64(l.s.Clock)*epochRatio), l.s.Clock+1)
		if err := l.resolve(); err != nil {
			l.revert(obs)
			return err
		}
	}
	if solve || l.s.Unobserved != before || l.s.Underobserved != few {
		l.s.Mixed = l.s.Clock
		l.mix()
	}
	return nil
}

// AddArm implements [pasto.Roster]: the arm is served for the first time within about K/Q rounds.
// There is no error.
func (l *Learner) AddArm() (int, error) {
	s := &l.s
	s.grow(l.objective.Dim())
	s.Clock, s.Next = min(s.Clock, 1000), 0 // solve soon, and more often
	s.Mixed = s.Clock
	l.workspace()
	l.mix()
	return len(s.Size) - 1, nil
}

// RetireArm implements [pasto.Roster].
func (l *Learner) RetireArm(k int) error {
	s := &l.s
	if err := round.CheckRetire(k, s.Active); err != nil {
		return err
	}
	s.Active[k] = false
	s.Live--
	fresh, few := s.Unobserved, s.Underobserved
	s.count(k, -1)
	up, down := slices.Clone(s.Up), slices.Clone(s.Down)
	round.Drop(s.Up, k, s.Active)
	round.Drop(s.Down, k, s.Active)
	if err := l.resolve(); err != nil {
		s.Active[k], s.Up, s.Down = true, up, down
		s.Live++
		s.Unobserved, s.Underobserved = fresh, few
		return err
	}
	l.mix()
	return nil
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, l.text+stateFormat+round.Identity(l.objective), &l.s)
}

// UnmarshalBinary implements [pasto.Learner].
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, round.SnapshotMagic, l.text+stateFormat+round.Identity(l.objective), &s); err != nil {
		return err
	}
	if n, m := len(s.Size), l.objective.Dim(); !s.fits(n, m) {
		return snapshot.Bad("damaged: its parts do not fit %d arms and %d metrics, or each other", n, m)
	}
	l.s = s
	l.workspace()
	l.mix()
	return nil
}
