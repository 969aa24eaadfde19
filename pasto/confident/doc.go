// Package confident is the default learner of package pasto. It keeps confidence bounds of the
// arms' means and solves the plug-in problem exactly.
//
// # Why not the paper's algorithm
//
// Algorithm 1 (package ascent) weighs an observation by 1/p. With 100 arms a neglected arm has p =
// ε_t/K = 0.001/√t, one draw adds 100·û/√t to its estimate, and the error decays like t^−¼:
// progress is made and lost again. Its fixed step 0.1/K is slow besides. Clips and floors mend the
// first and not the second. [Learner] has neither weight nor step. It solves the plug-in problem
// exactly, in rounds that grow by 5 % and whenever an arm's observations have doubled: once with
// estimates moved up by two standard errors, to learn from, and once with estimates moved down by
// half of one, to deploy. As there is no rate at
// which to move, it uses the solver of package optimum and not the mirror learners of package oco.
//
// # Measurements
//
// Relative gain R of the deployed mixture on the paper's random instances (100 arms, 10 groups a
// round; 1 is the optimum, 0 the best single arm, below 0 is worse than that), over 1,000 runs (at
// 10⁵ over 60 of the paper's form), at t = 10³, 10⁴ and 10⁵ (where run):
//
//	noise σ    default                  the paper's form
//	0.1        0.999   1.000            −13.9   −2.52    0.51
//	0.5        0.976   0.996            −14.1   −2.56    0.32
//	1          0.897   0.987   1.00     −14.8   −2.65   −1.62
//	5         −2.04    0.50    0.96     −27.2  −32.9   −40.3
//
// The paper's toy with noise of standard deviation 5, mean objective at t = 10, 10², 10³, 10⁴ over
// 1,000 runs (optimum 1.0125, best single arm 0): default −1.29, 0.52, 0.93, 0.998; paper −0.81,
// −0.29, 0.31, 0.81. The toy's uniform start is by luck at 98.8 % of its optimum, and algorithms
// that move slowly stay there: before t = 50 or so the paper's form deploys the better mixture on
// it, and not on the random instances.
//
// # Hard guardrails
//
// With a control arm ([Options]) what is served holds hard guardrails in every round, from the
// first, with a stated probability ([Learner.Promise]): each arm has a bound that is valid at any
// time, an arm without data the worst value of its range, and a mixture is served only where its
// bounds hold. Without a control arm they take a caution of two standard errors in place of half of
// one in what is deployed, and what is served to learn is under no promise.
//
// What the arms of a round have in common, a season, growth, the shock of a day, cancels in their
// comparison and is no change (see [Learner]).
//
// docs/pasto.md has the tables, how the constants were chosen, what was measured on real data, and
// the cost.
package confident
