// Package bandit finds the best of K arms with scalar rewards or losses.
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
// # Batches
//
// [Batched] learns from batches of pulls, of which it needs only the number, the mean and the
// variance by arm. The batches may arrive late, after others have been drawn. It has the rules
// Thompson sampling, with exact probabilities, UCB, KL-UCB and Tsallis-INF: see [BatchRule].
//
// # Players of the theory
//
// A [Player] is an algorithm on losses with one pull a round: Draw chooses the arm, Update takes
// its loss. Most come with the bound of their theorem as a function. Take these where a
// guarantee counts, and [Bandit] where rewards come in groups or arms come and go.
//
//	losses                         player                          regret, up to constants
//	in [0, L], by an adversary     Exp3, anytime or tuned to T     L·√(d·T·ln d)
//	  with high probability        Exp3IX                          L·√(d·T·ln d)
//	  without ln d                 INF, tuned to T                 L·√(d·T)
//	in [−L, L], by an adversary    ExploringWeights                L·(d·T)^(2/3)
//	in [0, L], of any kind         TsallisINF                      √(d·T) and Σ ln T/Δ
//	independent, subgaussian       AlphaUCB                        Σ ln T/Δ
//	  known horizon                MOSS                            σ·√(d·T)
//	  known gap and horizon        ExploreThenCommit               ln T/Δ
//	independent, in [0, L]         KLUCB                           Σ Δ·ln T/kl
//	independent, 0 or 1            BernoulliThompson               Σ Δ·ln T/kl
//	independent, normal            GaussianThompson                Σ ln T/Δ
//
// The regret against an adversary is the expected one against losses that do not depend on the
// draws. A [Randomized] player knows the propensities of its draw; those of Thompson sampling take
// a quadrature, see [Delayed.Distribution].
//
// # Feedback that is late or lost, arms that come and go
//
// [Delayed] plays any of these players where a loss comes later, or never, and where some arms are
// not allowed in some rounds. A choice has an id and the propensity of its draw; the loss comes
// with the id. Arms can be retired, and added to UCB, KL-UCB and Thompson sampling.
//
// # Other scores
//
// A [Chooser] applies a rule to any score with a standard error and a sample for each arm
// ([Scores]): package pasto/single uses it for arms with many metrics.
//
// Everything is deterministic given the draws; the seed of [Thompson]'s samples comes from the
// rewards. Nothing here is safe for concurrent use.
package bandit
