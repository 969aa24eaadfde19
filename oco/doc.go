// Package oco holds learners for online convex optimization.
//
// # The game
//
// In round t = 1, 2, ... a [Learner] names a point x_t of a convex set V, the loss l_t is revealed,
// and the learner is given a subgradient g_t of l_t at x_t. Its regret against a fixed point u is Σ
// l_t(x_t) − l_t(u), which for convex losses is at most Σ ⟨g_t, x_t − u⟩. A learner is good when
// that grows more slowly than T for every u, whatever the losses are; each learner here says by how
// much, for the run it has seen, through Bound.
//
//	box, _ := convex.NewCube(2, -1, 1)
//	learner, _ := oco.NewAdaGrad(box, nil)
//	for _, g := range gradients {
//		x := learner.Predict()
//		... pay l_t(x), get g ...
//		if err := learner.Update(g); err != nil { ... }
//	}
//	bound, _ := learner.Bound(u)
//
// # Which learner
//
// Start with [AdaGrad] on a box, [AdaHedge] on the simplex, and [SubgradientDescent] with the
// adaptive rate on other bounded sets: no parameters, no horizon. On ℝ^d take [FTRL] with
// [SqrtWeight], or [FTRLProximal] for sparse features and sparse models. Curved losses allow regret
// of order ln T: [SubgradientDescent] with [StronglyConvex], [OnlineNewtonStep] for exp-concave
// losses, [VovkAzouryWarmuth] for least squares. [OptimisticFTRL], [MeanHint] and [GradualFTRL]
// gain from predictable subgradients, as do [OptimisticMirrorDescent] and [OptimisticAdaGrad].
// [Learners] lists all of them with their requirements and costs.
//
// # Without a learning rate
//
// On ℝ^d the best learning rate depends on the unknown ‖u‖. Coin betting needs none: a [Bettor]
// that makes much money is a learner whose regret is within a logarithm of the best rate's for
// every u at once ([Betting]). Take [NewEuclideanBetting] with a [NewtonBettor] where L is a loose
// bound on the subgradients, [CoordinateKT] for sparse features and subgradients bounded in each
// coordinate, and [NewEuclideanKT] or [NewL1KT] for other norms. Where no Lipschitz constant is
// known take [ScaleFreeKT], by coordinates and in O(nnz), or [FreeGrad]. [Shifted] moves their
// origin to a guess of the best point, [Constrained] takes them to any convex set, [Added] gives
// the best guarantee of several. On the simplex, [ExpertBetting] has a prior and adapts to the
// share of good experts; [FixedShare] follows a best expert that changes.
//
// # Reductions
//
// Wrappers change the game around a learner: [Linearized] takes whole losses, [Averaging] and
// [Anytime] turn regret into risk, [MiniBatch] keeps a point for several rounds, [Importance]
// weighs rounds, [Doubling] removes the need for a horizon, [Split] plays each coordinate by
// itself. They pass hints, features and sparse subgradients on.
//
// Formulas and theorem numbers are those of Orabona, "A Modern Introduction to Online Learning"
// (2019), chapters 2 to 7 and 9; doc comments say where a constant of the book is corrected.
//
// # Rules that hold for all
//
// Learners are deterministic and allocate nothing per round. Numbers that are not finite and
// vectors of the wrong length are refused before anything changes. A snapshot continues bit for
// bit. Scale-free learners are scale-free from 1e-300 to 1e300.
package oco
