// Package bandit finds the best of K arms with scalar rewards.
//
// # The problem
//
// Each pull of arm k yields a reward with the unknown mean μ_k. A bandit learns which mean is
// largest while it pulls: every pull of a worse arm costs the difference of the means. [Bandit]
// works in rounds. Serving is the distribution of the next pulls, the propensities to log; Observe
// ends the round with the rewards of any number of pulls. Best is the arm to use if the experiment
// ended now.
//
// # The rules
//
//   - [Elimination]: successive elimination (Even-Dar, Mannor and Mansour 2006). All remaining arms get
//     equal shares, and an arm leaves when its upper confidence bound is below the best lower one.
//   - [UCB]: the arm of the largest upper confidence bound (Auer, Cesa-Bianchi and Fischer 2002).
//   - [Thompson]: Thompson sampling (Thompson 1933): arms are served as often as they are best in
//     draws from the normal approximation of the posterior.
//
// Unobserved arms come first. The variance of rewards is estimated, pooled over the arms.
//
// # Other scores
//
// A [Chooser] applies a rule to any score with a standard error and a sample for each arm
// ([Scores]): package pasto/single uses it for arms with many metrics.
//
// Everything is deterministic given the draws; the seed of Thompson's samples comes from the
// rewards. Nothing here is safe for concurrent use.
package bandit
