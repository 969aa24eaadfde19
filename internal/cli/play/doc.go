// Package play has the commands of games against learners with known truth: play and its lists of
// learners and games, simulate for the learners of the service, and papers.
package play
