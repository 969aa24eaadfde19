// Package dataset reads labelled examples from disk.
package dataset
