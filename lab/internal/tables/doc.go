// Package tables measures the paper's algorithm, its fixes and the default learner in the settings
// of a reference implementation, and compares them cell by cell with its tables
// (lab/docs/pasto.md). It has tests only. Most of them run with NOREGRET_FULL=1 alone:
//
//	make tables
package tables
