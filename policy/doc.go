// Package policy has what decides: policies, splits and decision tokens. Server and client decide
// by the same functions. It imports no other module. Package api has the forms in which the service
// takes and gives the rest.
//
// # Decisions
//
// A [Policy] is one version of how an experiment decides: a pure function of the unit. [Hash] turns
// salt and unit into 64 bits; a [Split] turns a distribution over arms into bounds on those 64
// bits, so that the probability of an arm is a whole number of 2^-64ths and the logged propensity
// is exactly the one that was used. [Policy.Seal] writes the JSON form, from which [Parse] makes a
// policy that decides the same in any process (docs/formats/policy.md). Units move between versions
// as rarely as the mixtures allow: [Split.Move].
//
// # Contexts
//
// A policy with a [Linear] also takes a context: a flat JSON object with the fields that [Feature]
// declares. An [Encoder] turns it into a vector x, and [Policy.DecideIn] draws the unit's arm from
// the exact distribution given x: that of LinUCB, of linear Thompson sampling or of inverse gap
// weighting. [Policy.ScoresIn] explains it, coordinate by coordinate. Package bandit/contextual
// learns the models.
//
// # Tokens
//
// A decision travels with the unit as a signed [Token] and comes back with the feedback. A [Signer]
// signs tokens and refuses those that were changed or signed by another key. [Policy.Explain]
// derives the decision of a token again, draw by draw.
package policy
