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
// estimates moved up by two standard errors (and slowly more), to learn from, and once with
// estimates moved down by half of one and a price on uncertainty, to deploy. As there is no rate at
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
// Hard guardrails take a caution of two standard errors in place of half of one. In 1,000 runs of
// the toy the deployed mixture breaks one after 10⁴ rounds in 0.4 % of the runs for noise of 1 and
// of 5, at a cost of 0.014 and 0.070 of the optimum 1 (with half a standard error it was a quarter
// of the runs).
//
// Groups of one round are not taken to be independent: what they have in common, the shock of a day
// or the noise of the control group that relative guardrails share, counts once for each round (see
// [Learner]).
//
// docs/pasto.md has the tables, how the constants were chosen, what was measured on real data, and
// the cost.
package confident
