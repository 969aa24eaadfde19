// Package optimistic learns a mixture of arms under hard guardrails from one observation or more a
// round, with a proof: a bandit with long-term constraints (Agrawal and Devanur 2014).
//
// Every metric of every arm has a confidence interval. In each round the learner serves the mixture
// that is best where all metrics are at the good ends of their intervals, the exact solution of the
// optimistic linear program, by package pasto/optimum. With probability at least 1 − δ all
// intervals hold at all times, and then
//
//   - the optimum of the true means is not above what the learner hopes for, so that the value that it
//     loses in a round is at most the length of the intervals under its mixture;
//   - the same holds for the violation of each guardrail.
//
// [Learner.Regret] and [Learner.Violation] are the sums of these lengths, certificates that the
// learner computes as it goes. [Bound] bounds both in advance: they grow with √(K·T·ln T).
//
// With a [Safe] arm, whose guardrail metrics are known, the learner is cautious: guardrails must
// hold at the bad ends, so that every round holds them with probability at least 1 − δ, and the
// intervals of the reward are widened to make up for it (Pacchiano, Ghavamzadeh, Bartlett and Jiang
// 2021).
//
// Package pasto/confident, the default, learns faster in practice: it estimates the noise, and its
// intervals are not for all times. Take this package where the guarantee counts.
package optimistic
