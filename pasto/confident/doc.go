// Package confident is the default learner of package pasto for problems without a control: the
// paper's setting. It keeps the mean and the standard error of each arm and solves the plug-in
// problem exactly, once with optimism, to learn, and once with caution, to deploy. Nothing is
// promised of what it serves. Where a control arm holds the guardrails, a policy that compares arms
// within rounds can keep to them in what it serves; it is another learner.
//
// # Why not the paper's algorithm
//
// Algorithm 1 (package ascent) weighs an observation by 1/p. With 100 arms a neglected arm has p =
// ε_t/K = 0.001/√t, one draw adds 100·û/√t to its estimate, and the error decays like t^−¼:
// progress is made and lost again. Its fixed step 0.1/K is slow besides. [Learner] has neither
// weight nor step.
//
// # Two programs
//
// For the means V̂ and the standard errors se of the arms,
//
//	optimistic p⁺ = argmax f((V̂ + z·se)·p),
//	cautious p⁻ = argmax f((V̂ − c·se)·p),
//
// where every metric is moved in its good direction and kept in its range ([optimum.Partial]). p⁻
// is deployed. Optimism brings data to the arms that could matter. Caution keeps an arm that was
// lucky in few rounds from being deployed (the winner's curse). Hard guardrails have a caution of
// their own, by Student's t with the rounds of the arm. Where no mixture holds them with all of it,
// it is halved until one does. The two are solved in rounds that grow by 5 %, where the data of an
// arm of p⁺ have doubled, and where an arm has changed. The result does not depend on the units of
// the metrics.
//
// # Exploration
//
// Let w be what p⁺ promises beyond p⁻, as a part of the range of the arms' rewards and 1 at most,
// and m = √(K/4) for K arms, at least 1. What is served is (1 − a)·p⁻ + (a − b)·p⁺ + b·uniform with
//
//	a = min(Share, Decay·w^⅔·m),  b = min(a/2, 0.15, Decay·w^⅔/(2m)).
//
// More arms need more to be told apart. Where w falls like 1/√t, a falls like 1/t^⅓. Arms that have
// not been observed have all the traffic at first and 1/K each later; arms with fewer than three
// rounds have half of that.
//
// # Standard errors
//
// A round of an arm is one observation, weighted by the size of its groups: what the groups of a
// round have in common, the shock of a day, is in the scatter between its rounds. An arm's variance
// is its own scatter and that of all arms for eight rounds. Variances of units
// ([pasto.Observation.Variances]) tell it from the first round on; where the scatter is larger by
// more than a standard error, they are raised to it.
//
// # Means that change
//
// The mean of each arm is kept over memories of 16, 64 and 256 of its rounds too, of values clipped
// at two standard deviations, so that rare events and outliers are no change. Where one of them
// differs from the mean over all rounds by more than ChangeThreshold standard errors, the arm
// begins anew. Optimism then takes what is known of the others from before for one round only, as
// an arm that was bad and is hardly served may have become the best.
//
// lab/docs/pasto.md has measurements and floors.
package confident
