// Package scenario plays the learners of package pasto on worlds whose truth is known, and measures
// what they deploy.
//
// A scenario ([Scenarios]) is a family of worlds: arms with metric means, noise, groups per round.
// [Run] plays it many times in parallel and reports the value of the deployed mixture under the
// true means, next to the value of the best single arm and the certified optimum over mixtures. The
// relative gain is 0 at the best single arm and 1 at the optimum.
//
//	o, err := scenario.DefaultOptions("b")
//	o.Runs, o.Seed = 100, 1
//	r, err := scenario.Run(ctx, o)
//	fmt.Println(r.Gain.Ratio)
//
// Results are the same bytes for any number of workers.
//
// [Truth] is the core that other worlds with known means take from here: the best arm and the
// certified best mixture of a table of means, and the score of any mixture.
package scenario
