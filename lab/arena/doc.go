// Package arena compares learners on families of problems as their users have them: rare events and
// revenue, seasons, growth and drift, late feedback, arms that crash, few units and many,
// guardrails that many arms break.
//
// The worlds, their families and the draws, which are the same for all learners of a run, are those
// of package world.
//
// # Peers
//
// [Learners] lists the policy of the service (package mixture) and its peers: what a good engineer
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
// guardrails were broken by the true means. Where package mixture plays, a table has it beside the
// best peer that was as safe in fact ([Row.Safe]), which is picked after the fact.
//
// lab/docs/arena.md has the figures; noregret-lab arena prints them.
package arena
