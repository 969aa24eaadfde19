// Package confident is the default learner of package pasto. It keeps confidence bounds of the
// arms' means and solves the plug-in problem exactly.
//
// # Why not the paper's algorithm
//
// Algorithm 1 (package ascent) weighs an observation by 1/p. With 100 arms a neglected arm has p =
// ε_t/K = 0.001/√t, one draw adds 100·û/√t to its estimate, and the error decays like t^−¼:
// progress is made and lost again. Its fixed step 0.1/K is slow besides. Clips and floors mend the
// first and not the second. [Learner] has neither weight nor step. It solves the plug-in problem
// exactly, once with estimates moved up by two standard errors, to learn from, and once with
// estimates moved down by half of one, to deploy. As there is no rate at which to move, it uses the
// solver of package optimum and not the mirror learners of package oco.
//
// # Parts
//
// A round goes through them in this order. The statistics are a package of their own,
// pasto/internal/mixed: the moments of the arms, the noise, whose effects are those of rounds, and
// a detector that begins arms anew that have changed. The planner solves with their estimates by
// [optimum.Partial], under the bounds of the guard. What is served mixes the solution with what
// explores, and the guard makes that safe.
//
// # Hard guardrails
//
// With a control arm ([Options]) what is served holds hard guardrails in every round, from the
// first, with a stated probability ([Learner.Promise]): each arm has a bound that is valid at any
// time, an arm without data the worst value of its range, and a mixture is served only where its
// bounds hold. Without a control arm they take a caution of two standard errors in place of half of
// one in what is deployed, and what is served to learn is under no promise.
//
// # Private experiments
//
// [Learner] can learn from sums that were released with noise ([pasto.Noise], package
// pasto/released), so that what it serves is as private as the sums are. Errors and the promise
// allow for the noise. What it sees of a round says nothing on effects of rounds below the noise:
// the promise takes them for 0 there.
//
// # Means that change
//
// What the arms of a round have in common, a season, growth, the shock of a day, cancels in their
// comparison and is no change. An arm that has changed is begun anew (see [Learner]). Package
// pasto/drifting makes the learner forget more than that.
//
// lab/docs/pasto.md has the measurements, which rule pays where, and the cost; lab/docs/arena.md
// has the learner beside its peers on problems as users have them.
package confident
