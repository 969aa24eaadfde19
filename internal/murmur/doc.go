// Package murmur is MurmurHash3, by which Vowpal Wabbit numbers features and checks the headers of
// its model files.
package murmur
