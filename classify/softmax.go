package classify

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/oco"
)

// softmaxProblem is multinomial logistic regression of C classes on standardised features:
//
//	minimise (1/W)·Σ ω·k_y·(log Σ_c exp(z_c) - z_y) + (λ/2)·Σ_c ‖w_c‖²,   z_c = ⟨w_c, x̂⟩ + b_c·x_b,
//
// with W = Σ ω·k_y and the intercepts free. The coordinates are the weights of the classes for the
// first feature, those for the second and so on, and at the end the C intercepts.
type softmaxProblem struct {
	ctx    context.Context
	data   Data
	lin    *oco.LinearDescent // for the standardisation only
	weight []float64          // k of each class
	lambda float64
}

func (p *softmaxProblem) batch() *batch { return &batch{pass: p.pass} }

func (p *softmaxProblem) pass(w, grad []float64) (value float64, err error) {
	n := len(p.weight)
	d := len(w)/n - 1
	inverse := inverses(p.lin, d)
	bias, z, sumG := make([]float64, n), make([]float64, n), make([]float64, n)
	for k := range n {
		bias[k] = float64(w[d*n+k] * p.lin.BiasFeature())
	}
	for i := range d {
		if _, mean := p.lin.Standard(i); mean != 0 {
			for k, v := range w[i*n : i*n+n] {
				bias[k] -= float64(v * mean)
			}
		}
	}
	var sum compensated.Sum
	var total float64
	err = p.data.read(p.ctx, p.data.labelled(func(x LabelsExample) error {
		copy(z, bias)
		for j, i := range x.Index {
			v := float64(float64(x.Value[j]) * inverse[i])
			for k, wk := range w[int(i)*n : int(i)*n+n] {
				z[k] += float64(wk * v)
			}
		}
		y := x.Labels[0]
		weight := float64(p.weight[y] * x.Weight)
		if weight == 0 {
			return nil
		}
		total += weight
		top, own := z[argmax(z)], z[y]
		mass := 0.0
		for k := range z {
			z[k] = portable.Exp(z[k] - top)
			mass += z[k]
		}
		sum.Add(weight * (portable.Log(mass) + (top - own)))
		for k := range z {
			z[k] = float64(weight * z[k] / mass)
		}
		z[y] -= weight
		for k, g := range z {
			sumG[k] += g
		}
		for j, i := range x.Index {
			v := float64(float64(x.Value[j]) * inverse[i])
			g := grad[int(i)*n : int(i)*n+n]
			for k := range g {
				g[k] += float64(z[k] * v)
			}
		}
		return nil
	}))
	value = sum.Value() / total
	for i := range d {
		_, mean := p.lin.Standard(i)
		for k := range n {
			at := i*n + k
			grad[at] = (grad[at]-float64(sumG[k]*mean))/total + float64(p.lambda*w[at])
			value += float64(p.lambda / 2 * w[at] * w[at])
		}
	}
	for k := range n {
		grad[d*n+k] = sumG[k] * p.lin.BiasFeature() / total
	}
	return value, err
}

// runSoftmax trains one multinomial logistic regression of all classes.
func (t *training) runSoftmax(balanced bool) error {
	n, d := len(t.data.Labels), t.config.Dim
	weights := make([]float64, n)
	for k, p := range t.shares() {
		weights[k] = 1
		if balanced {
			weights[k] = 1 / float64(float64(n)*p)
		}
	}
	p := &softmaxProblem{ctx: t.ctx, data: t.train, lin: t.standardised(), weight: weights, lambda: t.batchLambda()}
	r, err := t.minimize(p.batch(), make([]float64, (d+1)*n), logisticIterations)
	if err != nil {
		return err
	}
	models := make([]Linear, n)
	for k := range models {
		w := make([]float64, d)
		for i := range w {
			w[i] = r.w[i*n+k]
		}
		models[k] = rawModel(p.lin, w, r.w[d*n+k])
	}
	e := HistoryEntry{
		Candidate: fmt.Sprintf("iteration %d", r.iterations), Examples: t.steps, StepScale: t.config.StepScale,
	}
	_, err = t.proposeModels(models, e)
	return err
}
