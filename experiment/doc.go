// Package experiment is the pure core of the decision service: what an experiment is, who gets which arm,
// and what is known of the arms. It has no I/O and no clock.
//
// # Decisions
//
// A decision is a pure function of (policy version, salt, unit). [Hash] turns salt and unit into 64 bits; a
// [Split] turns a distribution over arms into bounds on those 64 bits, so that the probability of an arm is
// a whole number of 2^-64ths and the propensity that is logged is exactly the one that was used. Any
// process that has the split decides the same, without asking.
//
// # Tokens
//
// What was decided, with which propensity, travels with the unit as a signed [Token] and comes back with
// the feedback. A token that was changed, that another experiment or another key signed, or that is too old
// is refused.
//
// # Intervals
//
// A guardrail is watched all the time, so its interval must hold all the time: [Sequence] is a confidence
// sequence, valid at every number of observations at once, unlike an ordinary confidence interval.
package experiment
