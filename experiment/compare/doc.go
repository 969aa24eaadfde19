// Package compare is the store of an experiment: sums within rounds, by metric and pair of arms,
// from which all that compares arms is estimated. Verdicts on guardrails, lifts, reports and
// policies read it; nothing else keeps sums of feedback.
//
// # What is estimated
//
// A round is a policy version. In round t, metric i has the value u_t + δ_k in arm k: an effect of
// the round, which all arms share, and the arm's contrast with the control, δ_0 = 0. A round with
// n_k units of arm k with mean ȳ_k has the weights w_k = n_k/σ². For each metric the store sums
//
//	W_jk += w_j·w_k/Σw    b_j += w_j·(ȳ_j − ȳ_w)    S += Σ_k w_k·(ȳ_k − ȳ_w)²    F += arms − 1
//
// where ȳ_w = Σ w_k·ȳ_k/Σw. These are the normal equations of least squares of arms beside rounds:
// δ̂ = L⁻¹b with L = diag(W1) − W without the control, and Cov δ̂ = φ·L⁻¹ with the scatter φ = (S −
// b'δ̂ + 20)/(F − K + 1 + 20) of K arms. No residual of a round is kept. The level of the control
// is the mean of all units less their contrasts; its two standard errors, of units and of rounds,
// are apart.
//
// # Memories
//
// The sums are kept in four memories: of all rounds, and discounted so that a round's weight falls
// by 1/64, 1/24 and 1/8 with each round after it. [Store.Choose] takes for each arm the longest
// memory whose contrast agrees with those of all shorter ones (Lepski's rule); [Store.Recent] is
// the memory in which guardrails must hold beside it.
//
// # Weights
//
// The variance of one unit is that of all arms together, over all rounds so far: an arm's own
// variance would be as lucky as its mean, and rounds with few events would weigh more. An arm has
// its own only where that is at least twice the control's. Where a few units rule an arm's round,
// the round has its own variance and no part in the level.
//
// # Ratios
//
// A ratio Σx/Σy has two parts with common weights, those of x − r·y at the ratio r of all units.
// For every coefficient c the contrasts of x − c·y are linear in those of the parts
// ([Contrasts.Combine]), so a limit on a ratio, relative to the control's or absolute, is linear in
// the mixture.
//
// A [Store] has no clock and no randomness. It is not safe for concurrent use. Stores that have
// seen different rounds can be merged, and a snapshot is a version and plain numbers.
package compare
