// Package pasto learns a distribution over settings under guardrails.
//
// # The problem
//
// A recommender, an auction or an alerting system ends in a few numbers that trade goals off: weights,
// thresholds, quotas. Each candidate setting is an arm k with metric means μ_k that only an experiment
// reveals. Teams pick one arm. Serving a mixture p of the arms (each visit draws its arm from p) gives the
// population the mean θ = μp of every metric that is counted per unit, and
//
//	max_{p∈Δ} f(μp) ≥ max_k f(μ_k)
//
// for every concave f, often strictly: of two arms with (gain, guardrail) = (2, −2) and (0, 2) and the demand
// guardrail ≥ 0 the first is forbidden, the second is worth 0, and half of each is worth 1. That is the
// discovery of Ding et al., "PASTO: Strategic Parameter Optimization in Recommendation Systems –
// Probabilistic is Better than Deterministic", called "the paper" here.
//
// # What is here
//
//   - [Metric] and [Goals] say what is wanted: goals with weights or their soft minimum, guardrails as squared
//     penalties, hard, or relative to a control group ([Goals.Contrast]). [Utility] is any other concave
//     objective; [CheckConcave] tries to refute it.
//   - [BestSingle], [Maximize] and [MaximizeHard] solve the problem for known means, with a certificate;
//     [CheckFeasible] tells whether guardrails can be held at all, and what is missing if not.
//   - [Learner] is an experiment: draw arms, observe groups, deploy a mixture. [NewByName] makes one, [Algorithms]
//     lists them: [Confident] is the default; [Algorithm] is the paper's Algorithm 1 on oco's exponentiated
//     gradient with a choice of [Estimator]; [SCGD] is its baseline; [Single] looks for the best arm only.
//   - [Continuous] looks for a mixture of points of a box.
//   - Package scenario measures all of them where the truth is known.
//
// # How to use it
//
// See the example. A round is: Draw arms for the groups of units, serve, and Observe each group's mean metrics,
// with sizes where groups differ. Log Serving, the propensities. Deployed is what to ship at any time; what it
// is worth must be measured on held-out rounds, as an estimate of its own value is biased upward.
//
// # The default, and why not the paper's
//
// Algorithm 1 weighs an observation by 1/p. With 100 arms a neglected arm has p = ε_t/K = 0.001/√t, one draw
// adds 100·û/√t to its estimate, and the error decays like t^−¼: progress is made and lost again (spec 9.2). Its
// fixed step 0.1/K is slow besides. Clips and floors mend the first and not the second (spec 9.3). [Confident]
// has neither weight nor step. It solves the plug-in problem exactly, in rounds that grow by 5 % and whenever an
// arm's observations have doubled, once with estimates moved up by two standard errors, to learn from, and once
// moved down by half of one, to deploy.
//
// Relative gain R of the deployed mixture on the paper's random instances (100 arms, 10 groups a round; 1 is the
// optimum, 0 the best single arm, below 0 is worse than that), at t = 10³, 10⁴, 3·10⁴, 10⁵, 3·10⁵:
//
//	algorithm              noise σ  runs     10³     10⁴   3·10⁴     10⁵   3·10⁵
//	default                0.1       200    0.998   1.000
//	default                0.5       200    0.96    0.985
//	default                1        1000    0.90    0.986
//	default, as served     1        1000    0.22    0.952
//	default                5         200   −2.2     0.45    0.85    0.94    0.98
//	paper, average         0.1       100  −13.3    −2.39   −0.34
//	paper, last iterate    1          60   −7.6     0.16   −0.74
//	paper, average         5          60  −25     −33
//	weights clipped at 10K 1          60   −3.8     0.29    0.72
//	arm means              1          60  −13.2    −2.3
//
// The paper's toy with noise of standard deviation 5, mean objective at t = 10², 10³, 10⁴ over 1,000 runs
// (optimum 1.0125, best single arm 0): default 0.33, 0.93, 0.997; paper −0.32, 0.35, 0.83; S-SCGD −0.49,
// −0.19, 0.11. With variance 5 and a drop of the second arm's guardrail from 2 to 0.5 at half-time, the
// optimum falls to 0.432; 5,000 and 15,000 rounds later the default has 0.418 and 0.429 over 300 runs,
// "discounted" 0.388 and 0.389, "practical" 0.417 and 0.400, and before the change 1.010, 0.986 and 1.004.
//
// How optimism z and caution c were chosen: R at 10⁴ rounds with σ = 1 (100 runs), at 3·10⁴ with σ = 5 (60
// runs), and the toy's mean at 10⁴ with σ = 5 (300 runs):
//
//	 z     c = 0                  c = 0.5                c = 1
//	0.5    0.73   0.22  0.990     0.70   0.15  0.989     0.65   0.08  0.971
//	1      0.93   0.68  0.994     0.90   0.71  0.993     0.90   0.58  0.982
//	2      0.989  0.87  1.001     0.980  0.87  0.997     0.976  0.75  0.985
//	3      0.991  0.89  1.001     0.985  0.84  0.997     0.989  0.76  0.985
//
// Too little optimism leaves arms frozen on bad first samples, too much caution delays what is good. 2 and 3
// differ by less than the runs tell, and 2 serves at less cost; c = 0.5 costs little late and helps early (R =
// −25 in place of −31 at t = 100 with σ = 5). The share of the optimistic mixture in what is served, min(½,
// 5·t^−⅓), trades what learning costs for its speed: with 2 in place of 5 the 0.87 is 0.25. Solving only in
// rounds that grow by 5 %, without the rule of doubling, gave 0.74, and 0.46 in place of 0.95 as served with σ =
// 1. TestMeasure of package scenario prints any of these.
//
// # Promises
//
// Learners are deterministic given the draws; randomness is handed in. What breaks a rule is refused before
// anything changes. Snapshots continue bit for bit, on any machine. Observe allocates nothing.
package pasto
