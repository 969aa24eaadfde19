// Package column has lists of numbers whose JSON is the base64 of their elements, little-endian:
// short, exact and the same everywhere. Snapshots of experiments have many of them.
package column
