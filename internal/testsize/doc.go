// Package testsize says in which size tests run. Those that draw many random runs (Monte Carlo
// tests, property tests of whole learners) have a full form, `make montecarlo`, and a short one for
// -short and for the race detector, under which they take ten times as long and which looks for
// other defects than they do:
//
//	runs := testsize.Of(1000, 100)
package testsize
