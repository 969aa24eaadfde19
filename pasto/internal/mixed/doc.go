// Package mixed estimates the means of arms from rounds of observations that have effects in
// common: one linear mixed model for each metric,
//
//	û_kt = μ_k + u_t + e_kt,   Var e_kt = σ²_k/n_kt,   Var u_t = τ²,
//
// for arm k with n_kt units in round t. It is the statistics of the default learner (package
// confident), which decides what to serve by them.
//
// # Parts
//
// The moments of each arm take the groups of a round together, as they are and adjusted by what the
// other arms of the round deviate by, so that u_t cancels in the scatter that tells σ². The noise
// estimates τ² from the products of two arms' deviations, and finds variances of units too small
// for the scatter between rounds. Where effects of rounds are shown package twoway compares arms
// within rounds, by least squares. The detector compares the newest values of an arm with its
// earlier ones, by package stretch, and [Model.Changed] begins those anew that have changed.
//
// A round goes to [Model.Observe] and then [Model.Changed]. [Model.Estimate] computes the means,
// which [Model.Mean], [Model.Square], [Model.Level] and [Model.Contrast] then read. The state is a
// [State], which can be put into a snapshot.
//
// # Errors
//
// σ² of an arm is mixed with the pooled one of the metric, worth 8 groups or 200 units. It is that
// of what an arm deviates by from the other arms of its rounds. Where pasto.Observation.Variances
// tell the variance of a unit it is that from the first round on, and the scatter between rounds
// can only raise it. τ² is the mean product of two arms' deviations in a round. Where it is surely
// above 0 in some metric, and the arms are at most 512, they are estimated jointly. Elsewhere each
// arm has its mean, with a squared error of σ²/n + τ²·Σ_t n_t²/n². With a control the effects of
// rounds are fixed and not random: a level that rises while the shares move to an arm makes that
// arm look better (Simpson's paradox), and random effects still believe a part of the plain means.
//
// # Noise
//
// Values from noisy sums (pasto.Noise) have noise that cancels over rounds: the mean of an arm is
// the last sum divided by its units, so that the variance of its noise is Total/n², which hardly
// grows with the rounds. That is exact for means whose weights are the units. Arms are therefore
// not estimated jointly, whose weights are others, and τ² counts only where it is shown, as the
// noise of single rounds would hide the rest. Differences of a round from the mean before have the
// noise of both, so that noise is neither an effect of rounds nor a change. Without square sums σ²
// is the largest variance that the mean and the range leave room for, (high − μ)·(μ − low), at a
// mean that is three errors nearer to the middle. Errors of two rounds are correlated, so that
// bounds for all rounds together are by the sum of probabilities, alpha/(t·(t+1)) in round t.
//
// # Changes
//
// Compared are, for each arm and metric, the newest round, the running 16 rounds and blocks of 32,
// 64, ... rounds with those before them, by contrasts with the other arms of the same rounds. A
// difference of Threshold standard errors, and as much more as a skewed or long-tailed metric
// needs, is a change of that arm. Where no arms are compared they are the arm's own values. With a
// control, an arm whose own values got worse while comparisons say nothing sure is a suspect at
// most ([stretch.Suspects]): it is compared with the control before it counts as changed. After a
// change of any arm that is found like this [Model.Moved] also goes by what each arm has had
// since.
//
// # Cost
//
// A round costs O(Q·M) for Q groups and M metrics, and O(Q²) where arms are estimated jointly.
// Estimates cost O(K·M) for K arms, and O(K³) for each metric of its own noise where they are
// joint, up to 512 arms. Memory is twelve tables of K·M numbers, another one after a change with
// Recheck, and K² numbers for the joint model.
package mixed
