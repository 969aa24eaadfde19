// Package papers reproduces tables and figures of the literature with the
// packages of this module, number beside number.
//
// Each reproduction is a function that returns a [Table]: what was measured here beside a reference
// value that the package records. The command noregret-lab papers prints the tables and holds
// every cell to its tolerance ([Cell.Tolerance]).
//
// [RunDriftTables] measures two tables of simulations of a world that changes, and [RunDrift]
// single cells of them, for noregret-lab drift. [RunDriftRates] compares the growth of the
// regret there with the theory's bounds from above and below.
package papers
