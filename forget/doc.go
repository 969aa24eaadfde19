// Package forget says how a learner forgets, and when.
//
// A learner in a world that changes must not trust all that it has ever observed. There are five
// ways to forget, and a [Rule] names one of them. Its text form is what flags and pages use:
//
//	none              everything counts
//	memory=50         in each round the weight of what is known falls by 1/50
//	restart=500       the learner begins anew after every 500 rounds
//	window=500        only the last 500 rounds count
//	detector=cusum    the learner begins anew when a change detector reports a change
//	adaptive          the learner runs several memories and follows the one that has done best
//
// [Parse] reads a text and [Rule.String] writes it. Packages drift, classify and experiment
// take the rules that their learners can follow, and refuse the others.
//
// # When to restart
//
// A [Trigger] takes a number in each round, such as a loss, and says when to restart: [Every],
// [Never], [Detect] and [DetectRise]. [Rule.Trigger] makes the one of a rule.
//
// # What is left
//
// A [Memory] counts the rounds of a learner under a rule. It says when to restart, gives residuals
// to detectors, and returns how many rounds what is left is worth. It records what was forgotten at
// once. [Slide] keeps the rounds of a window, and [Mean] is a discounted mean.
//
// # Guarantees
//
// Everything is deterministic and allocates nothing in a round, except that a window keeps its
// rounds. A number that is not finite is refused before any state changes. A restored snapshot
// continues bit for bit. Nothing here is safe for concurrent use.
package forget
