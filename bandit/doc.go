// Package bandit finds the best of several arms with scalar losses or rewards.
//
// # The problem
//
// Each pull of arm k yields a loss, or a reward, with an unknown mean. A bandit learns which mean
// is best while it pulls: every pull of a worse arm costs the difference of the means.
//
// # Rules and drivers
//
// A [Rule] is an algorithm without its state: it computes an index of each arm, a posterior or a
// distribution from the statistics of the arms. Two drivers keep the statistics and draw:
//
//   - [Player] plays in rounds of one pull, on losses: Draw chooses the arm, Update takes its loss.
//     It is for the theory: most rules come with the bound of their theorem as a function.
//   - [Batched] learns from batches of pulls, on rewards: many pulls are drawn from one
//     distribution, and their rewards arrive together, perhaps after later batches have been drawn.
//     It needs only the number, the mean and the variance by arm. It is for a service: see
//     [BatchRule] for its rules.
//
// The rules of players:
//
//	losses                         rule                            regret, up to constants
//	in [0, L], by an adversary     Exp3, AnytimeExp3               L·√(d·T·ln d)
//	  with high probability        Exp3IX                          L·√(d·T·ln d)
//	  without ln d                 INF, tuned to T                 L·√(d·T)
//	in [−L, L], by an adversary    ExploringWeights                L·(d·T)^(2/3)
//	in [0, L], of any kind         TsallisINF                      √(d·T) and Σ ln T/Δ
//	independent, subgaussian       AlphaUCB                        Σ ln T/Δ
//	  known horizon                MOSS                            σ·√(d·T)
//	  known gap and horizon        ExploreThenCommit               ln T/Δ
//	  unknown variance             Elimination                     Σ ln(d·T)/Δ
//	independent, in [0, L]         KLUCB                           Σ Δ·ln T/kl
//	independent, 0 or 1            BernoulliThompson               Σ Δ·ln T/kl
//	independent, normal            GaussianThompson                Σ ln T/Δ
//
// The regret against an adversary is the expected one against losses that do not depend on the
// draws. A player knows the propensities of its draw, [Player.Probabilities]; those of Thompson
// sampling take a quadrature.
//
// # Feedback that is late or lost, arms that come and go
//
// [Delayed] plays a [Player], or an algorithm of the caller's own, where a loss comes later, or
// never, and where some arms are not allowed in some rounds. A choice has an id and the propensity
// of its draw; the loss comes with the id. Arms can be retired, and added to UCB, KL-UCB,
// elimination and Thompson sampling.
//
// Everything is deterministic given the draws. Nothing here is safe for concurrent use.
package bandit
