// Package noisysums measures what privacy costs an experiment: how many rounds the default learner
// needs to 90 % of the gain when it sees nothing but released sums.
package noisysums
