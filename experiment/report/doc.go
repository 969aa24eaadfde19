// Package report explains experiments to people. It reads what others keep, and nothing that it
// says is part of a digest: it can change without changing what the log means.
//
// [Facts] are what is reported from: the evidence and the states of the guardrails (package guard),
// the store of sums within versions (package compare) and the objective. From them come
//
//   - [Facts.Values], [Facts.Regret] and [Facts.Optimum]: what arms and mixtures are worth by
//     comparisons within versions, against the best single arm and the best mixture;
//   - [Facts.Lift]: the comparisons of arms and mixtures with the control, with confidence
//     sequences that hold at all times;
//   - [Means]: the means of an arm's units;
//   - [Headline]: one sentence on what has been gained, whether the guardrails hold, and what to do
//     next.
//
// Two things need a state of their own, as the sums of others lack them. [Tight] fixes where the
// sequences of lifts are tightest as soon as there is enough data. [Uniform] compares what was
// served with the uniform policy by the units' propensities.
package report
