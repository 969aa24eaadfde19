// Package scored holds what can be said of scored examples: how well the scores order them, which
// probabilities the scores stand for, and which threshold has a wanted recall or precision. It
// knows no classifier: its input is a list of [Example].
//
//   - [AUC] and [AveragePrecision] measure the order, [LogLoss] and [Brier] the probabilities. Each
//     returns an [Estimate], a value with its standard error for new examples.
//     [Classes] has the same for rows of several classes.
//   - [Isotonic] and [Platt] fit a [Calibration], which maps scores to probabilities.
//   - [NewCurve] keeps what thresholds need, in a few hundred numbers for any number of examples:
//     [Curve.AtRecall] and [Curve.AtPrecision] find a threshold that holds with a stated
//     confidence, and [Curve.At] bounds the recall and the precision of one.
//
// The examples must not be those that the scores were learned from: with these all numbers are too
// good.
//
// # Weights
//
// An example of weight w counts w times. The statements about confidence are exact for weights that
// are equal within each class, of a recall, and for weights that are all equal, of a precision. For
// others the examples of a class count as Kish's effective number of them, (Σw)²/Σw², and the
// confidence is approximate.
//
// All results are the same on every machine.
package scored
