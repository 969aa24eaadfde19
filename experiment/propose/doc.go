// Package propose is what a policy of the decision service is: a pure function of a problem and the
// store of an experiment (package compare) to the shares that are served next, the shares that
// would be deployed if the experiment ended now, and the reasons for them.
//
// A policy has no clock, no randomness and no memory of its own: the same problem and the same
// store give the same proposal, bit for bit. What was served before is in the log of the service,
// and what it brought is in the store; a better policy changes neither.
//
// A [Problem] says what is wanted, in the numbers of the store: its arms, of which arm 0 is the
// control unless there is none, the goals, the guardrails and the bounds on shares. Package mixture
// has the policy of the service: it holds guardrails by standard errors of the mixture, or with
// strict bounds in all rounds together.
package propose
