// Package offpolicy computes the value of a policy from decisions that another policy made.
//
// # The problem
//
// A log has one [Row] per decision: the arm that was chosen, the probability with which it was
// chosen (its propensity), and the reward. The target policy would have chosen arm a with the
// probability π(a) in the same place. Its value is the mean reward that it would have had. The
// reward of another arm than the chosen one is unknown, so the mean cannot be read off the log. It
// can be estimated because the arms were chosen at random: a row counts with its weight
// w = π(a)/p(a), where a is the logged arm and p(a) its propensity.
//
// # The estimators
//
// An [Evaluator] computes all of them in one pass. With the weight w, the reward r, and a
// prediction m of the reward:
//
//   - [IPS]: the mean of w·r (Horvitz and Thompson 1952). Unbiased; varies much if weights are large.
//   - [SelfNormalized]: Σ w·r / Σ w (Hájek 1971; Swaminathan and Joachims 2015). Slightly biased, of
//     smaller variance, and in the range of the rewards.
//   - [Clipped]: the mean of min(w, M)·r (Ionides 2008). Too small for rewards above 0.
//   - [DoublyRobust]: the mean of Σ π(a)·m(a) + w·(r − m) (Dudík, Langford and Li 2011). Unbiased for
//     every prediction that does not depend on the row's own arm and reward.
//   - [Switch]: the doubly robust term, but the prediction alone where w is above τ (Wang, Agarwal and
//     Dudík 2017).
//
// Begin with DoublyRobust. Look at [Weights] before believing any number: if the effective sample
// size is 50, then a log of a million rows says as much about the target as 50 rows of its own.
//
// # The intervals
//
// Each [Estimate] has two intervals for the value. Bernstein is the empirical Bernstein bound of
// Maurer and Pontil (2009, Theorem 4): for independent rows and one look at a number of rows fixed
// before. Sequence is a confidence sequence from package confseq: it may be looked at after every
// row, and the logging policy may learn from earlier rows. Both assume that the value is the same
// in all rows, as it is if the contexts are drawn from one distribution. Both need the range of the
// rewards. Those of IPS, SelfNormalized and DoublyRobust also need a bound for the weights, such as
// one over the smallest probability that the logging policy gives an arm. Without one the Bernstein
// interval is the range of the rewards, and the sequence is asymptotic.
//
// Predictions from earlier rows make the terms of DoublyRobust and Switch depend on each other, so
// that their Bernstein intervals are exact for given predictions only. The sequences are exact for
// both.
//
// The intervals of Clipped and Switch are for the value itself, not for the mean of the estimator's
// terms: the worst case of the bias is inside. They need no bound for the weights, and they hold
// even if the logging policy never chooses some of the target's arms. Those of the other estimators
// do not: they assume that each arm with π(a) > 0 has p(a) > 0. The estimate need not be in the
// middle of these intervals, and not even inside.
//
// # Before: the log
//
// Wrong propensities make every estimate wrong, and little in an estimate shows it. A [Doctor]
// reads the same rows and reports what cannot be: propensities outside (0, 1] or without the sum 1,
// arms that do not exist or had no probability, duplicate rows, clocks that go back, counts of arms
// that do not fit the propensities.
//
// [NewJSONLines], [NewCSV], [NewDSJSON] and [NewExport] read logs; the last two read those of
// Vowpal Wabbit and of the decision service of this module. They check syntax and leave the rest to
// the Doctor and the Evaluator.
//
// Results have the same bits on every machine. Nothing here is safe for concurrent use.
package offpolicy
