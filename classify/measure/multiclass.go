package measure

import (
	"math"
	"strings"

	"github.com/noregret/noregret/convex"
)

// MulticlassConcave is a measure Ψ(R₁, ..., R_C) of the recalls of C ≥ 2 classes that is concave
// and non-decreasing in each. The two-class theory (Narasimhan, Kar and Jain 2015) carries over
// unchanged; the extension to C classes is this project's. With the concave conjugate Ψ*(α) = inf
// {⟨α, u⟩ - Ψ(u)} and the dual region A ⊂ ℝ^C,
//
//	Ψ(R) = min over α in A of ⟨α, R⟩ - Ψ*(α).
//
// For C = 2, with α₁ for the one class and α₂ for the other, it is the [Concave] measure of
// the same name. C is the length of the slices, at least 2; all slices of a call have the same
// length and dst may not overlap the other. Implementations are values without state, safe for
// concurrent use; no method allocates.
type MulticlassConcave interface {
	// Name is the name under which [ParseMulticlass] finds the measure.
	Name() string
	// Of is Ψ at recalls in [0, 1]; NaN when one is NaN (an empty class). O(C).
	Of(recalls []float64) float64
	// Extended is Ψ_A(u), the minimum over the (capped) dual region of ⟨α, u⟩ - Ψ*(α): equal to Of
	// on [0, 1]^C, finite, concave and monotone for all rewards, also negative ones. Limit is as
	// for Project.
	Extended(rewards []float64, limit float64) float64
	// Conjugate is Ψ*(α) on the dual region. O(C).
	Conjugate(alpha []float64) float64
	// ConjugateGradient is each of the C equal coordinates of ∇Ψ*, which is constant on the
	// region for every measure here.
	ConjugateGradient() float64
	// Project writes the Euclidean projection of a on A to dst. Where A is unbounded (G-mean),
	// limit > 1/C caps all coordinates; elsewhere it is not used. O(C log C), or O(C) times the
	// number of Newton steps, about ten.
	Project(dst, a []float64, limit float64)
	// OptimalDual writes ∇Ψ(u), what a converged dual equals at rewards u > 0, to dst. O(C).
	OptimalDual(dst, u []float64)
	// InitialDual fills dst with the dual that a learner starts from: 1/C each, a point of A.
	InitialDual(dst []float64)
	// DualRadius is the largest L₂ norm in A for C classes: the Lipschitz constant of Ψ; +Inf for
	// G-mean.
	DualRadius(classes int) float64
}

// uniform fills dst with 1/C.
func uniform(dst []float64) {
	for k := range dst {
		dst[k] = 1 / float64(len(dst))
	}
}

// norm is √(Σ x_k²).
func norm(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v * v)
	}
	return math.Sqrt(sum)
}

// MulticlassMin is min_k R_k, the recall of the worst class. Dual region: the simplex {α ≥ 0, Σα =
// 1}, Ψ* = 0.
type MulticlassMin struct{}

// Name implements [MulticlassConcave].
func (MulticlassMin) Name() string { return "min" }

// Of implements [MulticlassConcave].
func (MulticlassMin) Of(recalls []float64) float64 {
	least := math.Inf(1)
	for _, r := range recalls {
		least = math.Min(least, r)
	}
	return least
}

// Extended implements [MulticlassConcave]: min_k u_k everywhere.
func (m MulticlassMin) Extended(rewards []float64, _ float64) float64 { return m.Of(rewards) }

// Conjugate implements [MulticlassConcave].
func (MulticlassMin) Conjugate([]float64) float64 { return 0 }

// ConjugateGradient implements [MulticlassConcave].
func (MulticlassMin) ConjugateGradient() float64 { return 0 }

// Project implements [MulticlassConcave]: on the simplex, see [convex.ProjectOnSimplex]. O(C).
func (MulticlassMin) Project(dst, a []float64, _ float64) { convex.ProjectOnSimplex(dst, a, 1) }

// OptimalDual implements [MulticlassConcave]; classes that tie for the least share the mass.
func (m MulticlassMin) OptimalDual(dst, u []float64) {
	least, ties := m.Of(u), 0
	for _, v := range u {
		if v == least {
			ties++
		}
	}
	for k, v := range u {
		dst[k] = 0
		if v == least {
			dst[k] = 1 / float64(ties)
		}
	}
}

// InitialDual implements [MulticlassConcave].
func (MulticlassMin) InitialDual(dst []float64) { uniform(dst) }

// DualRadius implements [MulticlassConcave].
func (MulticlassMin) DualRadius(int) float64 { return 1 }

// MulticlassQMean is 1 - √(Σ(1-R_k)²/C), one minus the quadratic mean of the classes' errors. Dual
// region {α ≥ 0, ‖α‖ ≤ 1/√C}, Ψ* = Σα - 1.
type MulticlassQMean struct{}

// Name implements [MulticlassConcave].
func (MulticlassQMean) Name() string { return "qmean" }

// Of implements [MulticlassConcave].
func (MulticlassQMean) Of(recalls []float64) float64 {
	var sum float64
	for _, r := range recalls {
		sum += float64((1 - r) * (1 - r))
	}
	return 1 - math.Sqrt(sum/float64(len(recalls)))
}

// Extended implements [MulticlassConcave]: 1 - √(Σ(1-u_k)₊²/C).
func (MulticlassQMean) Extended(rewards []float64, _ float64) float64 {
	var sum float64
	for _, r := range rewards {
		e := max(1-r, 0)
		sum += float64(e * e)
	}
	return 1 - math.Sqrt(sum/float64(len(rewards)))
}

// Conjugate implements [MulticlassConcave].
func (MulticlassQMean) Conjugate(alpha []float64) float64 {
	sum := -1.0
	for _, v := range alpha {
		sum += v
	}
	return sum
}

// ConjugateGradient implements [MulticlassConcave].
func (MulticlassQMean) ConjugateGradient() float64 { return 1 }

// Project implements [MulticlassConcave]: the orthant first, then the ball. That is exact since the
// ball is centred at the apex of the cone; the other order is wrong. O(C).
func (MulticlassQMean) Project(dst, a []float64, _ float64) {
	clipToBall(dst, a, 1/math.Sqrt(float64(len(a))))
}

// clipToBall writes the projection of a on {α ≥ 0, ‖α‖ ≤ radius} to dst and reports whether the
// ball was active.
func clipToBall(dst, a []float64, radius float64) bool {
	for k, v := range a {
		dst[k] = max(v, 0)
	}
	r := norm(dst)
	if r <= radius {
		return false
	}
	f := radius / r
	for k := range dst {
		dst[k] *= f
	}
	return true
}

// OptimalDual implements [MulticlassConcave]: (1-u_k)/(Cρ) with ρ = √(Σ(1-u)²/C); undefined (NaN)
// where all u are 1 and every point of A is optimal.
func (m MulticlassQMean) OptimalDual(dst, u []float64) {
	rho := 1 - m.Of(u)
	for k, v := range u {
		dst[k] = (1 - v) / (float64(len(u)) * rho)
	}
}

// InitialDual implements [MulticlassConcave].
func (MulticlassQMean) InitialDual(dst []float64) { uniform(dst) }

// DualRadius implements [MulticlassConcave].
func (MulticlassQMean) DualRadius(classes int) float64 { return 1 / math.Sqrt(float64(classes)) }

// MacroRecall is the arithmetic mean ΣR_k/C of the recalls, which for C = 2 is balanced accuracy.
// Its dual region is the single point (1/C, ..., 1/C), Ψ* = 0: SPADE on it is class-balanced SGD.
type MacroRecall struct{}

// Name implements [MulticlassConcave].
func (MacroRecall) Name() string { return "macro_recall" }

// Of implements [MulticlassConcave].
func (MacroRecall) Of(recalls []float64) float64 {
	var sum float64
	for _, r := range recalls {
		sum += r
	}
	return sum / float64(len(recalls))
}

// Extended implements [MulticlassConcave].
func (m MacroRecall) Extended(rewards []float64, _ float64) float64 { return m.Of(rewards) }

// Conjugate implements [MulticlassConcave].
func (MacroRecall) Conjugate([]float64) float64 { return 0 }

// ConjugateGradient implements [MulticlassConcave]; irrelevant on a single point.
func (MacroRecall) ConjugateGradient() float64 { return 0 }

// Project implements [MulticlassConcave].
func (MacroRecall) Project(dst, _ []float64, _ float64) { uniform(dst) }

// OptimalDual implements [MulticlassConcave].
func (MacroRecall) OptimalDual(dst, _ []float64) { uniform(dst) }

// InitialDual implements [MulticlassConcave].
func (MacroRecall) InitialDual(dst []float64) { uniform(dst) }

// DualRadius implements [MulticlassConcave].
func (MacroRecall) DualRadius(classes int) float64 { return 1 / math.Sqrt(float64(classes)) }

var multiclassConcaves = []MulticlassConcave{
	MulticlassMin{},
	MulticlassHMean{},
	MulticlassQMean{},
	MulticlassGMean{},
	MacroRecall{},
}

// MulticlassNames lists the measures that [ParseMulticlass] knows.
func MulticlassNames() []string {
	names := make([]string, len(multiclassConcaves))
	for i, m := range multiclassConcaves {
		names[i] = m.Name()
	}
	return names
}

// ParseMulticlass returns the measure of class recalls of the given name: min, hmean, qmean, gmean
// or macro_recall. For macro_f1 and other measures of a single-label problem that are not a concave
// function of the recalls it returns an error of code usage that names an alternative.
func ParseMulticlass(name string) (MulticlassConcave, error) {
	for _, m := range multiclassConcaves {
		if m.Name() == name {
			return m, nil
		}
	}
	switch name {
	case "macro_f1":
		return nil, usage("macro_f1 of single-label classes is a sum of ratios, neither concave in the recalls nor " +
			"pseudo-linear; train one class against the rest, with a threshold each, as a heuristic")
	case "micro_f1", "accuracy":
		return nil, usage("%s of single-label classes is plain accuracy, which unweighted training maximizes; of the "+
			"class recalls there are %s", name, strings.Join(MulticlassNames(), ", "))
	}
	return nil, usage("no measure of class recalls is named %q; there are %s", name,
		strings.Join(MulticlassNames(), ", "))
}
