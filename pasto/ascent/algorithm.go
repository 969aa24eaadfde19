package ascent

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Deploy says which iterate a learner deploys.
type Deploy int

const (
	// DeployAverage is p̄_T, as in the theorem and the paper's figures. It is the zero value.
	DeployAverage Deploy = iota
	// DeployAverageExploit is π̄_T, without exploration.
	DeployAverageExploit
	// DeployServing is the last iterate p_t.
	DeployServing
	// DeployExploit is the last π_t.
	DeployExploit
)

// Options are the parameters of [New]. Start from [PaperOptions], [TheoremOptions],
// [PracticalOptions] or [TrackingOptions].
type Options struct {
	// Estimator is the form of V̂.
	Estimator Estimator
	// U0 holds the initial means; nil is 0. Pseudocount is n_0 ≥ 0, the number of observations that
	// they count for, 1 in the paper.
	U0          *pasto.Table
	Pseudocount float64
	// Step is γ_t ≥ 0. If StepClip > 0, steps are shortened so that max_k |γ·g_k| ≤ StepClip.
	Step     Schedule
	StepClip float64
	// ScaleFree divides γ_t by Σ_i |∂f/∂θ_i|·(range of metric i over the arms' estimates), so that
	// γ_t is the most by which the log-weights of two arms move apart in round t, whatever the
	// units of the metrics and of the objective. Arms without an observation, in the window if
	// there is one, keep their log-weight. It needs an estimator by arm means.
	ScaleFree bool
	// FixedShare α in [0, 1) spreads a part of the weights over all arms before each step, π ←
	// (1−α)·π + α/K (Herbster and Warmuth 1998), so that an arm that becomes good is found within
	// some ln(K/α)/γ rounds; 0 spreads nothing.
	FixedShare float64
	// Exploration is ε_t in [0, 1], at least MinExploration.
	Exploration    Schedule
	MinExploration float64
	// Scheme selects how Draw draws arms.
	Scheme pasto.Scheme
	// Start is π_1; nil is uniform.
	Start []float64
	// Deploy says which iterate Deployed returns. If AverageDecay > 0, averages cover about the
	// last 1/AverageDecay rounds.
	Deploy       Deploy
	AverageDecay float64
}

// PaperOptions are the settings of all of the paper's experiments: importance weights with n_0 = 1
// and U_0 = 0, ε_t = 0.1/√(t+10), γ = 0.1/K, the averaged iterate. They are unstable with many arms
// and noise: see the package comment.
func PaperOptions(arms int) Options {
	return Options{Estimator: IPW(), Pseudocount: 1, Step: PaperStep(arms), Exploration: PaperExploration()}
}

// TheoremOptions are the settings of Theorem 1: ε_t = G/√t (at most 3/4) and γ = 1/√T, for ‖g_t‖ ≤
// g and a horizon of T rounds.
func TheoremOptions(g float64, rounds int) Options {
	return Options{Estimator: IPW(), Pseudocount: 1, Step: TheoremStep(rounds), Exploration: TheoremExploration(g)}
}

// PracticalOptions are settings for production: discounted arm means with ρ = 0.001, exploration of
// at least 0.1, the paper's step clipped at 0.1, and the exploit distribution averaged over a
// window.
func PracticalOptions(arms int) Options {
	return Options{
		Estimator: DiscountedMeans(0.001), Step: PaperStep(arms), StepClip: 0.1,
		Exploration: PaperExploration(), MinExploration: 0.1, Deploy: DeployAverageExploit, AverageDecay: 0.001,
	}
}

// TrackingOptions follow means that drift, at the scale of the metrics, whatever it is: e, which is
// to be DiscountedMeans or WindowMeans, with scale-free steps of 0.1, a fixed share of 0.002,
// exploration of at least 0.1, and the exploit distribution of the last round.
func TrackingOptions(e Estimator) Options {
	return Options{
		Estimator: e, Step: Constant(0.1), ScaleFree: true, FixedShare: 0.002, Exploration: PaperExploration(),
		MinExploration: 0.1, Deploy: DeployExploit,
	}
}

// Algorithm is Algorithm 1 of the paper, by the name "paper" with [PaperOptions]:
//
//	π_t = w/‖w‖₁,   p_t = (1−ε_t)·π_t + ε_t/K,   observe, update V̂ with this p_t,
//	g_t = V̂_tᵀ∇f(V̂_t p_t),   w ← w·exp(γ_t·g_t),   p̄ ← p̄ + (p_t − p̄)/t.
//
// The gradient of round t uses the observations of round t, and p_t rather than π_t. The weights do
// not contain ε. The average p̄ includes p_1 and excludes p_{T+1}. The weights are an
// [oco.ExponentiatedGradient], in logarithms.
//
// A round costs O(K·M) time; memory is O(K·M).
type Algorithm struct {
	*mirror
	objective pasto.Objective
	options   Options
	v         *estimate
	theta, d  []float64
	g         []float64
	text      string
	checker   round.Checker
	undo      undo
}

// New makes Algorithm 1 on K arms.
func New(f pasto.Objective, arms int, o Options) (*Algorithm, error) {
	if err := round.CheckObjective(f, arms); err != nil {
		return nil, err
	}
	if err := o.validate(arms, f.Dim()); err != nil {
		return nil, err
	}
	m, err := newMirror(arms, o.Start, o.Exploration, o.MinExploration, o.Scheme, o.AverageDecay)
	if err != nil {
		return nil, err
	}
	a := &Algorithm{
		mirror: m, objective: f, options: o, theta: make([]float64, f.Dim()), d: make([]float64, f.Dim()),
		g: make([]float64, arms),
	}
	a.v = newEstimate(o.Estimator, arms, f.Dim(), o.U0, o.Pseudocount)
	a.text = fmt.Sprintf("pasto(metrics=%d, %v, n0=%v, step=%v, clip=%v, %v, ship=%d)", f.Dim(), o.Estimator,
		o.Pseudocount,
		o.Step, o.StepClip, m, o.Deploy)
	if o.ScaleFree {
		a.text += ", scale-free"
	}
	if o.FixedShare > 0 {
		a.text += fmt.Sprintf(", share=%v", o.FixedShare)
	}
	return a, nil
}

func (o *Options) validate(arms, metrics int) error {
	if err := o.Estimator.validate(metrics); err != nil {
		return err
	}
	if err := o.Step.validate("step", math.Inf(1)); err != nil {
		return err
	}
	if err := o.Exploration.validate("exploration", 1); err != nil {
		return err
	}
	switch {
	case !(o.Pseudocount >= 0) || math.IsInf(o.Pseudocount, 1):
		return noregret.BadInputf("pseudocount", "%v: want a finite number of observations, at least 0", o.Pseudocount)
	case !(o.StepClip >= 0):
		return noregret.BadInputf("step clip", "%v: want a number, at least 0", o.StepClip)
	case !(o.MinExploration >= 0 && o.MinExploration <= 1):
		return noregret.BadInputf("exploration", "floor %v: want a number from 0 to 1", o.MinExploration)
	case !(o.AverageDecay >= 0 && o.AverageDecay <= 1):
		return noregret.BadInputf("average decay", "%v: want a number from 0 to 1", o.AverageDecay)
	case o.ScaleFree && !o.Estimator.form.direct:
		return noregret.BadInputf("scale free", "%v: want ArmMeans, DiscountedMeans, WindowMeans or SelfNormalized, "+
			"which tell what arms have been observed", o.Estimator)
	case !(o.FixedShare >= 0 && o.FixedShare < 1):
		return noregret.BadInputf("fixed share", "%v: want a number from 0 to below 1", o.FixedShare)
	case o.Scheme != pasto.IID && o.Scheme != pasto.Systematic:
		return noregret.BadInputf("scheme", "%d: want IID or Systematic", int(o.Scheme))
	case o.Deploy < DeployAverage || o.Deploy > DeployExploit:
		return noregret.BadInputf("ship", "%d: want one of the four iterates", int(o.Deploy))
	}
	if o.U0 != nil {
		if o.U0.Arms() != arms || o.U0.Metrics() != metrics {
			return noregret.BadInputf("U0", "%d arms and %d metrics: want %d and %d", o.U0.Arms(),
				o.U0.Metrics(), arms, metrics)
		}
		for k := range arms {
			for i, v := range o.U0.Arm(k) {
				if !vec.IsFinite(v) {
					return noregret.BadInputf(fmt.Sprintf("U0[%d]", k*metrics+i), "%v: want a finite number", v)
				}
			}
		}
	}
	return nil
}

// Observe implements [pasto.Learner]. It also returns an error if the gradient of a [pasto.Utility]
// is not finite, or a gradient overflows.
func (a *Algorithm) Observe(obs []pasto.Observation) error {
	obs, total, err := a.checker.Check(a.objective, obs, a.s.T+1, a.p, a.s.Active)
	if err != nil {
		return err
	}
	gamma, err := a.rates(a.options.Step)
	if err != nil {
		return err
	}
	a.v.mark(&a.undo, obs)
	a.v.add(a.p, obs, total)
	a.v.mean(a.theta, a.p)
	a.objective.Gradient(a.d, a.theta)
	if err = check.Gradient(a.objective, a.theta, a.d); err == nil {
		a.v.scores(a.g, a.d)
		if a.options.ScaleFree {
			gamma = a.rescale(gamma)
		}
		err = a.step(a.g, gamma, a.options.StepClip, a.options.FixedShare)
	}
	if err != nil {
		a.v.revert(&a.undo)
	}
	return err
}

// rescale centres the scores at their mean over what was served, which changes no mixture, and
// returns γ in units of the scores: divided by Σ_i |d_i|·range_i, which no difference of two scores
// exceeds. It returns 0 where the arms do not differ.
func (a *Algorithm) rescale(gamma float64) float64 {
	scale := 0.0
	for m, d := range a.d {
		low, high := math.Inf(1), math.Inf(-1)
		for k, active := range a.s.Active {
			if active && a.v.observed(k) {
				v := a.v.value(k, m)
				low, high = min(low, v), max(high, v)
			}
		}
		if high > low {
			scale += float64(math.Abs(d) * (high - low))
		}
	}
	share, mean := 0.0, 0.0
	for k, p := range a.p {
		if a.v.observed(k) {
			share += p
			mean += float64(p * a.g[k])
		}
	}
	mean /= share // of the arms of the round at least, which were served
	for k := range a.g {
		if a.g[k] -= mean; !a.v.observed(k) {
			a.g[k] = 0
		}
	}
	if gamma /= scale; !(scale > 0) || !vec.IsFinite(gamma) {
		return 0
	}
	return gamma
}

// Deployed implements [pasto.Learner].
func (a *Algorithm) Deployed() []float64 { return a.deployed(a.options.Deploy) }

// Estimate returns V̂. The value f(V̂p̄) is biased upward (the winner's curse): report values from
// held-out rounds only.
func (a *Algorithm) Estimate() *pasto.Table {
	t := round.NewTable(a.v.k, a.v.m)
	a.v.table(t)
	return t
}

// AddArm implements [pasto.Roster]. It is AddArmFrom with means of 0.
func (a *Algorithm) AddArm() (int, error) { return a.AddArmFrom(nil) }

// AddArmFrom adds an arm with initial means u0 and share 1/(K+1), and returns its index. Its rounds
// count from now on. A nil u0 is 0; the means of the baseline are a better choice.
func (a *Algorithm) AddArmFrom(u0 []float64) (int, error) {
	if u0 != nil {
		if err := check.Vector("u0", u0, a.v.m); err != nil {
			return 0, err
		}
	}
	if err := a.add(); err != nil {
		return 0, err
	}
	a.v.grow(u0)
	a.g = make([]float64, a.v.k)
	return a.v.k - 1, nil
}

// RetireArm implements [pasto.Roster].
func (a *Algorithm) RetireArm(k int) error { return a.retire(k) }

// String describes the learner and its options in one line.
func (a *Algorithm) String() string { return a.text }

type algorithmState struct {
	Mirror   mirrorState
	Estimate estimateState
}

// MarshalBinary implements [pasto.Learner].
func (a *Algorithm) MarshalBinary() ([]byte, error) {
	m, err := a.save()
	if err != nil {
		return nil, err
	}
	return snapshot.Seal(round.SnapshotMagic, a.text+round.Identity(a.objective), &algorithmState{m, a.v.s})
}

// UnmarshalBinary implements [pasto.Learner].
func (a *Algorithm) UnmarshalBinary(data []byte) error {
	var s algorithmState
	if err := snapshot.Open(data, round.SnapshotMagic, a.text+round.Identity(a.objective), &s); err != nil {
		return err
	}
	v := &estimate{form: a.v.form, k: len(s.Mirror.Prior), m: a.v.m, s: s.Estimate}
	if err := v.check(); err != nil {
		return err
	}
	if err := a.load(s.Mirror); err != nil {
		return err
	}
	a.v = v
	a.g = make([]float64, v.k)
	return nil
}

// check returns an error for a restored state of the wrong shape.
func (e *estimate) check() error {
	s, n := &e.s, e.k*e.m
	ok := len(s.Sum) == n && len(s.Weight) == e.k && len(s.Last) == e.k && len(s.Start) == e.k &&
		check.Vector("sum", s.Sum, n) == nil && vec.IsFinite(s.Scale)
	if e.form.form == &formRobust {
		ok = ok && len(s.Base) == n
	}
	if e.form.form == &formWindow {
		ok = ok && len(s.Ring) == int(e.form.param) && len(s.Count) == e.k
		for i := range s.Ring {
			r := &s.Ring[i]
			ok = ok && len(r.Sizes) == len(r.Arms) && len(r.Values) == e.m*len(r.Arms)
			for _, k := range r.Arms {
				ok = ok && k >= 0 && k < e.k
			}
		}
	}
	if !ok {
		return snapshot.Bad("damaged: the estimate does not fit %d arms and %d metrics", e.k, e.m)
	}
	return nil
}
