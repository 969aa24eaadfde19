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

// SCGDOptions are the parameters of [NewSCGD]. Start from [DefaultSCGDOptions].
type SCGDOptions struct {
	// Step is α_t ≥ 0, and Track is β_t in [0, 1].
	Step, Track Schedule
	// Exploration is ε_t in [0, 1].
	Exploration Schedule
	// Start is π_1; nil is uniform.
	Start []float64
	// Deploy says which iterate Deployed returns.
	Deploy Deploy
}

// DefaultSCGDOptions returns the schedules of the basic method of Wang, Fang and Liu (2017), α_t =
// 0.5·t^−¾ and β_t = t^−½, with the exploration of [PaperExploration]. Their accelerated method has
// Power(·, −5/7) and Power(1, −4/7). The paper does not say which of the two it compares with.
func DefaultSCGDOptions() SCGDOptions {
	return SCGDOptions{Step: Power(0.5, -0.75), Track: Power(1, -0.5), Exploration: PaperExploration()}
}

// SCGD is stochastic compositional gradient descent (Wang, Fang and Liu 2017) on the simplex, the
// paper's baseline, with the exploration and the mirror step of Algorithm 1. The catalogue calls it
// "s-scgd".
//
//	y_t = (1−β_t)·y_{t−1} + β_t·Û_t·p_t,   g_t = Û_tᵀ∇f(y_t),   w ← w·exp(α_t·g_t).
//
// Û_t·p_t is the mean observation, (1/Q)·Σû_q. The Jacobian is the single noisy Û_t rather than an
// average over the past, which makes the steps noisy. A round costs O(K + Q·M).
type SCGD struct {
	*mirror
	objective pasto.Objective
	options   SCGDOptions
	y, d, g   []float64
	next      []float64 // y after the current round
	text      string
	checker   round.Checker
}

// NewSCGD makes the baseline on K arms.
func NewSCGD(f pasto.Objective, arms int, o SCGDOptions) (*SCGD, error) {
	if err := round.CheckObjective(f, arms); err != nil {
		return nil, err
	}
	if err := o.Step.validate("step", math.Inf(1)); err != nil {
		return nil, err
	}
	if err := o.Track.validate("track", 1); err != nil {
		return nil, err
	}
	if err := o.Exploration.validate("exploration", 1); err != nil {
		return nil, err
	}
	if o.Deploy < DeployAverage || o.Deploy > DeployExploit {
		return nil, noregret.BadInputf("ship", "%d: want one of the four iterates", int(o.Deploy))
	}
	m, err := newMirror(arms, o.Start, o.Exploration, 0, pasto.IID, 0)
	if err != nil {
		return nil, err
	}
	n := f.Dim()
	l := &SCGD{
		next: make([]float64, n), mirror: m, objective: f, options: o, y: make([]float64, n),
		d: make([]float64, n), g: make([]float64, arms),
	}
	l.text = fmt.Sprintf("s-scgd(metrics=%d, step=%v, track=%v, %v, ship=%d)", n, o.Step, o.Track, m, o.Deploy)
	return l, nil
}

// Observe implements [pasto.Learner]. It also returns an error if the gradient is not finite.
func (l *SCGD) Observe(obs []pasto.Observation) error {
	obs, total, err := l.checker.Check(l.objective, obs, l.s.T+1, l.p, l.s.Active)
	if err != nil {
		return err
	}
	share := func(o *pasto.Observation) float64 {
		if total > 0 {
			return o.Size / total
		}
		return 1 / float64(len(obs))
	}
	beta, err := l.options.Track.in("track", l.s.T+1, 1)
	if err != nil {
		return err
	}
	gamma, err := l.rates(l.options.Step)
	if err != nil {
		return err
	}
	for m, y := range l.y {
		mean := 0.0
		for i := range obs {
			mean += float64(share(&obs[i]) * obs[i].Metrics[m])
		}
		l.next[m] = float64((1-beta)*y) + float64(beta*mean)
	}
	l.objective.Gradient(l.d, l.next)
	if err := check.Gradient(l.objective, l.next, l.d); err != nil {
		return err
	}
	clear(l.g)
	for i := range obs {
		o := &obs[i]
		l.g[o.Arm] += float64(share(o)*vec.Dot(o.Metrics, l.d)) / l.p[o.Arm]
	}
	if err := l.step(l.g, gamma, 0, 0); err != nil {
		return err
	}
	copy(l.y, l.next)
	return nil
}

// AddArm implements [pasto.Roster]: with a share of 1/(K+1).
func (l *SCGD) AddArm() (int, error) {
	if err := l.add(); err != nil {
		return 0, err
	}
	l.g = make([]float64, len(l.p))
	return len(l.p) - 1, nil
}

// RetireArm implements [pasto.Roster].
func (l *SCGD) RetireArm(k int) error { return l.retire(k) }

// Deployed implements [pasto.Learner].
func (l *SCGD) Deployed() []float64 { return l.deployed(l.options.Deploy) }

// String describes the learner and its options in one line.
func (l *SCGD) String() string { return l.text }

type scgdState struct {
	Mirror mirrorState
	Y      []float64
}

// MarshalBinary implements [pasto.Learner].
func (l *SCGD) MarshalBinary() ([]byte, error) {
	m, err := l.save()
	if err != nil {
		return nil, err
	}
	return snapshot.Seal(round.SnapshotMagic, l.text+round.Identity(l.objective), &scgdState{m, l.y})
}

// UnmarshalBinary implements [pasto.Learner].
func (l *SCGD) UnmarshalBinary(data []byte) error {
	var s scgdState
	if err := snapshot.Open(data, round.SnapshotMagic, l.text+round.Identity(l.objective), &s); err != nil {
		return err
	}
	if check.Vector("y", s.Y, len(l.y)) != nil {
		return snapshot.Bad("damaged: it does not fit %d metrics", len(l.y))
	}
	if err := l.load(s.Mirror); err != nil {
		return err
	}
	copy(l.y, s.Y)
	l.g = make([]float64, len(l.p))
	return nil
}
