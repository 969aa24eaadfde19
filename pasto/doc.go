// Package pasto learns a distribution over settings under guardrails.
//
// # The problem
//
// A recommender, an auction or an alerting system ends in a few numbers that trade goals off:
// weights, thresholds, quotas. Each candidate setting is an arm k with metric means μ_k that only
// an experiment reveals. Teams pick one arm. Serving a mixture p of the arms (each visit draws its
// arm from p) gives the population the mean θ = μp of every metric that is counted per unit, and
//
//	max_{p∈Δ} f(μp) ≥ max_k f(μ_k)
//
// for every concave f, often strictly: of two arms with (gain, guardrail) = (2, −2) and (0, 2) and
// the demand guardrail ≥ 0 the first is forbidden, the second is worth 0, and half of each is worth
// 1. That is the discovery of Ding et al., "PASTO: Strategic Parameter Optimization in
// Recommendation Systems – Probabilistic is Better than Deterministic", called "the paper" in the
// packages below.
//
// # Packages
//
// This package holds the problem and the interface of its learners:
//
//   - [Metric] and [Goals] state the problem: goals with weights or their soft minimum, and guardrails
//     as squared penalties, hard, or relative to a control group, each of its own kind. [Utility] is
//     any other concave objective. [CheckConcave] tries to refute concavity; learners call it for
//     objectives with a finite box.
//   - [Learner] is an experiment: draw arms, observe groups, deploy a mixture. [Roster] is a learner
//     whose arms come and go while it runs; all learners below are.
//
// The rest of the house builds on it:
//
//   - pasto/catalogue lists the learners by name and makes them: start there.
//   - pasto/optimum solves the problem for known means, with a certificate, and tells whether
//     guardrails can be held at all.
//   - pasto/confident is the default learner: means, standard errors and exact solutions. Where a
//     control arm holds the guardrails, experiment/propose/mixture has another.
//   - pasto/ascent is the paper's Algorithm 1 with a choice of estimators and schedules, its bounds,
//     and its baseline S-SCGD.
//   - pasto/single looks for the best single arm by the rules of package bandit.
//   - pasto/box looks for a mixture of points of a box and chooses its arms itself.
//   - pasto/scenario measures all of them in worlds where the truth is known.
//
// # How to use it
//
// See the example of package catalogue. A round is: Draw arms for the groups of units, serve them,
// and Observe each group's raw mean metrics, with sizes where groups differ, and the control
// group's where a guardrail is relative. Log Serving, the propensities. Deployed is the mixture to
// deploy at any time. Measure its value on held-out rounds, as an estimate from the same data is
// biased upward.
//
// # Guarantees
//
// Learners are deterministic given the draws; the caller supplies the randomness. Input that breaks
// a rule is refused before any state changes. A restored snapshot continues bit for bit, on any
// machine, and is refused for another objective. Observe allocates nothing once its buffers have
// grown, also with hard guardrails.
//
// lab/docs/pasto.md has all measurements, how the constants were chosen, and the commands.
package pasto
