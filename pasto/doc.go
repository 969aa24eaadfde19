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
// Recommendation Systems – Probabilistic is Better than Deterministic", called "the paper" here.
//
// # What is here
//
//   - [Metric] and [Goals] say what is wanted: goals with weights or their soft minimum, guardrails as
//     squared penalties, hard, or relative to a control group, each of its own kind. [Utility] is any other
//     concave objective; [CheckConcave] tries to refute that, and learners do where it has a finite box.
//   - [BestSingle], [Maximize] and [MaximizeHard] solve the problem for known means, with a certificate;
//     [CheckFeasible] tells whether guardrails can be held at all, and what is missing if not.
//   - [Learner] is an experiment: draw arms, observe groups, deploy a mixture. [NewByName] makes one,
//     [Algorithms] lists them: [Confident] is the default; [Algorithm] is the paper's Algorithm 1 with a
//     choice of [Estimator]; [SCGD] is its baseline; [Single] looks for the best arm only.
//   - [Roster] is a learner whose arms come and go mid-run, as those of all of these do; [Continuous] looks
//     for a mixture of points of a box, and chooses its arms itself.
//   - Package scenario measures all of them where the truth is known.
//
// Every learner that makes a mirror step makes it with package oco: the weights of [Algorithm] and
// [SCGD] are an [oco.ExponentiatedGradient], fed with −γ_t·g_t, and keep its logarithms, its checks
// and its snapshots. [Confident], the default, was chosen by measurement and makes no such step:
// there is no rate at which to move, as it solves the problem of its estimates to the end, with the
// solver of [Maximize]. Nothing in it is a second copy of oco or convex: its scores are
// internal/vec.Dot; the simplex needs no projection where steps are between arms; and oco has no
// pairwise steps with a line search, no linear program and no confidence to lend. What it takes
// from the mirror learners is the mixing with exploration and the draws, which are package pasto's
// for all.
//
// # How to use it
//
// See the example. A round is: Draw arms for the groups of units, serve, and Observe each group's
// raw mean metrics, with sizes where groups differ, and the control group's where a guardrail is
// relative. Log Serving, the propensities. Deployed is what to ship at any time; what it is worth
// must be measured on held-out rounds, as an estimate of its own value is biased upward.
//
// # The default, and why not the paper's
//
// Algorithm 1 weighs an observation by 1/p. With 100 arms a neglected arm has p = ε_t/K = 0.001/√t,
// one draw adds 100·û/√t to its estimate, and the error decays like t^−¼: progress is made and lost
// again (spec 9.2). Its fixed step 0.1/K is slow besides. Clips and floors mend the first and not
// the second (spec 9.3). [Confident] has neither weight nor step. It solves the plug-in problem
// exactly, in rounds that grow by 5 % and whenever an arm's observations have doubled, once with
// estimates moved up by two standard errors (and slowly more), to learn from, and once moved down
// by half of one and with a price on what is not known, to deploy.
//
// Relative gain R of the deployed mixture on the paper's random instances (100 arms, 10 groups a
// round; 1 is the optimum, 0 the best single arm, below 0 is worse than that), over 1,000 runs (at
// 10⁵ over 60 of the paper's form), at t = 10³, 10⁴ and 10⁵ (where run):
//
//	noise σ    default                  the paper's form
//	0.1        0.999   1.000            −13.9   −2.52    0.51
//	0.5        0.976   0.996            −14.1   −2.56    0.32
//	1          0.897   0.987   1.00     −14.8   −2.65   −1.62
//	5         −2.04    0.50    0.96     −27.2  −32.9   −40.3
//
// The paper's toy with noise of standard deviation 5, mean objective at t = 10, 10², 10³, 10⁴ over
// 1,000 runs (optimum 1.0125, best single arm 0): default −1.29, 0.52, 0.93, 0.998; paper −0.81,
// −0.29, 0.31, 0.81. The toy's uniform start is by luck at 98.8 % of its optimum, and algorithms
// that move slowly stay there: before t = 50 or so the paper's form deploys the better mixture on
// it, and not on the random instances.
//
// Groups of one round are not taken to be independent: what they have in common, the shock of a day
// or the noise of the control group that relative guardrails share, counts once for each round (see
// [Confident]).
//
// Hard guardrails take a caution of two standard errors in place of half of one. In 1,000 runs of
// the toy the deployed mixture breaks one after 10⁴ rounds in 0.4 % of the runs for noise of 1 and
// of 5, at a cost of 0.014 and 0.070 of the optimum 1 (with half a standard error it was a quarter
// of the runs).
//
// All tables of the specification beside ours, how the constants were chosen, what was measured on
// real data, what it costs, and the commands: docs/pasto.md in the repository.
//
// # Promises
//
// Learners are deterministic given the draws; randomness is handed in. What breaks a rule is
// refused before anything changes. Snapshots continue bit for bit, on any machine, and belong to
// their objective. Observe allocates nothing once its buffers have grown, with hard guardrails too.
package pasto
