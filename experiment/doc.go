// Package experiment is the pure core of the decision service: what an experiment is, who gets
// which arm, what the arms have shown, and what is served next. It has no I/O, no clock and no
// randomness of its own.
//
// # State
//
// [State] is a fold over events: hand [State.Apply] every [Event] of a log in order. The same
// events give the same state, bit for bit, on every machine; [State.Digest] names it in 64
// characters. Time comes from the events. [State.Due] says what time has made possible, such as
// closing a round, and the host appends that as an event like any other. [State.MarshalBinary] is a
// snapshot of the fold.
//
// # What is served
//
// An event that begins a policy version says what the version serves: a [Serving]. The host makes
// it: [State.Try] asks the policy what to serve, and returns the event as the log is to hold it.
// Folding the log asks no policy. So a later policy changes nothing of what was served, explained,
// reported or tested, and the digest leaves out what a policy has learned. [State.Proposal] says
// what the present policy would propose instead. [State.Step] is for hosts without a log, such as
// simulations.
//
// # Definitions
//
// [definition.Parse] reads a [definition.Definition] (YAML or JSON) and refuses what breaks a rule,
// with file, line and path. [State.Plan] turns it into the events that make an experiment be what
// it says.
//
// # Decisions
//
// A [policy.Policy] is one version of how an experiment decides: a pure function of the unit.
// [policy.Hash] turns salt and unit into 64 bits; a [policy.Split] turns a distribution over arms
// into bounds on those 64 bits, so that the probability of an arm is a whole number of 2^-64ths and
// the propensity that is logged is exactly the one that was used. Its JSON form lets any process
// decide the same, without asking.
//
// # Feedback
//
// What was decided, with which propensity, travels with the unit as a signed [policy.Token] and
// comes back with the feedback. A token that was changed, or that another experiment or another key
// signed, is refused by the [policy.Signer]; one that is too old by the fold, as late. A unit
// counts when its exposure is reported, once for each policy version; each of its metrics counts
// once, within the attribution window; late and duplicate values, and values of units that were
// never exposed, are counted. Sources of high volume send sums instead ([api.Aggregate]), which
// count once for each sequence number.
//
// # Learning
//
// When a version's window has closed, the learner observes what each arm's units have shown. When
// the round closes, the host asks it for a new mixture: of package pasto, of a bandit, or a fixed
// one.
//
// # Intervals
//
// A guardrail is watched all the time, so its interval must hold all the time: [confseq.Sequence]
// is a confidence sequence, valid at every number of observations at once, unlike an ordinary
// confidence interval. For metrics with a range it is exact, from the first observation on; for
// others it is asymptotic.
package experiment
