// Package classify trains linear classifiers.
package classify
