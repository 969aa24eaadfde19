// Package mixture is the default policy of the decision service: the mixture of arms that is best
// by the estimates and their errors and holds every hard guardrail by some standard errors of the
// mixture.
//
// # The program
//
// With μ̂ and se the estimates of the arms' goals and their errors, ĝ_j(p) the estimated slack of
// guardrail j as a linear function of the mixture p, and Σ_j the covariance of the contrasts,
//
//	maximize   f(μ̂ + x·se)  over mixtures p
//	subject to ĝ_j(p) − z·√(p'Σ_j p) ≥ 0  for each hard guardrail j
//
// in the chosen memories of package compare. What is deployed has x = −1/4 for all arms and z = 2,
// or √(4 + log(K/10)) for more than ten arms: the best of many is lucky.
// What is served has z = 3 and is the mean of eight programs, in each of which the arms have other
// numbers x: Thompson sampling (Thompson, Biometrika 25, 1933), but the mean over the draws is
// served instead of one. An arm has each of the eight quantiles ±.16, ±.49, ±.89 and ±1.53 of the
// normal distribution once, in an order of its own that changes with the round. The mean of
// mixtures that hold the guardrails holds them too.
//
// It is a second-order cone program. Linear programs approach it:
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
// A drift is seen beside a control that is served. So the control has at least a tenth while the
// recent memory does not show by all z standard errors that the guardrails hold.
//
// Where an arm's change has shortened its memory, that memory still has rounds of before the
// change. The arm's slack is then lower once more by what it has lost from the next longer memory.
//
// # Exploration
//
// What is served is (1 − ε)·p⁺ + ε·q with ε = min(½, ½/√t), moved towards the control until the
// guardrails hold. A third of q is the control's. The others are the arms that could be better at
// the program's prices, alike; the rest have a tenth of that or less, in proportion to 1.5 standard
// errors beside what they are worse by. Each has less, the more of the control's slack a unit of it
// takes. No arm has more than ten times the share that it has had of the units of some 24 rounds,
// or a tenth where that is more: the best of many arms with few units is rarely as good as it
// looks. An arm about which nothing is known counts with the worst value of its range. Without a
// range the share of all such arms is bounded ([Options].Probe).
package mixture
