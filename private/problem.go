package private

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// Weighting says how the gradients of a record at the current and at the previous point make its
// increment g_i. The prefix sums S_t = g_1 + ... + g_t then estimate the gradient of the risk with
// an error that shrinks as 1/√t, although each record is used once.
type Weighting uint8

const (
	// PaperWeights are g_i = (i+1)·∇f(θ_i) − i·∇f(θ_{i−1}) with θ_0 = θ_1, so that g_1 = ∇f(θ_1).
	// S_t/(t+1) is the recursive estimate with ρ_t = 1/(t+1) and d_0 = 0 of Han et al.
	PaperWeights Weighting = iota + 1
	// CentredWeights are g_i = i·∇f(θ_i) − (i−1)·∇f(θ_{i−1}): S_t/t is the recursive estimate with
	// ρ_t = 1/t, without bias.
	CentredWeights
	// RecursiveWeights are the paper's, except that g_1 = 2·∇f(θ_1), which starts the recursion at
	// d_1 = ∇f(θ_1) (Xie et al.). The first increment may have norm 2L.
	RecursiveWeights
)

// String returns "paper", "centred" or "recursive".
func (w Weighting) String() string {
	switch w {
	case PaperWeights:
		return "paper"
	case CentredWeights:
		return "centred"
	case RecursiveWeights:
		return "recursive"
	default:
		return fmt.Sprintf("Weighting(%d)", uint8(w))
	}
}

// coefficient is the a with g_i = a·x, for the slopes of the loss at the current and at the
// previous point. The difference of the slopes is taken first: for large i it is small.
func (w Weighting) coefficient(i int64, current, previous float64) float64 {
	switch {
	case w == CentredWeights:
		return current + float64(float64(i-1)*(current-previous))
	case w == RecursiveWeights && i == 1:
		return 2 * current
	default:
		return current + float64(float64(i)*(current-previous))
	}
}

// Problem states what is minimized and the constants to which data are clipped. None of them may
// depend on the data: choose them from what is publicly known. Make one with [NewProblem] and
// change its fields.
type Problem struct {
	// Domain is the set of points.
	Domain *Domain
	// Loss is the loss of one record.
	Loss Loss
	// Features is X > 0: features are scaled down to ‖x‖_q ≤ X, for q dual to the domain's p. A
	// constant feature (an intercept) counts.
	Features float64
	// Labels is Y ≥ 0: labels are clamped to [−Y, Y].
	Labels float64
	// Horizon is n, the largest number of records, from 1 to 2^40.
	Horizon int64
	// Batch is the number of records per step, at least 1. Batches save time, not accuracy.
	Batch int
	// Weighting is how increments are made.
	Weighting Weighting
	// StepScale is c > 0: step t moves by min(1, c/(t+1)) of the way to the new vertex.
	StepScale float64
	// Clip is C, the bound to which the norm of every increment is clipped: the Euclidean norm in
	// [NewTOFW], the dual norm of the domain in [NewPOFW]. Noise is proportional to it. At 0 it is
	// the largest norm that an increment can have, which is usually far more than needed.
	Clip float64
	// Spacing is the distance of the points of the lattice on which increments are added, a power
	// of two. At 0 package dp chooses it.
	Spacing float64
}

// NewProblem returns a problem with batches of one record, the paper's weights, step scale 1 and
// the worst-case clip.
func NewProblem(domain *Domain, l Loss, features, labels float64, horizon int64) Problem {
	return Problem{
		Domain: domain, Loss: l, Features: features, Labels: labels, Horizon: horizon,
		Batch: 1, Weighting: PaperWeights, StepScale: 1,
	}
}

// Constants are the constants of a problem in the domain's norms.
type Constants struct {
	// Lipschitz is L, a bound on ‖∇f‖_q.
	Lipschitz float64
	// Smoothness is β, with ‖∇f(θ) − ∇f(θ')‖_q ≤ β·‖θ − θ'‖_p.
	Smoothness float64
	// Increment bounds ‖g_i‖_q without a clip: L + cβD, for squared losses and c = 1 the smaller
	// bound that their linear slopes give, and with recursive weights at least 2L.
	Increment float64
	// IncrementL2 bounds the Euclidean norm of increments: Increment, times d^(1/2−1/q) for q > 2.
	IncrementL2 float64
}

// Constants returns the constants of the problem. The errors are those of an invalid problem.
func (p Problem) Constants() (Constants, error) {
	if err := p.check(); err != nil {
		return Constants{}, err
	}
	d := p.Domain
	lipschitz, smoothness, err := checkLoss(p.Loss, p.Features, p.Labels, d.radius)
	if err != nil {
		return Constants{}, err
	}
	c := Constants{Lipschitz: lipschitz, Smoothness: smoothness}
	c.Increment = lipschitz + float64(p.StepScale*float64(smoothness*d.diameter))
	if quadratic, ok := p.Loss.(scalarLoss); ok && quadratic.quadratic() && p.StepScale == 1 {
		c.Increment = min(c.Increment, p.quadraticBound(quadratic.weight))
	}
	if p.Weighting == RecursiveWeights {
		c.Increment = max(c.Increment, 2*lipschitz)
	}
	c.IncrementL2 = c.Increment
	if q := d.dual.P(); q > 2 {
		c.IncrementL2 *= portable.Pow(float64(d.Dim()), 0.5-1/q)
	}
	return c, nil
}

// quadraticBound bounds ‖g_i‖_q for ψ = (w/2)(z−y)². The increment is w·x·(⟨x, u⟩ − y) with u = v +
// (v−θ)/i for the last vertex v and the point θ before it, i ≥ 2, and u = v with centred weights.
func (p Problem) quadraticBound(weight float64) float64 {
	radius := p.Domain.radius
	if p.Weighting != CentredWeights {
		radius += float64(p.Domain.diameter / 2)
	}
	return float64(weight * p.Features * (float64(p.Features*radius) + p.Labels))
}

// check refuses an invalid problem.
func (p Problem) check() error {
	if p.Domain == nil {
		return noregret.BadInputf("domain", "nil: want a domain")
	}
	if err := checkPositive("features", p.Features); err != nil {
		return err
	}
	if err := checkNonNegative("labels", p.Labels); err != nil {
		return err
	}
	if err := checkHorizon(p.Horizon); err != nil {
		return err
	}
	if p.Batch < 1 || p.Batch > 1<<30 {
		return noregret.BadInputf("batch", "%d records, want 1 to 2^30: %w", p.Batch, dp.ErrBound)
	}
	if p.Weighting < PaperWeights || p.Weighting > RecursiveWeights {
		return noregret.BadInputf("weighting", "%s, want PaperWeights, CentredWeights or RecursiveWeights", p.Weighting)
	}
	if err := checkPositive("step scale", p.StepScale); err != nil {
		return err
	}
	return checkNonNegative("clip", p.Clip)
}

// steps is ⌈n/b⌉, the number of steps of a learner.
func (p Problem) steps() int64 { return (p.Horizon-1)/int64(p.Batch) + 1 }

// String describes the problem in one line with all parameters.
func (p Problem) String() string {
	name := "nil"
	if p.Loss != nil {
		name = p.Loss.Name()
	}
	return fmt.Sprintf("%v, %s, X=%v, Y=%v, n=%d, b=%d, %s weights, c=%v, C=%v, spacing=%v",
		p.Domain, name, p.Features, p.Labels, p.Horizon, p.Batch, p.Weighting, p.StepScale, p.Clip, p.Spacing)
}

// frontEnd turns records into increments. They depend on one record and on public points only; the
// mechanisms clip them.
type frontEnd struct {
	problem Problem
	x, g    []float64
}

func newFrontEnd(p Problem) frontEnd {
	d := p.Domain.Dim()
	return frontEnd{problem: p, x: make([]float64, d), g: make([]float64, d)}
}

// increment returns the increment of a record at step i, before clipping. A record with a number
// that is not finite, and one whose increment cannot be computed, is null: its increment is 0.
func (f *frontEnd) increment(i int64, x []float64, y float64, theta, previous []float64) []float64 {
	if !f.gradient(i, x, y, theta, previous) {
		clear(f.g)
	}
	return f.g
}

// gradient writes the increment before clipping to f.g and reports whether the record is not null.
func (f *frontEnd) gradient(i int64, x []float64, y float64, theta, previous []float64) bool {
	copy(f.x, x)
	finite, err := dp.ClipNorm(f.x, f.problem.Domain.dual.P(), f.problem.Features)
	y, labelled := dp.Clamp(y, f.problem.Labels)
	if err != nil || !finite || !labelled {
		return false
	}
	current := safeSlope(f.problem.Loss, vec.Dot(f.x, theta), y)
	before := current
	if i > 1 {
		before = safeSlope(f.problem.Loss, vec.Dot(f.x, previous), y)
	}
	a := f.problem.Weighting.coefficient(i, current, before)
	if !vec.IsFinite(a) {
		return false
	}
	for j, v := range f.x {
		f.g[j] = float64(a * v)
	}
	return true
}

// path is the public state of a Frank–Wolfe learner: the points and the sum of their vertices.
type path struct {
	// T is the number of steps done.
	T int64
	// Theta is θ_{T+1}, Previous is θ_T, and θ_1 at the start.
	Theta, Previous []float64
	// Sum is θ_1 + v_1 + ... + v_T. θ_{T+1} = Sum/(T+1) for step scale 1.
	Sum []float64
}

func newPath(d *Domain) path {
	return path{Theta: d.Start(), Previous: d.Start(), Sum: d.Start()}
}

// advance moves towards v. The points stay averages of points of the set.
func (p *path) advance(v []float64, scale float64) {
	p.T++
	p.Theta, p.Previous = p.Previous, p.Theta
	vec.AddScaled(p.Sum, 1, v)
	if scale == 1 {
		for j, s := range p.Sum {
			p.Theta[j] = s / float64(p.T+1)
		}
		return
	}
	eta := min(1, scale/float64(p.T+1))
	for j, before := range p.Previous {
		p.Theta[j] = before + float64(eta*(v[j]-before))
	}
}

// valid reports whether a path read from a snapshot fits the domain.
func (p *path) valid(d *Domain, steps int64) bool {
	n := d.Dim()
	return p.T >= 0 && p.T <= steps && len(p.Theta) == n && len(p.Previous) == n && len(p.Sum) == n &&
		vec.Finite(p.Theta) && vec.Finite(p.Previous) && vec.Finite(p.Sum)
}
