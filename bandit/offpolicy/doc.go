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
//   - [Shrinkage]: the doubly robust term with the weight λ·w/(w² + λ) in place of w (Su,
//     Dimakopoulou, Krishnamurthy and Dudík 2020). λ is chosen by the data, for the smallest estimated
//     mean squared error.
//   - [Direct]: the mean of Σ π(a)·m(a), the direct method. Its bias is that of the predictions.
//
// Begin with DoublyRobust. Look at [Weights] before believing any number: if the effective sample
// size is 50, then a log of a million rows says as much about the target as 50 rows of its own.
//
// # The intervals
//
// Each [Estimate] has two guaranteed intervals for the value, and one that is approximate. OneLook
// holds for a number of rows fixed before; Sequence may be looked at after every row. Both are by
// betting ([confseq.Betting]; Waudby-Smith and Ramdas 2024), for terms without an upper bound as in
// Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro (2024). For rewards in [0, 1] the lower end
// is that of the terms w·r, and the upper end that of the reflected ones, w·(1 − r), each at half
// of alpha: terms of at least 0, so heavy weights do no harm beyond the variance that they cause,
// and no bound of the weights is needed. The logging policy may learn from earlier rows. They
// assume:
//
//   - the logged propensities are right;
//   - the rewards are within their range;
//   - the value is the same in all rows, as it is if the contexts are drawn from one distribution.
//
// They hold even if the logging policy never chooses some of the target's arms. Clipped and Switch
// have the intervals of their own terms, with the worst case of what they leave out. Those of
// SelfNormalized and DoublyRobust bet half of the wealth on the terms of IPS and half on terms with
// the predictions as control variates, d + w·(r − m), which vary less. These need a bound for the
// weight of the row that is known before the arm is drawn: the largest π(a)/p(a) of the row, if the
// log has the probabilities of all arms, or EvaluatorOptions.MaxWeight, which assumes too that each
// arm with π(a) > 0 has p(a) > 0. Without a bound the second half is not bet, so that a bound never
// makes an interval wider. Shrinkage and Direct have the intervals of DoublyRobust: those are for
// the value, not for the estimate, which need not be in their middle, and not even inside.
//
// Approximate is Value ± the normal quantile times StandardError. It guarantees nothing.
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
