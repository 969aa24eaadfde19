// Package drift keeps learners up with a world that changes.
//
// A learner that is good against the best fixed action falls behind when the best action moves: the
// longer its memory, the farther. Besbes, Gur and Zeevi ("Non-stationary Stochastic Optimization",
// Operations Research 63, 2015) show that it is enough to forget at the right times. If the costs
// of T rounds have a variation of at most V, the sum over the rounds of the largest change of the
// cost of an action, then a learner with static regret S(n) that is restarted every Δ rounds has a
// regret of at most
//
//	⌈T/Δ⌉·S(Δ) + 2Δ·V
//
// against the best action of every single round.
//
// # When to restart
//
// A trigger of package forget decides. [forget.Every] restarts after a fixed number of rounds:
// [Budget.BatchSize] gives the number for T, V and the [Setting]. [forget.DetectRise] restarts when
// a detector finds a rise of the losses, which suits rare and abrupt changes. [forget.Never] is for
// comparison. [forget.Rule.Trigger] makes the trigger of a text such as "restart=500".
//
// # What is restarted
//
//   - [Restarted] restarts learners of package oco and of package experts. Randomized expert play is
//     restarted by restarting its weights: experts.NewRandomized of a Restarted learner.
//   - [Player] restarts players of package bandit.
//   - [RestartedCost] restarts learners that see only costs: [EGS] for strongly convex costs, [BGD] for convex ones.
//   - [Restarter] restarts learners of any other type, such as classifiers.
//
// A restart forgets all ([Full]), or keeps the point and restarts only the step sizes ([Schedule]),
// which is better when the world drifts slowly; learners that try points near their own also need
// [Project].
//
// # Which learner
//
// With gradients, [NewRestartedDescent] does everything for a known budget, and [NewRetuned] needs
// no restarts at all. For an unknown budget take [Ader]; [Dyadic] hedges over restart intervals,
// and [Adaptive] has small regret on every interval and needs no horizon.
//
// With costs of single points take [EGS] or [BGD] in a [RestartedCost], and [OverBandit] for an
// unknown budget.
//
// # Guarantees
//
// A [DynamicBounder] bounds its regret against the minimizers of all costs, given their variation.
// Everything is deterministic: randomness is handed in, and the same numbers give the same bytes on
// every machine. A round allocates nothing, except that a restart may make a learner. Input that is
// not finite is refused before any state changes. Nothing here is safe for concurrent use.
package drift
