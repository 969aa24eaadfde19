// Package play has the commands of games against learners with known truth: play and its lists of
// learners and games, and simulate for the learners of the service.
package play
