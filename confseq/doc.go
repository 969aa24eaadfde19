// Package confseq has confidence sequences: intervals that hold for all numbers of observations at
// once. An ordinary 95 % interval misses the mean in 5 % of all experiments if it is computed once,
// at a number of observations that was fixed before. An observer who looks after every observation
// will almost surely see it miss at some time. A confidence sequence misses the mean at any time,
// in the whole run, with probability at most alpha, so it may be looked at, and acted on, at any
// time.
//
//   - [Sequence] is for the mean of one variable. With a range it is exact from the first
//     observation on, for any distribution; without one it is asymptotic.
//   - [Pair] is for the ratio of two means of the same units, such as clicks per view.
//   - [Contrast] compares arms with a control round by round: what the arms of a round have in
//     common, such as growth or a season, cancels.
//   - [SampleRatio] tests whether counts by arm follow given shares.
//
// All of them need only sums, so observations can be added one by one or in batches, in any order.
// They have the same bits on every machine. A sequence costs 40 bytes and O(1) for an observation;
// an interval costs about a microsecond.
//
// The price of validity at all times is width: some 1.5 to 2 times that of an ordinary interval.
//
// References: Robbins (1970), Statistical methods related to the law of the iterated logarithm.
// Howard, Ramdas, McAuliffe and Sekhon (2021), Time-uniform, nonparametric, nonasymptotic
// confidence sequences. Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), Time-uniform
// central limit theory and asymptotic confidence sequences. Lindon and Malek (2022), Anytime-valid
// inference for multinomial count data.
package confseq
