// Package private holds differentially private learners that publish a point after every record,
// and private bandits with contexts.
//
// # Learning
//
// A [Problem] states a domain, the loss of a linear model and the constants to which records are
// clipped; all of them are public. [NewTOFW] and [NewPOFW] make a [Learner] from a problem and a
// budget:
//
//	domain, _ := private.NewBall(20, 2, 1)
//	problem := private.NewProblem(domain, private.Logistic(), 1, 1, 10000)
//	problem.Clip = 0.5
//	budget, _ := dp.GDPBudget(1, 1e-5)
//	learner, _ := private.NewTOFW(problem, private.Noise{
//		Kind: dp.Tree, Protection: dp.PerRecord(), Budget: budget,
//	})
//	for _, r := range records {
//		if err := learner.Step(r.X, r.Y); err != nil { ... }
//		publish(learner.Theta())
//	}
//
// Both are online Frank–Wolfe with recursive gradients (Han, Liang, Liang, Wang, Yao and Zhang, "On
// Private Online Convex Optimization: Optimal Algorithms in lp-Geometry and High Dimensional
// Contextual Bandits"). DP-TOFW publishes noisy prefix sums of gradients; DP-POFW chooses vertices
// of the domain and suits very many features. [MakePlan] compares them, with every kind of noise,
// before any data are seen. [SGD] is the baseline.
//
// # What makes it private
//
// Every increment is clipped, whatever the record, the loss and the code of the loss are, and
// rounded to a lattice; sums and noise are integers (package dp). No bound is assumed. A record
// with NaN or infinite numbers counts as a null record, without an error that others could see.
// Steps, errors and memory depend on the number of records and on public values only.
//
// Constants must not be chosen by looking at the private data. Clips, step scales and mechanisms
// that are compared on private data are releases of their own, and each costs its budget.
//
// # Choosing the clip
//
// Noise is proportional to [Problem].Clip. At 0 it is the largest norm that any increment can have,
// which costs much accuracy: see docs/privacy-learners.md. A smaller clip is always private.
//
// # Bandits
//
// [HDB] has one private learner per arm and steps all of them in every round, so that all arms
// together cost what one costs. [UCB] is the baseline. Both protect a user's context and reward
// from everyone else, not a user's own action.
//
// # Secrets
//
// Points, noisy sums, charges and statements are public. Snapshots ([Learner.MarshalBinary]) hold
// exact sums and noise and are secret. [Learner.Close] erases them from memory.
//
// docs/privacy-learners.md has the differences from the paper, with reasons, and measurements.
package private
