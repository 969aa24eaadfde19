// Package mixture is the default policy of the decision service: the mixture of arms that is best
// by optimistic estimates and holds every hard guardrail by some standard errors of the mixture.
//
// # The program
//
// With μ̂ and se the estimates of the arms' goals and their errors, ĝ_j(p) the estimated slack of
// guardrail j as a linear function of the mixture p, and Σ_j the covariance of the contrasts,
//
//	maximize   f(μ̂ + z_up·se)  over mixtures p
//	subject to ĝ_j(p) − z·√(p'Σ_j p) ≥ 0  for each hard guardrail j
//
// in the chosen memories of package compare. What is served has z_up = 1 and z = 3, what is
// deployed z_up = −1/4 and z = 2. It is a second-order cone program. Linear programs approach it:
// the first with the arms' own errors, which is inside the cone; the others with tangents √(p'Σp) ≥
// (Σp₀)'p/√(p₀'Σp₀) at the solutions so far, which are outside. Each solution is moved towards the
// control until all guardrails hold exactly, and the best of them is taken.
//
// # The control's slack
//
// That the control holds the guardrails is the premise of all that is served. So its own slack is
// its estimate, less 1.5 standard errors of rounds only and never below 0; the noise of its units
// is in the contrasts already.
//
// Of an absolute limit, how far the control holds it is an estimate. A slack of n standard errors
// of units is taken for 1 − (e/n)² of it, with e = 1 in what is served and 1.65 in what is
// deployed.
//
// # The recent memory
//
// Guardrails must also hold in one recent memory r, with a·z standard errors of it, where a = ½(1 +
// (slack(p) − slack_r(p))/se) within 0 and 1, for the standard error se of this difference. Where
// recent rounds look like all rounds a is a half, and the constraint is weak. Where many arms drift
// against the control, the differences of a mixture add up before those of an arm are seen.
//
// # Exploration
//
// What is served is (1 − ε)·p⁺ + ε·q with ε = min(½, 1/√t), moved towards the control until the
// guardrails hold. A third of q is the control's. The others are the arms that could be better at
// the program's prices, alike, and the rest a tenth of that, each less, the more of the control's
// slack a unit of it takes. An arm about which nothing is known counts with the worst value of its
// range. Without a range the share of all such arms is bounded ([Options].Probe).
package mixture
