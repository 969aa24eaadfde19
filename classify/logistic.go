package classify

import (
	"context"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/optimize"

	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/optimize"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/oco"
)

// batch is a smooth convex function of w that one pass over the data computes with its gradient, so
// that memory stays O(d) for data of any length.
type batch struct {
	at     []float64 // where value and grad were last computed
	value  float64
	grad   []float64
	err    error
	passes int
	// preconditioner, if not nil, approximates the Hessian. What its work costs is counted in
	// passes.
	preconditioner *preconditioner
	// afterPass, if not nil, is called after every pass with their number.
	afterPass func(passes int)
	// pass returns the value at w and writes the gradient to grad, which is cleared.
	pass func(w, grad []float64) (float64, error)
}

// evaluate computes value and gradient at w unless it already has.
func (p *batch) evaluate(w []float64) {
	if p.at != nil && slices.Equal(p.at, w) {
		return
	}
	p.at = append(p.at[:0], w...)
	if p.grad == nil {
		p.grad = make([]float64, len(w))
	}
	clear(p.grad)
	value, err := p.pass(w, p.grad)
	p.value = value
	p.passes++
	if p.afterPass != nil {
		p.afterPass(p.passes)
	}
	if err != nil && p.err == nil {
		p.err = err
	}
}

// logisticProblem is weighted L₂-regularised logistic regression on standardised features:
//
//	minimise (1/W)·Σ ω·k_y·log(1 + exp(-y·z)) + (λ/2)·‖w‖²,   z = ⟨w, x̂⟩ + b·x_b,
//
// with W = Σ ω·k_y and the intercept free. The last coordinate is b.
type logisticProblem struct {
	ctx        context.Context
	data       Data
	lin        *oco.LinearDescent // for the standardisation only
	kPos, kNeg float64
	lambda     float64
}

// batch returns the problem as a function.
func (p *logisticProblem) batch() *batch { return &batch{pass: p.pass} }

func (p *logisticProblem) pass(w, grad []float64) (value float64, err error) {
	d := len(w) - 1
	inverse := inverses(p.lin, d)
	var dotMean float64
	for i := range d {
		_, mean := p.lin.Standard(i)
		dotMean += float64(w[i] * mean)
	}
	bias := float64(w[d]*p.lin.BiasFeature()) - dotMean
	var sum compensated.Sum // of losses
	var total, sumG float64
	err = p.data.read(p.ctx, p.data.examples(func(x Example) error {
		z := bias
		for j, i := range x.Index {
			z += float64(w[i] * float64(x.Value[j]) * inverse[i])
		}
		m, k := z, p.kPos
		if !x.Positive {
			m, k = -z, p.kNeg
		}
		k = float64(k * x.Weight)
		if k == 0 {
			return nil
		}
		total += k
		e := portable.Exp(-math.Abs(m))
		sum.Add(k * (max(-m, 0) + portable.Log1p(e)))
		g := -k / (1 + e) // d/dm log(1+exp(-m)), times k
		if m > 0 {
			g *= e
		}
		if !x.Positive {
			g = -g
		}
		sumG += g
		for j, i := range x.Index {
			grad[i] += float64(g * float64(x.Value[j]) * inverse[i])
		}
		return nil
	}))
	value = sum.Value() / total
	for i := range d {
		_, mean := p.lin.Standard(i)
		grad[i] = (grad[i]-float64(sumG*mean))/total + float64(p.lambda*w[i])
		value += float64(p.lambda / 2 * w[i] * w[i])
	}
	grad[d] = sumG * p.lin.BiasFeature() / total
	return value, err
}

// inverses are the inverse scales of d features.
func inverses(lin *oco.LinearDescent, d int) []float64 {
	out := make([]float64, d)
	for i := range out {
		out[i], _ = lin.Standard(i)
	}
	return out
}

// asProblem returns the problem in gonum's form. An error of the data ends the run, and so do as
// much as maxIterations passes of work if there is a preconditioner.
func (p *batch) asProblem(maxIterations int) gonum.Problem {
	return gonum.Problem{
		Func: func(w []float64) float64 {
			p.evaluate(w)
			return p.value
		},
		Grad: func(grad, w []float64) {
			p.evaluate(w)
			copy(grad, p.grad)
		},
		Status: func() (gonum.Status, error) {
			if p.err != nil {
				return gonum.Failure, p.err
			}
			if p.preconditioner != nil && p.work() >= float64(maxIterations) {
				return gonum.IterationLimit, nil
			}
			return gonum.NotTerminated, nil
		},
	}
}

// work is what has been done, in passes.
func (p *batch) work() float64 {
	if p.preconditioner == nil {
		return float64(p.passes)
	}
	return float64(p.passes) + p.preconditioner.work
}

// lbfgsResult is the result of the optimiser.
type lbfgsResult struct {
	w          []float64
	iterations int
	passes     int
	work       float64 // passes, and what a preconditioner cost in passes
	gradient   float64 // its largest absolute coordinate
	converged  bool
	hessian    *hessianFactor // nil without a preconditioner
}

// solve minimises from start by [optimize.LBFGS] until the largest gradient coordinate is at most
// precision·max(1, its value at the start), for at most maxIterations. With a preconditioner it
// ends when the work is that of as many passes; a Hessian that has been begun is finished.
func (p *batch) solve(start []float64, maxIterations int, precision float64) (lbfgsResult, error) {
	p.evaluate(start)
	if p.err != nil {
		return lbfgsResult{}, p.err
	}
	tolerance := precision * max(1, vec.MaxAbs(p.grad))
	settings := &gonum.Settings{
		GradientThreshold: tolerance,
		MajorIterations:   maxIterations,
		Converger:         gonum.NeverTerminate{},
	}
	method := new(optimize.LBFGS)
	if p.preconditioner != nil {
		method.Precondition = p.preconditioner.apply
	}
	res, err := gonum.Minimize(p.asProblem(maxIterations), start, settings, method)
	if p.err != nil {
		return lbfgsResult{}, p.err
	}
	if res == nil {
		return lbfgsResult{}, err
	}
	// A line search without progress (err != nil) has reached the limit of the arithmetic. Keep
	// the point; converged reports whether the gradient is small there.
	p.evaluate(res.X)
	if p.err != nil {
		return lbfgsResult{}, p.err
	}
	g := vec.MaxAbs(p.grad)
	return lbfgsResult{
		w: res.X, iterations: res.MajorIterations, passes: p.passes, work: p.work(), gradient: g,
		converged: g <= tolerance, hessian: p.preconditioner.last(),
	}, nil
}
