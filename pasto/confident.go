package pasto

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/internal/snapshot"
)

// ConfidentOptions are the parameters of [NewConfident]; the zero value is what was measured and
// what the name "default" stands for.
type ConfidentOptions struct {
	// In each option 0 means the default, and negative none where that makes sense.
	//
	// Optimism z and Caution c are in standard errors; 0 means 2 and 0.5, negative none.
	// HardCaution is the c of hard guardrails, 0 means 2, negative none. z is that of the first 100
	// rounds, and grows by a sixteenth of itself in each power of ten after them.
	Optimism, Caution, HardCaution float64
	// Explore is the share of the optimistic mixture in what is served, min(½, Explore/t^⅓); 0
	// means 5, negative none.
	Explore float64
	// Shrink prices what is not known about a mixture to deploy, 0 means 2, negative not at all:
	// Shrink·Σ_k p_k²·Σ_i λ_i·se_ki² is taken off, which is what a guardrail's squared penalty λ_i
	// grows by on average when the arms' means miss by their standard errors (for Shrink = 1,
	// beyond the threshold). It spreads the mixture while little is known, and vanishes as 1/n; of
	// one arm it is at most the range of f over the arms' estimates. For a [Utility] λ is Smooth/2.
	// Objectives with a hard guardrail have their caution instead.
	Shrink float64
	// Floor is a lower bound on the share ε_t spread over all arms, 0.1/√(t+10) otherwise. Above 0
	// it finds arms that were bad and became good while nobody looked, at its cost in what is
	// served; Deployed is without it.
	Floor float64
	// Alarm is the number of standard errors at which an arm's metrics count as changed; 0 means 6,
	// negative none.
	Alarm float64
	// Scheme is how Draw draws; Systematic unless IID is set.
	IID bool
}

// Confident is the learner of the name "default". It keeps each arm's mean V̂_k and standard error
// s_k/√n_k and solves two exact problems by [Maximize]'s method, in rounds that grow by 5 % and
// whenever the observations of an arm have doubled:
//
//	optimistic p⁺ = argmax f((V̂ + z·se)·p),
//	cautious p⁻ = argmax f((V̂ − c·se)·p) − s·Σ_k p_k²·Σ_i λ_i·se_ki²,
//
// every metric moved in its good direction. It serves (1−ε_t)·(α_t·p⁺ + (1−α_t)·p⁻) + ε_t/K with
// α_t = min(½, 5·t^−⅓), once all arms are known a little, and deploys p⁻. There is no step size and
// no importance weight: the first is what makes Algorithm 1 slow, the second what makes it unstable
// (spec 9.2); so there is no mirror step either, and nothing here is built on oco. Optimism brings
// data to the arms that could matter, so that no arm freezes on a bad first sample, and caution
// keeps an arm that was lucky in few samples from being deployed (the winner's curse). The result
// does not depend on the units of the metrics.
//
// Of what is served arms without a group have all at first, and later their number's share; of the
// rest those of one or two groups have half of their number's share: nearly half of all while that
// is every arm, and none once each has three. An arm's scatter may differ from the others':
// optimism goes by an arm's own scatter where that is far above the pooled, and the pooled counts
// for no more than so many times an arm's own where that has some groups. An arm that is useless
// and some hundred times as noisy as the others still misleads optimism for thousands of rounds.
//
// Groups of one round are not taken to be independent: an observation is û = μ_k + u_t + e, with a
// part u_t that all groups of round t have in common, of the same size for every arm. Such are
// shocks of the day, and the noise of a control group that the round's groups share
// ([Metric.Relative], or contrasts that the host forms). Its variance τ² is estimated for each
// metric from the products of deviations of two groups of a round, and a mean's squared standard
// error is σ²/n + τ²·Σ_t n_t²/n², for n_t of n groups in round t: what is in common does not
// average out within a round. Rounds are taken to be independent, and e too; shocks that hit arms
// differently are a part of e where an arm has one group in a round, and are missed where it has
// many. Where each round has one group τ² is told from σ² by their sizes, σ²/size + τ² being what a
// group misses the mean by, and where these are alike by what groups of one arm and round differ
// by, if there are any; if not the two need not be told apart.
//
// Changes are found by comparing, for each arm and metric, a recent block of rounds, and the last
// 16, with those before them, after each 16 rounds that served the arm; blocks are of 32, 64, ...
// such rounds, up to half of all, and begin again. They are found over all arms too, where 24
// rounds or so in a row are off in the same direction, as a jump of all arms may send the traffic
// to one that has no past to compare with. A difference of 6 standard errors, and as much more as a
// skewed or long-tailed metric needs, begins all arms anew, as nobody knows which have changed and
// since when: each is served again first, and until then its old mean counts for one group. What is
// known of the noise stays (100 degrees of freedom of it). Metrics that are only watched ([Report])
// begin nothing anew. A season that all arms have in common, of a hundred rounds or more and as
// large as the noise of a group, counts as change after change: contrasts with a control group have
// none, and Alarm < 0 looks for no changes.
//
// Hard guardrails are constraints of both problems, with a caution of their own, larger, so that
// what is deployed seldom breaks them (see the package comment); soft ones beside them keep their
// penalty. While little is known of τ² and it matters, the caution is the quantile of Student's t,
// and while nothing is what is deployed stays as it is. Where no mixture holds them with all that
// caution, p⁻ takes as much of it as there is room for, to a 64th, and where none holds them by the
// estimates it is that of least violation; [Confident.Infeasible] tells whether they can be held at
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
type Confident struct {
	objective Objective
	hard      *Goals // the objective, if it has hard guardrails
	options   ConfidentOptions
	sign      []float64 // of each metric's good direction
	s         confidentState
	moved     *Table // V̂ ± se
	solver    *solver
	usable    []bool
	ignored   []bool    // metrics that are only watched
	now       []float64 // size of each arm in the running round; 0 between rounds
	before    []int     // of each arm, 1 + the index of its last group in the running round; 0 between rounds
	sum, own  []float64 // of the round's deviations, and of their squares
	missed    []float64 // of the round: Σ of what groups miss their arms' means by, in standard deviations
	part      []float64 // of the round: of what is in common in that
	groups    []float64 // of the round: the number of groups in that
	p         []float64 // serving
	caution   []float64 // of each metric
	low, high []float64 // range of each metric
	curve     []float64 // λ of each metric
	taus      []float64 // of a solution: τ² of each metric
	squared   []float64 // of a solution: K·M squared standard errors
	ridge     []float64
	down, up  []float64 // p⁻ and p⁺ before a solution
	worse     []float64 // of surelyBetter
	better    []float64
	sampler   sampler
	text      string
	intake    intake
	undo      confidentUndo
	work      struct { // of hard guardrails
		decomposition
		arms []int
		part Table
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

	confidentFormat = ", state 5: " // of snapshots
)

// Directed is an objective that knows each metric's good direction: +1 or −1. Without it every
// metric is taken to be better when larger.
type Directed interface{ Sign(metric int) float64 }

// Sign implements [Directed].
func (g *Goals) Sign(metric int) float64 { return g.metrics[metric].Direction.sign() }

// NewConfident makes the default learner on K arms.
func NewConfident(f Objective, arms int, o ConfidentOptions) (*Confident, error) {
	if err := checkProblem(f, arms); err != nil {
		return nil, err
	}
	var hard *Goals
	if g, ok := f.(*Goals); ok && g.HasHard() {
		hard = g
	}
	for _, v := range []struct {
		name string
		v    *float64
		def  float64
	}{
		{"optimism", &o.Optimism, 2},
		{"caution", &o.Caution, 0.5},
		{"hard caution", &o.HardCaution, 2},
		{"explore", &o.Explore, 5},
	} {
		if *v.v == 0 {
			*v.v = v.def
		}
		if !finite(*v.v) {
			return nil, noregret.BadInputf(v.name, "%v: want a finite number; 0 is the default of %v, negative none",
				*v.v, v.def)
		}
	}
	if o.Shrink == 0 {
		o.Shrink = 2
	}
	if !finite(o.Shrink) {
		return nil, noregret.BadInputf("shrink", "%v: want a finite number", o.Shrink)
	}
	if o.Alarm == 0 {
		o.Alarm = 6
	}
	if !finite(o.Alarm) {
		return nil, noregret.BadInputf("alarm", "%v: want a finite number", o.Alarm)
	}
	if !(o.Floor >= 0 && o.Floor <= 1) {
		return nil, noregret.BadInputf("floor", "%v: want a share from 0 to 1", o.Floor)
	}
	l := &Confident{objective: f, options: o, hard: hard}
	m := f.Dim()
	l.s = newConfidentState(arms, m)
	l.sign, l.caution = make([]float64, m), make([]float64, m)
	for i := range l.sign {
		l.sign[i], l.caution[i] = 1, max(o.Caution, 0)
		if hard != nil && hard.metrics[i].Hard {
			l.caution[i] = max(o.HardCaution, 0)
		}
		if d, ok := f.(Directed); ok {
			l.sign[i] = d.Sign(i)
		}
	}
	l.workspace()
	l.mix()
	l.text = fmt.Sprintf("confident(metrics=%d, %+v)", m, o)
	return l, nil
}

func (l *Confident) workspace() {
	arms := len(l.s.Size)
	l.moved = newTable(arms, l.objective.Dim())
	l.solver = newSolver(l.objective, l.moved)
	l.usable = make([]bool, arms)
	l.before = make([]int, arms)
	l.ridge, l.now = make([]float64, arms), make([]float64, arms)
	l.sum, l.own = make([]float64, l.objective.Dim()), make([]float64, l.objective.Dim())
	l.missed, l.part, l.groups = make([]float64, l.objective.Dim()), make([]float64, l.objective.Dim()),
		make([]float64, l.objective.Dim())
	l.taus, l.squared = make([]float64, l.objective.Dim()), make([]float64, arms*l.objective.Dim())
	l.ignored = make([]bool, l.objective.Dim())
	if g, ok := l.objective.(*Goals); ok {
		for i := range l.ignored {
			l.ignored[i] = g.metrics[i].Role == Report
		}
	}
	l.worse, l.better = make([]float64, l.objective.Dim()), make([]float64, l.objective.Dim())
	l.curve = make([]float64, l.objective.Dim())
	l.low, l.high = make([]float64, l.objective.Dim()), make([]float64, l.objective.Dim())
	for i := range l.curve {
		l.curve[i] = curvature(l.objective, i)
		l.low[i], l.high[i] = math.Inf(-1), math.Inf(1)
		if b, ok := l.objective.(bounded); ok {
			l.low[i], l.high[i] = b.bounds(i)
		}
	}
	l.p = make([]float64, arms)
}

// Arms implements [Learner].
func (l *Confident) Arms() int { return len(l.s.Size) }

// Rounds implements [Learner].
func (l *Confident) Rounds() int { return l.s.T }

// Changes is the number of changes found so far.
func (l *Confident) Changes() int { return l.s.Changes }

// Serving implements [Learner].
func (l *Confident) Serving() []float64 { return l.p }

// Deployed implements [Learner]: the cautious mixture p⁻.
func (l *Confident) Deployed() []float64 { return l.s.Down }

// Draw implements [Learner].
func (l *Confident) Draw(r Rand, arms []int) {
	scheme := Systematic
	if l.options.IID {
		scheme = IID
	}
	l.sampler.draw(r, l.p, arms, scheme)
}

// Observe implements [Learner]. A gradient that is not finite, of a [Utility] or by overflow, is an
// error too.
func (l *Confident) Observe(obs []Observation) error {
	obs, _, err := l.intake.take(l.objective, obs, l.s.T+1, l.p, l.s.Active)
	if err != nil {
		return err
	}
	l.mark(obs)
	before, few := l.s.Fresh, l.s.Few
	l.common(obs)
	l.inner(obs)
	for i := range obs {
		l.take(&obs[i])
	}
	changed := l.changed(obs)
	l.s.T++
	l.s.Clock++
	if changed {
		l.s.Changes++
		l.s.Clock, l.s.Next = 0, 0
		l.markAll()
		l.forget()
	}
	if l.s.Fresh == 0 {
		l.s.Warm = true
	}
	solve := l.s.Clock >= l.s.Next || before > 0 && l.s.Fresh == 0
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
	if solve || l.s.Fresh != before || l.s.Few != few {
		l.s.Mixed = l.s.Clock
		l.mix()
	}
	return nil
}

// AddArm implements [Roster]: the arm is served for the first time within about K/Q rounds. There
// is no error.
func (l *Confident) AddArm() (int, error) {
	s := &l.s
	s.grow(l.objective.Dim())
	s.Clock, s.Next = min(s.Clock, 1000), 0 // solve soon, and more often
	s.Mixed = s.Clock
	l.workspace()
	l.mix()
	return len(s.Size) - 1, nil
}

// RetireArm implements [Roster].
func (l *Confident) RetireArm(k int) error {
	s := &l.s
	if err := retirable(k, s.Active); err != nil {
		return err
	}
	s.Active[k] = false
	s.Live--
	fresh, few := s.Fresh, s.Few
	s.count(k, -1)
	up, down := slices.Clone(s.Up), slices.Clone(s.Down)
	drop(s.Up, k, s.Active)
	drop(s.Down, k, s.Active)
	if err := l.resolve(); err != nil {
		s.Active[k], s.Up, s.Down = true, up, down
		s.Live++
		s.Fresh, s.Few = fresh, few
		return err
	}
	l.mix()
	return nil
}

// Estimate returns V̂ and the standard errors. An arm never served has 0 and +Inf. Errors are +Inf
// too of arms not served since the last change, and while nothing is known of what they depend on:
// of the noise, or of the effects that groups of a round have in common where an arm had several in
// a round; that takes a second round.
func (l *Confident) Estimate() (means, errors *Table) {
	m := l.objective.Dim()
	means, errors = newTable(l.Arms(), m), newTable(l.Arms(), m)
	copy(means.data, l.s.Mean)
	for k := range l.s.Size {
		for i := range m {
			errors.Arm(k)[i] = math.Inf(1)
			if l.s.Rounds[k] > 0 && (l.tauFreedom() > 0 || !l.shares(k)) {
				errors.Arm(k)[i] = l.standardError(k, i)
			}
		}
	}
	return means, errors
}

// String describes the learner and its options in one line.
func (l *Confident) String() string { return l.text }

// MarshalBinary implements [Learner].
func (l *Confident) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text+confidentFormat+identity(l.objective), &l.s)
}

// UnmarshalBinary implements [Learner].
func (l *Confident) UnmarshalBinary(data []byte) error {
	var s confidentState
	if err := snapshot.Open(data, snapshotMagic, l.text+confidentFormat+identity(l.objective), &s); err != nil {
		return err
	}
	if n, m := len(s.Size), l.objective.Dim(); !s.fits(n, m) {
		return snapshot.Bad("it is damaged: its parts do not fit %d arms and %d metrics, or each other", n, m)
	}
	l.s = s
	l.workspace()
	l.mix()
	return nil
}
