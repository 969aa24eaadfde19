// Package tables measures the paper's algorithm, its fixes and the default learner on the product's
// scenarios, and compares them cell by cell with the tables of a reference implementation and with
// the default's floors (lab/docs/pasto.md).
//
// A table is data: rows that play an algorithm, and lines of a row that have a statistic beside
// what is stated of it. One function measures all of them.
package tables
