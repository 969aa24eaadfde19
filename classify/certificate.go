package classify

import (
	"context"
	"math"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/loss"
)

// MeanRewards returns P and N of a model for a reward: its weighted mean over the positives and over the negatives of data. One pass.
func MeanRewards(ctx context.Context, data Data, m *Linear, r loss.Reward) (p, n float64, err error) {
	c, err := data.Classes()
	if err != nil {
		return 0, 0, err
	}
	err = data.read(ctx, func(x Example) error {
		z := m.Score(x.Index, x.Value) - m.Threshold
		if x.Positive {
			p += float64(x.Weight * r.Value(z))
		} else {
			n += float64(x.Weight * r.Value(-z))
		}
		return nil
	})
	return p / c.PositiveWeight, n / c.NegativeWeight, err
}

// UpperBound bounds from above what any linear model can reach: for every w, with P and N its mean [loss.Logistic] rewards on data,
//
//	Ψ_A(P, N) ≤ max_w {αP + βN} - Ψ*(α, β)
//
// for every point (α, β) of the measure's dual region, by duality; the average dual of a [SPADE] run is a good one. The
// maximum is a weighted logistic regression, solved by L-BFGS until the gradient is below 1e-9; the bound holds up to that
// residual. The difference from Ψ_A of a model is a certificate of how far the model is from the best.
func UpperBound(ctx context.Context, data Data, m measure.Concave, alpha, beta float64, s *Scaling, biasFeature float64) (float64, error) {
	c, err := data.Classes()
	if err != nil {
		return 0, err
	}
	if !(alpha >= 0 && beta >= 0 && alpha+beta > 0) || math.IsInf(alpha+beta, 0) {
		return 0, usage("dual point is (%v, %v), want finite numbers ≥ 0, not both 0", alpha, beta)
	}
	lin := newLinear(len(s.Inverse), biasFeature, math.Inf(1))
	lin.standardize(s)
	share := c.Share()
	p := &logisticProblem{ctx: ctx, data: data, lin: lin, kPos: alpha / share, kNeg: beta / (1 - share)}
	r, err := p.solve(make([]float64, len(lin.c)+1), 500, 1e-9)
	if err != nil {
		return 0, err
	}
	p.evaluate(r.w)
	if p.err != nil {
		return 0, p.err
	}
	return float64((alpha+beta)*(1-p.value/math.Ln2)) - m.Conjugate(alpha, beta), nil
}
