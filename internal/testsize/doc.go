// Package testsize selects the size of tests. Tests with many random runs (Monte Carlo tests,
// property tests of whole learners) have a full form, `make montecarlo`, and a short form for
// -short and for the race detector, which slows them down tenfold and looks for other defects:
//
//	runs := testsize.Of(1000, 100)
package testsize
