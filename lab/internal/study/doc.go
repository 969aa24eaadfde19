// Package study has what the laboratory's studies share: the runner of their runs, the means over
// runs, and the tables that they print.
//
// A study is a function from a [Runner] to a [Report]; [New] makes it a command. The runner plays
// runs several at a time, shows progress on standard error and stops when the program is
// interrupted. Results are in the order of the runs, so that a study prints the same for any number
// of workers. A report is printed as Markdown, or as JSON with the flag --json. An interrupted
// study prints the tables that it has.
package study
