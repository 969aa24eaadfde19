// Package ascent holds the stochastic gradient learners of package pasto: Algorithm 1 of the paper
// ([New]) with a choice of estimators ([Estimator]) and schedules ([Schedule]), and its baseline
// S-SCGD ([NewSCGD]).
//
// Both keep a distribution π_t over the arms by exponentiated gradient, serve p_t = (1−ε_t)·π_t +
// ε_t/K, and step along an estimate of the gradient of p ↦ f(μp). The mirror step is that of
// [oco.ExponentiatedGradient], fed with −γ_t·g_t: its logarithms, checks and snapshots are oco's.
//
// [PaperOptions] are the settings of the paper's experiments, [TheoremOptions] those of its Theorem
// 1, [PracticalOptions] those that behave best with many arms and noise, and [TrackingOptions]
// those for means that drift, in any unit. [Algorithm.Bound] is the theorem's right-hand side, and
// [SupportedBound] what its proof supports. With many arms and noise, importance weights make
// progress and lose it again. Package confident, the default learner, uses neither weights nor
// steps.
package ascent
