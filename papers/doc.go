// Package papers reproduces tables and figures of the literature with the
// packages of this module, number beside number.
//
// Each reproduction is a function that returns a [Table]: what was measured here beside a reference
// value that the package records. The command noregret papers prints the tables, and the package's
// tests hold every cell to its tolerance ([Cell.Tolerance]).
package papers
