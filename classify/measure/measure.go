package measure

import (
	"math"
)

// Confusion holds the weighted counts of a binary confusion matrix: true positives, false
// negatives, true negatives and false positives. With example weights each is a sum of weights.
type Confusion struct {
	TP float64 `json:"tp"`
	FN float64 `json:"fn"`
	TN float64 `json:"tn"`
	FP float64 `json:"fp"`
}

// Add counts one example of the given label, prediction and weight.
func (c *Confusion) Add(positive, predicted bool, weight float64) {
	switch {
	case positive && predicted:
		c.TP += weight
	case positive:
		c.FN += weight
	case predicted:
		c.FP += weight
	default:
		c.TN += weight
	}
}

// Positives is the weight of the positive class, TP + FN.
func (c Confusion) Positives() float64 { return c.TP + c.FN }

// Negatives is the weight of the negative class, TN + FP.
func (c Confusion) Negatives() float64 { return c.TN + c.FP }

// Rates returns P = TP/(TP+FN) and N = TN/(TN+FP); a rate of an empty class is NaN.
func (c Confusion) Rates() (p, n float64) {
	return c.TP / c.Positives(), c.TN / c.Negatives()
}

// Theta is θ = n₋/n₊, +Inf with no positives and NaN with no examples.
func (c Confusion) Theta() float64 { return c.Negatives() / c.Positives() }

// FromRates is the confusion matrix with the given rates and class weights.
func FromRates(p, n, positives, negatives float64) Confusion {
	return Confusion{TP: positives * p, FN: positives * (1 - p), TN: negatives * n, FP: negatives * (1 - n)}
}

// Measure is a performance measure: larger is better. Implementations are values without
// state, safe for concurrent use, O(1) per call.
type Measure interface {
	// Name is the name under which [Parse] finds the measure.
	Name() string
	// Value is the measure on confusion counts, computed from the counts
	// themselves. It is NaN where the measure is undefined (0/0): see [ZeroDivision].
	Value(c Confusion) float64
}

// Objective is what a classifier is trained for: a [Measure] for two classes, or a [Multi] for
// several classes or labels.
type Objective interface {
	// Name is the name under which [Parse] or [ParseMulti] finds the measure.
	Name() string
}

// Concave is a measure Ψ(P, N) that is concave and non-decreasing in both rates. It can be
// trained for with SPADE.
type Concave interface {
	Measure
	// Of is Ψ(p, n) for rates in [0, 1].
	Of(p, n float64) float64
	// Extended is Ψ_A(u, v), the minimum over the (capped) dual region of αu + βv - Ψ*(α, β): equal
	// to Of on [0, 1]², finite, concave and monotone for all rewards, also negative ones. Limit is
	// as for Project.
	Extended(u, v, limit float64) float64
	// Conjugate is the concave conjugate Ψ*(α, β) on the dual region.
	Conjugate(alpha, beta float64) float64
	// ConjugateGradient is ∇Ψ*, which is constant on the region for every measure here.
	ConjugateGradient() (dAlpha, dBeta float64)
	// Project is the Euclidean projection of (a, b) on the dual region A, exact to
	// rounding. Where A is unbounded (G-mean), limit > ½ caps both coordinates;
	// elsewhere it is not used.
	Project(a, b, limit float64) (alpha, beta float64)
	// OptimalDual is ∇Ψ(u, v): what a converged dual equals at rewards (u, v) > 0.
	OptimalDual(u, v float64) (alpha, beta float64)
	// InitialDual is the dual that a learner starts from, a point of A.
	InitialDual() (alpha, beta float64)
	// DualRadius is the largest L₂ norm in A: the Lipschitz constant of Ψ; +Inf for G-mean.
	DualRadius() float64
	// Modulus is δ(ε) ≥ sup {Ψ(u, v) - Ψ(u', v') : |u-u'|, |v-v'| ≤ ε}, the tight form.
	Modulus(eps float64) float64
}

// Ratio is a pseudo-linear measure: a ratio of two linear functions of the rates, whose
// coefficients depend on θ. It can be trained for with AMP and STAMP.
type Ratio interface {
	Measure
	// Coefficients returns the canonical form for the class ratio θ > 0.
	Coefficients(theta float64) Coefficients
	// Degenerate reports whether the measure has a degenerate maximiser (precision, NPV).
	// Learners refuse such a measure unless an option allows it.
	Degenerate() bool
}

// Coefficients is the canonical form (A[0] + A[1]·P + A[2]·N) / (B[0] + B[1]·P + B[2]·N) of a
// [Ratio] measure.
type Coefficients struct {
	A, B  [3]float64
	Theta float64
}

// Of is the measure at rates (p, n); NaN or ±Inf where the denominator is 0.
func (k Coefficients) Of(p, n float64) float64 {
	return (k.A[0] + float64(k.A[1]*p) + float64(k.A[2]*n)) / (k.B[0] + float64(k.B[1]*p) + float64(k.B[2]*n))
}

// Valuation is V(w, v) = c + (α - vγ)P + (β - vδ)N with c = a₀/b₀, α = a₁/b₀, β = a₂/b₀, γ = b₁/b₀,
// δ = b₂/b₀ (Narasimhan, Kar and Jain 2015, definition 6). Where the denominators are positive,
// V(w, v) ≥ v exactly when the measure of w is at least v (lemma 7).
func (k Coefficients) Valuation(p, n, v float64) float64 {
	b0 := k.B[0]
	return k.A[0]/b0 + float64((k.A[1]/b0-v*k.B[1]/b0)*p) + float64((k.A[2]/b0-v*k.B[2]/b0)*n)
}

// Weights are the weights that the model step at level v gives to each raw positive and
// each raw negative example: k₊ = a₁ - v·b₁ and k₋ = (a₂ - v·b₂)/θ.
func (k Coefficients) Weights(v float64) (positive, negative float64) {
	return k.StreamWeights(v, k.Theta)
}

// StreamWeights is [Coefficients.Weights] for examples of a subsample whose class ratio differs
// from the population's: k₋ is divided by the θ of the examples, while the coefficients are those
// of the population.
func (k Coefficients) StreamWeights(v, theta float64) (positive, negative float64) {
	return k.A[1] - float64(v*k.B[1]), (k.A[2] - float64(v*k.B[2])) / theta
}

// Levels is the interval of levels for which both weights are non-negative, so that the model
// step is a concave problem. Either end may be infinite.
func (k Coefficients) Levels() (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	for i := 1; i <= 2; i++ {
		switch a, b := k.A[i], k.B[i]; {
		case b > 0:
			hi = min(hi, a/b)
		case b < 0:
			lo = max(lo, a/b)
		case a < 0:
			return math.NaN(), math.NaN()
		}
	}
	return lo + 0, hi // + 0 turns -0 into 0
}

// RewardRange is the supremum of the m for which rewards in [0, m) keep the denominator positive;
// +Inf if all do.
func (k Coefficients) RewardRange() float64 {
	f := (min(k.B[1], 0) + min(k.B[2], 0)) / k.B[0]
	if f >= 0 {
		return math.Inf(1)
	}
	return -1 / f
}

// Rate is the linear rate η(m) of exact AMP for rewards in [0, m): each iteration shrinks the gap
// to the optimum by at least this factor (theorem 8): (g - f)/(g + 1) where f ≤ γP + δN ≤ g.
// It is NaN when m exceeds [Coefficients.RewardRange].
func (k Coefficients) Rate(m float64) float64 {
	f := m * (min(k.B[1], 0) + min(k.B[2], 0)) / k.B[0]
	g := m * (max(k.B[1], 0) + max(k.B[2], 0)) / k.B[0]
	if f < -1 {
		return math.NaN()
	}
	return (g - f) / (g + 1)
}

// ZeroDivision is the value of an undefined measure (0/0).
type ZeroDivision int

// The rules for undefined values.
const (
	// UndefinedIsNaN keeps NaN. It is the default.
	UndefinedIsNaN ZeroDivision = iota
	// UndefinedIsZero counts an undefined value as 0.
	UndefinedIsZero
	// UndefinedIsOne counts an undefined value as 1.
	UndefinedIsOne
)

// Apply returns v, or the rule's value if v is NaN.
func (z ZeroDivision) Apply(v float64) float64 {
	if !math.IsNaN(v) {
		return v
	}
	switch z {
	case UndefinedIsZero:
		return 0
	case UndefinedIsOne:
		return 1
	default:
		return v
	}
}
