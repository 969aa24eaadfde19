// Package law says how the values of units scatter around the mean of their arm, and how the level
// of means moves over rounds. Games of bandits, the scenarios of "noregret simulate" and the worlds
// of the laboratory draw their values here.
//
//   - [Law] is the distribution of one unit's value, given its mean: normal, bernoulli, poisson, or
//     lognormal for most of which is 0. It draws one unit, or the mean and the sample variance of a
//     group in one step.
//   - [Level] is the factor of all means in a round, of [Season] waves, growth and shocks.
//   - [Lognormal] draws a factor of mean one.
//
// Draws take uniform numbers from a source and nothing else. The same numbers give the same bits on
// every machine. No method changes its receiver, so all of them may be called concurrently if the
// sources differ. Means and parameters are not checked: callers do so where they read them.
package law
