package classify

import (
	"cmp"
	"context"
	"math"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/loss"
)

// MeanRewards returns P and N of a model for a reward: its weighted mean over the positives and
// over the negatives of data. One pass.
func MeanRewards(ctx context.Context, data Data, m *Linear, r loss.Reward) (p, n float64, err error) {
	c, err := data.Classes()
	if err != nil {
		return 0, 0, err
	}
	err = data.read(ctx, data.examples(func(x Example) error {
		z := m.Score(x.Index, x.Value) - m.Threshold
		if x.Positive {
			p += float64(x.Weight * r.Value(z))
		} else {
			n += float64(x.Weight * r.Value(-z))
		}
		return nil
	}))
	return p / c.PositiveWeight, n / c.NegativeWeight, err
}

// BoundOptions are the options of [UpperBound]. Start from [DefaultBoundOptions].
type BoundOptions struct {
	// Alpha and Beta are a point of the measure's dual region. The average dual of a [SPADE] run
	// gives a good bound.
	Alpha, Beta float64
	// Radius is the largest L₂ norm of the models that the bound covers, of weights and intercept
	// together, in standardised units: a finite number above 0. It hardly matters unless a model
	// separates the classes, in which case models improve without limit as they grow.
	Radius float64
	// Scaling standardises the features; nil leaves them as they are.
	Scaling *Scaling
	// BiasFeature is the value of the constant feature whose weight is the intercept, any finite
	// number; 0 bounds models without an intercept.
	BiasFeature float64
}

// DefaultBoundOptions returns options for models of norm at most 1000 with a constant feature of 1,
// at the dual point (alpha, beta).
func DefaultBoundOptions(alpha, beta float64) BoundOptions {
	return BoundOptions{Alpha: alpha, Beta: beta, Radius: 1000, BiasFeature: 1}
}

// Bound is the result of [UpperBound].
type Bound struct {
	// Value is the bound.
	Value float64
	// Slack is how far Value lies above what the last model of the search reaches in αP + βN -
	// Ψ*(α, β), and so the most by which a better search could lower it.
	Slack float64
}

// UpperBound bounds from above what any linear model of norm at most R = opt.Radius can reach: for
// every such w, with P and N its mean [loss.Logistic] rewards on data,
//
//	Ψ_A(P, N) ≤ αP + βN - Ψ*(α, β) ≤ α + β - l/ln 2 - Ψ*(α, β)
//
// where l ≥ 0 is a lower bound of the weighted logistic loss f, of which αP + βN = α + β - f/ln 2.
// L-BFGS ends at a point v with gradient g. As f is convex and not negative, for all w of norm at
// most R
//
//	f(w) ≥ f(v) + ⟨g, w - v⟩ ≥ l = max(0, f(v) - ⟨g, v⟩ - R·‖g‖).
//
// In exact arithmetic this holds wherever the search ends; the sums here are rounded in about the
// thirteenth digit. A search that ends early gives a looser bound: see [Bound.Slack]. The
// difference of the bound and Ψ_A of a model is a certificate of how far the model is from the
// best. It fails with an error of code usage for a point outside the dual region and for options
// out of their range. Some hundred passes over the data, O(d) memory.
func UpperBound(ctx context.Context, data Data, m measure.Concave, opt BoundOptions) (Bound, error) {
	c, err := data.Classes()
	if err != nil {
		return Bound{}, err
	}
	if err := opt.check(m, data.Set.Info().Dim); err != nil {
		return Bound{}, err
	}
	// The average of points of the region may be outside by rounding. Its projection is inside.
	alpha, beta := m.Project(opt.Alpha, opt.Beta, math.Inf(1))
	lin := newDescent(&Config{BiasFeature: opt.BiasFeature, Radius: math.Inf(1)})
	lin.Standardize(opt.Scaling.Center, opt.Scaling.Inverse)
	share := c.Share()
	p := (&logisticProblem{ctx: ctx, data: data, lin: lin, kPos: alpha / share, kNeg: beta / (1 - share)}).batch()
	r, err := p.solve(make([]float64, lin.Dim()+1), 500, 1e-11)
	if err != nil {
		return Bound{}, err
	}
	p.evaluate(r.w)
	if p.err != nil {
		return Bound{}, p.err
	}
	var norm2, inner float64
	for i, g := range p.grad {
		norm2 += float64(g * g)
		inner += float64(g * r.w[i])
	}
	least := max(0, p.value-inner-float64(opt.Radius*math.Sqrt(norm2)))
	unit := (alpha + beta) / math.Ln2 // f is a mean loss, in nats
	return Bound{
		Value: alpha + beta - float64(unit*least) - m.Conjugate(alpha, beta),
		Slack: float64(unit * (p.value - least)),
	}, nil
}

// check checks the options and replaces a nil scaling by the identity.
func (opt *BoundOptions) check(m measure.Concave, dim int) error {
	if opt.Scaling == nil {
		opt.Scaling = Identity(dim)
	}
	a, b := opt.Alpha, opt.Beta
	if err := cmp.Or(paramRadius.check(opt.Radius),
		settingOf("bias-feature").check(&Options{Config: Config{BiasFeature: opt.BiasFeature}})); err != nil {
		return err
	}
	switch {
	case !(a >= 0 && b >= 0 && a+b > 0) || math.IsInf(a+b, 0):
		return usage("dual point is (%v, %v), want finite numbers at least 0, not both 0", a, b)
	case len(opt.Scaling.Inverse) < dim || len(opt.Scaling.Center) != len(opt.Scaling.Inverse):
		return usage("scaling has %d features, the data have %d",
			min(len(opt.Scaling.Inverse), len(opt.Scaling.Center)), dim)
	}
	if pa, pb := m.Project(a, b, math.Inf(1)); !(math.Hypot(pa-a, pb-b) <= 1e-9*math.Hypot(a, b)) {
		return usage("dual point is (%v, %v), want one in the dual region of %s: (%v, %v) is the nearest", a, b,
			m.Name(), pa, pb)
	}
	return nil
}
