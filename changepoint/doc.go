// Package changepoint finds changes of a sequence of numbers while it arrives.
//
// # Detectors
//
// A [Detector] takes one number at a time and reports a change:
//
//   - [CUSUM] (Page 1954) knows the mean and the standard deviation before the change. It is the
//     fastest test for a shift of a given size.
//   - [PageHinkley] (Page 1954; Hinkley 1971) estimates the mean from the sequence.
//   - [ADWIN] (Bifet and Gavaldà 2007) keeps a window of recent numbers whose mean has not changed. It
//     needs the range of the numbers and a probability of false alarms, but not the size of a change.
//   - [KSWIN] (Raab, Heusinger and Schleif 2020) compares the distribution of the newest numbers with
//     that of older ones. It also detects changes of the variance, and needs more numbers for a mean.
//
// [Parse] makes a detector from a text such as "adwin:delta=0.01".
//
// # The trade-off
//
// Every detector trades false alarms for delay. [CUSUM.FalseAlarm] and [CUSUM.Delay] return the
// average numbers of observations before a false alarm and until a shift is found. A threshold of 4
// or 5 standard deviations with a drift of ½ is usual: with 5, one false alarm in 465 numbers, and
// 10.4 numbers until a shift by one standard deviation is detected. lab/docs/changepoint.md has a
// table of both for all detectors on standard streams.
//
// # Guarantees
//
// Detectors are deterministic, allocate nothing after the first numbers, and refuse NaN and
// infinite numbers before any state changes. A restored snapshot continues bit for bit on any
// machine. They are not safe for concurrent use.
package changepoint
