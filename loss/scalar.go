package loss

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// within is v where cond holds, +Inf elsewhere: a conjugate on its domain.
func within(cond bool, v float64) float64 {
	if cond {
		return v
	}
	return math.Inf(1)
}

// Name implements [Scalar].
func (Squared) Name() string { return "squared" }

// CheckLabel implements [Scalar].
func (Squared) CheckLabel(y float64) error { return anyLabel(y) }

// Value implements [Scalar].
func (Squared) Value(p, y float64) float64 { return (p - y) * (p - y) / 2 }

// Derivative implements [Scalar].
func (Squared) Derivative(p, y float64) float64 { return p - y }

// Lipschitz implements [Scalar].
func (Squared) Lipschitz(radius, y float64) float64 { return radius + math.Abs(y) }

// Smoothness implements [Scalar].
func (Squared) Smoothness() float64 { return 1 }

// StrongConvexity implements [Scalar].
func (Squared) StrongConvexity() float64 { return 1 }

// Conjugate implements [Scalar].
func (Squared) Conjugate(s, y float64) float64 { return float64(s*y) + float64(s*s/2) }

// Name implements [Scalar].
func (Absolute) Name() string { return "absolute" }

// CheckLabel implements [Scalar].
func (Absolute) CheckLabel(y float64) error { return anyLabel(y) }

// Value implements [Scalar].
func (Absolute) Value(p, y float64) float64 { return math.Abs(p - y) }

// Derivative implements [Scalar].
func (Absolute) Derivative(p, y float64) float64 { return sign(p - y) }

// Lipschitz implements [Scalar].
func (Absolute) Lipschitz(radius, y float64) float64 { return 1 }

// Smoothness implements [Scalar].
func (Absolute) Smoothness() float64 { return math.Inf(1) }

// StrongConvexity implements [Scalar].
func (Absolute) StrongConvexity() float64 { return 0 }

// Conjugate implements [Scalar].
func (Absolute) Conjugate(s, y float64) float64 { return within(math.Abs(s) <= 1, s*y) }

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// Name implements [Scalar].
func (HingeLoss) Name() string { return "hinge" }

// CheckLabel implements [Scalar].
func (HingeLoss) CheckLabel(y float64) error { return signLabel(y) }

// Value implements [Scalar].
func (HingeLoss) Value(p, y float64) float64 { return 1 - Hinge{}.Value(float64(y*p)) }

// Derivative implements [Scalar].
func (HingeLoss) Derivative(p, y float64) float64 { return -y * Hinge{}.Derivative(y*p) }

// Lipschitz implements [Scalar].
func (HingeLoss) Lipschitz(_, _ float64) float64 { return 1 }

// Smoothness implements [Scalar].
func (HingeLoss) Smoothness() float64 { return math.Inf(1) }

// StrongConvexity implements [Scalar].
func (HingeLoss) StrongConvexity() float64 { return 0 }

// Conjugate implements [Scalar].
func (HingeLoss) Conjugate(s, y float64) float64 { return within(s*y >= -1 && s*y <= 0, s*y) }

// Name implements [Scalar].
func (SquaredHingeLoss) Name() string { return "squared-hinge" }

// CheckLabel implements [Scalar].
func (SquaredHingeLoss) CheckLabel(y float64) error { return signLabel(y) }

// Value implements [Scalar].
func (SquaredHingeLoss) Value(p, y float64) float64 {
	t := max(1-float64(y*p), 0)
	return t * t
}

// Derivative implements [Scalar].
func (SquaredHingeLoss) Derivative(p, y float64) float64 {
	return -y * SquaredHinge{}.Derivative(float64(y*p))
}

// Lipschitz implements [Scalar].
func (SquaredHingeLoss) Lipschitz(radius, _ float64) float64 { return 2 * (1 + radius) }

// Smoothness implements [Scalar].
func (SquaredHingeLoss) Smoothness() float64 { return 2 }

// StrongConvexity implements [Scalar].
func (SquaredHingeLoss) StrongConvexity() float64 { return 0 }

// Conjugate implements [Scalar].
func (SquaredHingeLoss) Conjugate(s, y float64) float64 {
	return within(s*y <= 0, float64(s*y)+float64(s*s/4))
}

// Name implements [Scalar].
func (LogisticLoss) Name() string { return "logistic" }

// CheckLabel implements [Scalar].
func (LogisticLoss) CheckLabel(y float64) error { return signLabel(y) }

// Value implements [Scalar], in the form max(−m, 0) + log1p(exp(−|m|)), which cannot overflow.
func (LogisticLoss) Value(p, y float64) float64 {
	m := y * p
	return max(-m, 0) + portable.Log1p(portable.Exp(-math.Abs(m)))
}

// Derivative implements [Scalar].
func (LogisticLoss) Derivative(p, y float64) float64 {
	return -y * (math.Ln2 * Logistic{}.Derivative(y*p))
}

// Lipschitz implements [Scalar].
func (LogisticLoss) Lipschitz(radius, _ float64) float64 { return 1 / (1 + portable.Exp(-radius)) }

// Smoothness implements [Scalar].
func (LogisticLoss) Smoothness() float64 { return 0.25 }

// StrongConvexity implements [Scalar].
func (LogisticLoss) StrongConvexity() float64 { return 0 }

// Conjugate implements [Scalar].
func (LogisticLoss) Conjugate(s, y float64) float64 {
	q := float64(-s * y)
	if q < 0 || q > 1 {
		return math.Inf(1)
	}
	return float64(portable.XLogX(q)) + float64(portable.XLogX(1-q))
}

// Name implements [Scalar].
func (h Huber) Name() string { return fmt.Sprintf("huber:%v", h.Delta) }

// CheckLabel implements [Scalar].
func (h Huber) CheckLabel(y float64) error {
	if !(h.Delta > 0) || math.IsInf(h.Delta, 1) {
		return noregret.BadInputf("huber", "Delta is %v: want a finite number above 0", h.Delta)
	}
	return anyLabel(y)
}

// Value implements [Scalar].
func (h Huber) Value(p, y float64) float64 {
	if t := math.Abs(p - y); t > h.Delta {
		return h.Delta * (t - float64(h.Delta/2))
	}
	return (p - y) * (p - y) / 2
}

// Derivative implements [Scalar].
func (h Huber) Derivative(p, y float64) float64 { return min(max(p-y, -h.Delta), h.Delta) }

// Lipschitz implements [Scalar].
func (h Huber) Lipschitz(radius, y float64) float64 { return min(h.Delta, radius+math.Abs(y)) }

// Smoothness implements [Scalar].
func (h Huber) Smoothness() float64 { return 1 }

// StrongConvexity implements [Scalar].
func (h Huber) StrongConvexity() float64 { return 0 }

// Conjugate implements [Scalar].
func (h Huber) Conjugate(s, y float64) float64 {
	return within(math.Abs(s) <= h.Delta, float64(s*y)+float64(s*s/2))
}

// Name implements [Scalar].
func (q Quantile) Name() string { return fmt.Sprintf("quantile:%v", q.Tau) }

// CheckLabel implements [Scalar].
func (q Quantile) CheckLabel(y float64) error {
	if !(q.Tau > 0 && q.Tau < 1) {
		return noregret.BadInputf("quantile", "Tau is %v: want a number in (0, 1)", q.Tau)
	}
	return anyLabel(y)
}

// Value implements [Scalar].
func (q Quantile) Value(p, y float64) float64 { return max(q.Tau*(y-p), (q.Tau-1)*(y-p)) }

// Derivative implements [Scalar].
func (q Quantile) Derivative(p, y float64) float64 {
	switch {
	case p < y:
		return -q.Tau
	case p > y:
		return 1 - q.Tau
	}
	return 0
}

// Lipschitz implements [Scalar].
func (q Quantile) Lipschitz(_, _ float64) float64 { return max(q.Tau, 1-q.Tau) }

// Smoothness implements [Scalar].
func (q Quantile) Smoothness() float64 { return math.Inf(1) }

// StrongConvexity implements [Scalar].
func (q Quantile) StrongConvexity() float64 { return 0 }

// Conjugate implements [Scalar].
func (q Quantile) Conjugate(s, y float64) float64 { return within(s >= -q.Tau && s <= 1-q.Tau, s*y) }

// Name implements [Scalar].
func (LogLoss) Name() string { return "log" }

// CheckLabel implements [Scalar].
func (LogLoss) CheckLabel(y float64) error {
	if y != 0 && y != 1 {
		return noregret.BadInputf("label", "%v: want 0 or 1", y)
	}
	return nil
}

// Value implements [Scalar].
func (LogLoss) Value(p, y float64) float64 {
	switch {
	case p < 0 || p > 1 || y == 1 && p == 0 || y == 0 && p == 1:
		return math.Inf(1)
	case y == 1:
		return -portable.Log(p)
	}
	return -portable.Log1p(-p)
}

// Derivative implements [Scalar].
func (LogLoss) Derivative(p, y float64) float64 {
	if y == 1 {
		return -1 / p
	}
	return 1 / (1 - p)
}

// Lipschitz implements [Scalar]. The slope is unbounded near p = 0 for y = 1 and near p = 1 for y =
// 0.
func (LogLoss) Lipschitz(radius, y float64) float64 {
	if y == 0 && radius < 1 {
		return 1 / (1 - radius)
	}
	return math.Inf(1)
}

// Smoothness implements [Scalar].
func (LogLoss) Smoothness() float64 { return math.Inf(1) }

// StrongConvexity implements [Scalar].
func (LogLoss) StrongConvexity() float64 { return 1 }

// Conjugate implements [Scalar].
func (LogLoss) Conjugate(s, y float64) float64 {
	switch {
	case y == 1 && s <= -1:
		return -1 - portable.Log(-s)
	case y == 1:
		return s
	case s >= 1:
		return s - 1 - portable.Log(s)
	}
	return 0
}
