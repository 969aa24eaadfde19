package loss

import "math"

// Facts state what all losses of a game have in common. A game publishes them and a learner is made
// from them: they hold for every loss that the game can yield, at every point of its set. The zero
// value is that of smooth losses without slope; start from [Unknown] instead.
type Facts struct {
	// Lipschitz and LipschitzInf bound ‖g‖₂ and ‖g‖∞ over the subgradients g in the set; +Inf if
	// there is no bound.
	Lipschitz, LipschitzInf float64
	// StrongConvexity μ ≥ 0 is that of every loss in the Euclidean norm; 0 if there is none.
	StrongConvexity float64
	// Smoothness M bounds the Lipschitz constant of every gradient; +Inf if there is no bound.
	Smoothness float64
	// ExpConcavity is a μ ≥ 0 with l(y) ≥ l(x) + ⟨g, y−x⟩ + (μ/2)⟨g, y−x⟩² in the set, the μ of the
	// online Newton step; 0 if there is none. For α-exp-concave losses it is ½·min(α, 1/(L·D)).
	ExpConcavity float64
	// SquaredDistance reports that every loss is ‖x − y‖² for a point y.
	SquaredDistance bool
	// Features reports that every loss is ½(⟨z, x⟩ − y)² with z shown before the prediction.
	Features bool
}

// Unknown returns the facts of losses about which nothing is known beyond their convexity.
func Unknown() Facts {
	inf := math.Inf(1)
	return Facts{Lipschitz: inf, LipschitzInf: inf, Smoothness: inf}
}
