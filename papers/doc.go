// Package papers reproduces tables and figures of the literature with the
// packages of this module, number beside number.
//
// Each reproduction is a function that returns a [Table]: what was measured here, and what the
// source (or the project's specification of it) states. The command noregret papers prints them,
// and the package's tests hold them to the tolerances of the specification.
package papers
