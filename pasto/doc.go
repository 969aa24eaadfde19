// Package pasto learns a distribution over settings under guardrails.
//
// # The problem
//
// A recommender, an auction or an alerting system ends in a few numbers that trade goals off: weights,
// thresholds, quotas. Each candidate setting is an arm k with metric means μ_k that only an experiment
// reveals. Teams pick one arm. Serving a mixture p of the arms (each visit draws its arm from p) gives the
// population the mean θ = μp, and
//
//	max_{p∈Δ} f(μp) ≥ max_k f(μ_k)
//
// for every concave f, often strictly: of two arms with (gain, guardrail) = (2, −2) and (0, 2) and the
// demand guardrail ≥ 0 the first is forbidden, the second is worth 0, and half of each is worth 1. That
// is the discovery of Ding et al., "PASTO: Strategic Parameter Optimization in Recommendation Systems –
// Probabilistic is Better than Deterministic", called "the paper" here.
//
// # What is here
//
//   - [Metric] and [Goals] say what is wanted; [Utility] is any other concave objective, [CheckConcave] tries to refute it.
//   - [BestSingle], [Maximize] and [MaximizeHard] solve the problem for known means, with a certificate.
package pasto
