// Package guard judges the guardrails of an experiment: which state each has, which arms are
// stopped, when a mixture is shrunk towards the control arm, and when the next stage of a ramp may
// begin.
//
// # What it reads
//
// [Evidence] has the definition, the sums of all arms with those of the versions that are open
// (package join) and the comparisons with the control by the versions that have closed (package
// compare). All bounds are confidence sequences: they hold at all times at once, so that judging
// after every event breaks no promise. Each guardrail spends its alpha once: most of it on the
// sequence of all that was served, the rest on those of the arms and on early values.
//
// A guardrail with a fixed limit is judged by the arms' values. One relative to the control is
// judged by contrasts within versions, so that what all arms of a version have in common cancels.
// [Mix] makes the slack of a mixture of those of its arms.
//
// In a metric with a default the values that arrive before a window has closed count as well: those
// of a fixed limit by a bound of their rate, those of a relative one by [Versus].
//
// # What it asks for
//
// [States.Judge] updates the states and returns a [Verdict]: a [Demand] for another policy version,
// and notes. It calls nobody back. The fold turns the demand into an event, begins the version, and
// judges again. [States.Shrink] moves a mixture that a policy has proposed, [States.Points] records
// what was known when a version ended, and [Ramp] says what a stage still waits for.
//
// # State
//
// [States] is plain data: the state of each guardrail, what guardrails have done, and the sums of
// early comparisons. [Stopped] is kept with each arm. A [Cache] changes only how long things take.
package guard
