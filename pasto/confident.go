package pasto

import (
	"errors"
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// ConfidentOptions are the parameters of [NewConfident]; the zero value is what was measured and what the
// name "default" stands for.
type ConfidentOptions struct {
	// Optimism z and Caution c are in standard errors; 0 means 2 and 0.5.
	Optimism, Caution float64
	// Explore is the share of the optimistic mixture in what is served, min(½, Explore/t^⅓); 0 means 5.
	Explore float64
	// Floor is a lower bound on the share ε_t spread over all arms, 0.1/√(t+10) otherwise. Above 0 it finds
	// arms that were bad and became good while nobody looked, at its cost in what is served; Deployed is
	// without it.
	Floor float64
	// Alarm is the number of standard errors at which an arm's metrics count as changed; 0 means 6, negative
	// none.
	Alarm float64
	// Scheme is how Draw draws; Systematic unless IID is set.
	IID bool
}

// Confident is the learner of the name "default". It keeps each arm's mean V̂_k and standard error
// s_k/√n_k and solves two exact problems by [Maximize]'s method, in rounds that grow by 5 % and whenever the
// observations of an arm have doubled:
//
//	optimistic p⁺ = argmax f((V̂ + z·se)·p),   cautious p⁻ = argmax f((V̂ − c·se)·p),
//
// every metric moved in its good direction. It serves (1−ε_t)·(α_t·p⁺ + (1−α_t)·p⁻) + ε_t/K
// with α_t = min(½, 5·t^−⅓) and deploys p⁻. There is no step size and no importance weight: the
// first is what makes Algorithm 1 slow, the second what makes it unstable (spec 9.2). Optimism brings data
// to the arms that could matter, so that no arm freezes on a bad first sample, and caution keeps an arm
// that was lucky in few samples from being deployed (the winner's curse). The result does not depend on the
// units of the metrics.
//
// Changes are found by comparing, for each arm and metric, a recent block of observations with those before
// it; blocks are of 32, 64, ... up to half of all, and begin again. A difference of 6 standard errors
// starts the arm anew from the block, and lets every other arm's past count for one group.
//
// With a hard guardrail all guardrails are hard, and both problems are linear programs ([MaximizeHard]);
// where none is feasible the mixture of least violation takes its place. A Caution of 2 or 3 then deploys
// what holds the guardrails with confidence.
//
// Arms never served come first. Variances are those of groups of size 1; those of an arm are mixed with the
// pooled ones of the metric (worth 8 groups). A round costs O(Q·(M + log K)), a round with a solution
// O(K·M) for each arm that enters; memory is O(K·M).
type Confident struct {
	objective Objective
	hard      *Goals // the objective, if it has hard guardrails
	options   ConfidentOptions
	sign      []float64 // of each metric's good direction
	s         confidentState
	moved     *Table // V̂ ± se
	solver    *solver
	usable    []bool
	p         []float64 // serving
	sampler   sampler
	text      string
}

type confidentState struct {
	T        int
	Clock    int // rounds since the start or the last change
	Next     int // the value of Clock at which to solve again
	Mixed    int // the value of Clock when what is served was last computed
	Warm     bool
	Fresh    int // active arms never served
	Changes  int
	Live     int
	Active   []bool
	Size     []float64 // K: Σ size
	Count    []float64 // K: groups
	Mean     []float64 // K·M
	Squares  []float64 // K·M: Σ size·(û − mean)²
	NewSize  []float64 // K: of the recent block
	NewCount []int
	NewMean  []float64
	NewLimit []int     // the block's length
	Pool     []float64 // M: Σ over arms of Squares
	Solved   []float64 // K: Count at the last solution
	Freedom  float64   // Σ (Count − 1)
	Up, Down []float64 // p⁺ and p⁻
}

const (
	epochRatio  = 1.05
	poolWeight  = 8
	firstBlock  = 16  // groups between tests for a change
	keptFreedom = 100 // of the noise after a change
	solverSteps = 400
)

// Directed is an objective that knows each metric's good direction: +1 or −1. Without it every metric is
// taken to be better when larger.
type Directed interface{ Sign(metric int) float64 }

// Sign implements [Directed].
func (g *Goals) Sign(metric int) float64 { return g.metrics[metric].Direction.sign() }

// NewConfident makes the default learner on K arms.
func NewConfident(f Objective, arms int, o ConfidentOptions) (*Confident, error) {
	hard, err := hardGoals(f)
	if err != nil {
		return nil, err
	}
	if hard == nil {
		if err := checkObjective(f, arms); err != nil {
			return nil, err
		}
	}
	if arms < 1 {
		return nil, bad("arms", "%d: want at least 1", arms)
	}
	for _, v := range []struct {
		name string
		v    *float64
		def  float64
	}{{"optimism", &o.Optimism, 2}, {"caution", &o.Caution, 0.5}, {"explore", &o.Explore, 5}} {
		if *v.v == 0 {
			*v.v = v.def
		}
		if !(*v.v >= 0) || math.IsInf(*v.v, 1) {
			return nil, bad(v.name, "%v: want a finite number, at least 0", *v.v)
		}
	}
	if o.Alarm == 0 {
		o.Alarm = 6
	}
	if !finite(o.Alarm) {
		return nil, bad("alarm", "%v: want a finite number", o.Alarm)
	}
	if !(o.Floor >= 0 && o.Floor <= 1) {
		return nil, bad("floor", "%v: want a share from 0 to 1", o.Floor)
	}
	l := &Confident{objective: f, options: o, hard: hard}
	m := f.Dim()
	l.s = confidentState{
		Live: arms, Fresh: arms, Active: make([]bool, arms), Size: make([]float64, arms), Count: make([]float64, arms),
		Mean: make([]float64, arms*m), Squares: make([]float64, arms*m),
		NewSize: make([]float64, arms), NewCount: make([]int, arms), NewMean: make([]float64, arms*m),
		NewLimit: make([]int, arms), Pool: make([]float64, m), Up: make([]float64, arms), Down: make([]float64, arms),
	}
	l.s.Solved = make([]float64, arms)
	for k := range arms {
		l.s.Active[k] = true
		l.s.NewLimit[k] = 2 * firstBlock
		l.s.Up[k], l.s.Down[k] = 1/float64(arms), 1/float64(arms)
	}
	l.sign = make([]float64, m)
	for i := range l.sign {
		l.sign[i] = 1
		if d, ok := f.(Directed); ok {
			l.sign[i] = d.Sign(i)
		}
	}
	l.workspace()
	l.mix()
	l.text = fmt.Sprintf("confident(metrics=%d, %+v)", m, o)
	return l, nil
}

func checkObjective(f Objective, arms int) error {
	if f == nil {
		return bad("objective", "nil: want an objective")
	}
	if err := f.Validate(); err != nil {
		return err
	}
	if g, ok := f.(*Goals); ok && g.HasHard() {
		return bad("objective", "it has a hard guardrail, which has no gradient: learn with squared violations, and a larger lambda for smaller ones")
	}
	if arms < 1 {
		return bad("arms", "%d: want at least 1", arms)
	}
	return nil
}

func (l *Confident) workspace() {
	arms := len(l.s.Size)
	l.moved = newTable(arms, l.objective.Dim())
	l.solver = newSolver(l.objective, l.moved)
	l.usable = make([]bool, arms)
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

// Observe implements [Learner].
func (l *Confident) Observe(obs []Observation) error {
	if _, err := checkRound(obs, l.s.T+1, l.objective.Dim(), l.p, l.s.Active, false); err != nil {
		return err
	}
	before, changed := l.s.Fresh, false
	for i := range obs {
		if l.take(&obs[i]) {
			changed = true
		}
	}
	l.s.T++
	l.s.Clock++
	if changed {
		l.s.Changes++
		l.s.Clock, l.s.Next = 0, 0
		l.forgetAll()
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
		l.resolve()
	}
	if solve || l.s.Fresh != before {
		l.s.Mixed = l.s.Clock
		l.mix()
	}
	return nil
}

// resolve computes p⁺ and p⁻. Until an arm has been served twice nothing is known of the noise, and
// both stay uniform.
func (l *Confident) resolve() {
	s := &l.s
	if s.Freedom <= 0 {
		return
	}
	copy(s.Solved, s.Count)
	some := false
	for k := range l.usable {
		l.usable[k] = s.Active[k] && s.Count[k] > 0
		some = some || l.usable[k]
	}
	if !some { // only new arms are left
		return
	}
	l.solver.usable = l.usable
	l.shift(-l.options.Caution)
	l.optimize(s.Down)
	l.shift(l.options.Optimism)
	l.optimize(s.Up)
}

// shift writes V̂ + z·se, in the good direction.
func (l *Confident) shift(z float64) {
	s, m := &l.s, l.objective.Dim()
	for k, ok := range l.usable {
		if !ok {
			continue
		}
		for i := range m {
			se := math.Sqrt(l.variance(k, i) / s.Size[k])
			l.moved.data[k*m+i] = s.Mean[k*m+i] + float64(float64(z*l.sign[i])*se)
		}
	}
}

// optimize improves p from where it is, on the usable arms, to a millionth of the scores' spread.
func (l *Confident) optimize(p []float64) {
	sum, n := 0.0, 0
	for k, w := range p {
		if !l.usable[k] {
			p[k] = 0
		} else {
			n++
			sum += w
		}
	}
	for k := range p {
		switch {
		case !l.usable[k]:
		case sum > 0:
			p[k] /= sum
		default:
			p[k] = 1 / float64(n)
		}
	}
	if l.hard != nil {
		l.program(p)
		return
	}
	l.solver.settle(p, 1e-6, solverSteps)
}

// hardGoals returns f if it has hard guardrails that a learner can take, nil if it has none.
func hardGoals(f Objective) (*Goals, error) {
	g, ok := f.(*Goals)
	if !ok || !g.HasHard() {
		return nil, nil
	}
	if g.soft != 0 {
		return nil, bad("soft", "%v: hard guardrails need a linear objective, softness 0", g.soft)
	}
	return g, g.Validate()
}

// program sets p to the linear program's solution on the usable arms, or to the mixture of least violation
// where there is none.
func (l *Confident) program(p []float64) {
	var arms []int
	for k, ok := range l.usable {
		if ok {
			arms = append(arms, k)
		}
	}
	part := newTable(len(arms), l.moved.metrics)
	for i, k := range arms {
		copy(part.Arm(i), l.moved.Arm(k))
	}
	opt, err := MaximizeHard(l.hard, part)
	var q []float64
	if e, ok := errors.AsType[*Infeasible](err); ok {
		q = e.Mixture
	} else if err == nil {
		q = opt.Mixture
	} else {
		return // too ill-conditioned: the mixture stays
	}
	clear(p)
	for i, k := range arms {
		p[k] = q[i]
	}
}

// settle is solve with a tolerance relative to the spread of the scores at p. A p of many arms starts again
// from the best of them.
func (s *solver) settle(p []float64, relative float64, iterations int) {
	s.support = s.support[:0]
	for k, w := range p {
		if w > 0 {
			s.support = append(s.support, k)
		}
	}
	if len(s.support) > 4*(s.means.metrics+1) {
		best, top := -1, math.Inf(-1)
		for _, k := range s.support {
			if v := s.f.Value(s.means.Arm(k)); v > top {
				best, top = k, v
			}
		}
		if best < 0 {
			return
		}
		clear(p)
		p[best] = 1
		s.support = append(s.support[:0], best)
	}
	s.gradient(p)
	low, high := math.Inf(1), math.Inf(-1)
	for k := range p {
		if s.usable == nil || s.usable[k] {
			g := s.score(k)
			low, high = min(low, g), max(high, g)
		}
	}
	s.solve(p, float64(relative*(high-low)), iterations)
}

// mix computes what is served from p⁺, p⁻ and the arms not yet seen.
func (l *Confident) mix() {
	s := &l.s
	t := float64(s.Mixed + 1)
	alpha := min(0.5, float64(l.options.Explore*portable.Exp(-portable.Log(t)/3)))
	eps := min(max(0.1/math.Sqrt(t+10), l.options.Floor), 1)
	unseen := 0.0 // the share of arms never served: all at first, later by their number
	if s.Fresh > 0 {
		unseen = 1
		if s.Warm {
			unseen = float64(s.Fresh) / float64(s.Live)
		}
	}
	rest := 1 - unseen
	each := float64(rest*eps) / float64(s.Live)
	for k := range l.p {
		l.p[k] = 0
		if !s.Active[k] {
			continue
		}
		l.p[k] = float64(float64(rest*(1-eps))*(float64(alpha*s.Up[k])+float64((1-alpha)*s.Down[k]))) + each
		if s.Count[k] == 0 {
			l.p[k] += unseen / float64(s.Fresh)
		}
	}
	l.sampler.ready = false
}

// AddArm adds an arm that is served for the first time within about K/Q rounds, and returns its index.
func (l *Confident) AddArm() int {
	s, m := &l.s, l.objective.Dim()
	s.Active = append(s.Active, true)
	s.Live++
	s.Fresh++
	s.Size, s.Count = append(s.Size, 0), append(s.Count, 0)
	s.NewSize, s.NewCount = append(s.NewSize, 0), append(s.NewCount, 0)
	s.NewLimit = append(s.NewLimit, 2*firstBlock)
	s.Solved = append(s.Solved, 0)
	s.Up, s.Down = append(s.Up, 0), append(s.Down, 0)
	more := make([]float64, m)
	s.Mean, s.Squares, s.NewMean = append(s.Mean, more...), append(s.Squares, more...), append(s.NewMean, more...)
	s.Clock, s.Next = min(s.Clock, 1000), 0 // solve soon, and more often
	s.Mixed = s.Clock
	l.workspace()
	l.mix()
	return len(s.Size) - 1
}

// RetireArm takes arm k out for good. Its index stays; its observations are refused from now on.
func (l *Confident) RetireArm(k int) error {
	s := &l.s
	switch {
	case k < 0 || k >= len(s.Size):
		return bad("arm", "%d is unknown: want one of 0 to %d", k, len(s.Size)-1)
	case !s.Active[k]:
		return bad("arm", "%d is retired already", k)
	case s.Live == 1:
		return bad("arm", "%d is the last active one: at least one must stay", k)
	}
	s.Active[k] = false
	s.Live--
	if s.Count[k] == 0 {
		s.Fresh--
	}
	drop(s.Up, k, s.Active)
	drop(s.Down, k, s.Active)
	l.resolve()
	l.mix()
	return nil
}

// Estimate returns V̂ and the standard errors; an arm never served has 0 and +Inf.
func (l *Confident) Estimate() (means, errors *Table) {
	m := l.objective.Dim()
	means, errors = newTable(l.Arms(), m), newTable(l.Arms(), m)
	copy(means.data, l.s.Mean)
	for k := range l.s.Size {
		for i := range m {
			errors.Arm(k)[i] = math.Inf(1)
			if l.s.Size[k] > 0 {
				errors.Arm(k)[i] = math.Sqrt(l.variance(k, i) / l.s.Size[k])
			}
		}
	}
	return means, errors
}

// String describes the learner and its options in one line.
func (l *Confident) String() string { return l.text }

// MarshalBinary implements [Learner].
func (l *Confident) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, l.text, &l.s)
}

// UnmarshalBinary implements [Learner].
func (l *Confident) UnmarshalBinary(data []byte) error {
	var s confidentState
	if err := snapshot.Open(data, snapshotMagic, l.text, &s); err != nil {
		return err
	}
	n, m := len(s.Size), l.objective.Dim()
	ok := n > 0 && len(s.Active) == n && len(s.Count) == n && len(s.NewSize) == n && len(s.NewCount) == n && len(s.NewLimit) == n && len(s.Solved) == n && s.T >= 0 && s.Live > 0 &&
		len(s.Mean) == n*m && len(s.Squares) == n*m && len(s.NewMean) == n*m && len(s.Pool) == m &&
		checkVector("", s.Mean, n*m) == nil && checkVector("", s.NewMean, n*m) == nil && checkVector("", s.Squares, n*m) == nil &&
		checkVector("", s.Size, n) == nil && checkVector("", s.Count, n) == nil && checkVector("", s.Pool, m) == nil &&
		checkMixture("mixture", s.Up, n) == nil && checkMixture("mixture", s.Down, n) == nil
	if !ok {
		return snapshot.Bad("it is damaged: its parts do not fit %d arms and %d metrics", n, m)
	}
	l.s = s
	l.workspace()
	l.mix()
	return nil
}
