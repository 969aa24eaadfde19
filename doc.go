// Package noregret is the root of a module for decisions that are learned while
// they are made, with guarantees.
//
// A program meets a stream: at every round it must choose (a point, an arm, a
// label), then sees some feedback, and must do nearly as well as the best choice
// in hindsight. The packages below this one hold the games, the learners and the
// systems built of them; ARCHITECTURE.md shows the floors they stand on.
//
//   - dataset reads examples from disk: svmlight, CSV, JSON lines, IDX, the
//     binary cache.
//   - loss holds the concave rewards and convex losses.
//   - classify trains linear classifiers that maximize F1, G-mean, Q-mean, ...
//     directly, one example at a time.
//
// The package itself holds what all of them share: the [Error] type, with a
// [Code] that programs switch on, a sentence for people and the place where the
// fault lies.
package noregret
