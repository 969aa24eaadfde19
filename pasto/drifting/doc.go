// Package drifting is the default learner of package confident with a memory that ends, for means
// that change.
//
// # Ways to forget
//
// A rule of package forget chooses one of five: restarts at intervals, discounts, a window of
// rounds, detectors that begin single arms anew, and the discount that has predicted best. All but
// restarts change what the statistics (package pasto/internal/mixed) know; the learner plans and
// serves by what is left, as it does without.
//
// [Learner.Events] tells what was forgotten at once, [Learner.Memory] how many rounds what is known
// is worth, and [Learner.Variation] estimates by how much rewards have varied.
//
// # Limits
//
// Sums that were released with noise (pasto.Noise) are refused: their noise cancels over all
// rounds, and not over those of a memory.
//
// docs/experiment-drift.md says how to choose, and lab/docs/pasto.md has the measurements.
package drifting
