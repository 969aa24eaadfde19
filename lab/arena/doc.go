// Package arena compares learners on families of problems as their users have them: rare events and
// revenue, seasons, growth and drift, late feedback, arms that crash, few units and many,
// guardrails that many arms break.
//
// # Worlds and families
//
// A [World] is one problem with its truth: the objective, the arms' means, the traffic of each
// round, the distributions of the metrics over units. Arm 0 is the control, which holds every hard
// guardrail. A [Family] draws a world for each run from a seed; [Families] lists them with the
// distributions of their means. The best mixture of a world is certified by package optimum.
//
// # The same draws for all
//
// All learners of a run play the same world side by side. In each round a learner names a mixture
// p; of N units each arm serves p_k·N, rounded up or down with one random number that all learners
// share. The outcome of a group of n units of an arm is a function of the seed, the run, the round,
// the arm and n alone. For each (run, round, arm, metric) there is one standard normal number z: a
// count of events is the binomial quantile at z, a mean of normal values is the mean plus z
// standard errors, and buyers come in one order with the same amounts. So learners that serve an
// arm the same number of units see the same outcome, those that serve it about as many see nearly
// the same, and adding a learner does not affect the others. Differences between learners are those
// of the same runs.
//
// # Peers
//
// [Learners] lists the default learner (package confident) and its peers: what a good engineer
// would write in a hundred lines. Each is an estimator (the arms' means, or their effects beside
// those of rounds) with a policy (a uniform test, Thompson sampling, ε-greedy or optimistic linear
// programs). Those whose names end in "-safe" have a last step that keeps the served mixture within
// bounds that hold in all rounds together. The oracle knows the means.
//
// # Scores
//
// The value of a mixture is 0 for the control and 1 for the certified optimum. A violation of a
// hard guardrail costs twice its certified price, so that it never pays. A [Play] has the value of
// the mixture deployed at the end, the mean value of the served mixtures, and how far and how often
// guardrails were broken by the true means. A [Verdict] compares the default with the best peer of
// its [Caution], and with the best of all, among those that keep the guardrails. Level means not
// behind by more than two standard errors of the paired difference.
//
// lab/docs/arena.md has the figures; noregret-lab arena prints them.
package arena
