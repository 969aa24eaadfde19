package dataset

import "math"

// Limits of the search for numbers that name a row.
const (
	idShare   = .9     // of the rows that have a new value, where 3 % is the error of the count
	idMore    = 1.1    // times as many values as of random numbers, which repeat one another
	idRepeats = 7      // values that a sample of random numbers would repeat
	idRange   = 90_000 // least range of numbers that are drawn at random
	idRows    = 200    // rows from which their evenness tells them from a measurement
	idGaps    = 5      // mean gaps between values, in which the ends of the range are
	idUniform = 1.63   // Kolmogorov's statistic: one in a hundred of uniform samples exceeds it
)

// isID reports whether the values of a column, of which the sample is sorted, name the rows. They
// are whole and nearly all new. In a column that measures something, so many numbers out of a
// narrow range would repeat one another. A wide range proves nothing, and a column is taken for
// one of random numbers only if its values fill, evenly and from end to end, the numbers of so many
// digits, with or without zeros in front, or of so many bits. Some 2 % of such columns are missed.
func (f *featureFacts) isID(rows int64) bool {
	if !f.whole || rows < fewestRows || f.kinds == nil || f.kinds.count() < idShare*float64(rows) {
		return false
	}
	n, numbers := float64(len(f.sample)), f.high-f.low+1
	random := float64(-numbers * math.Expm1(-float64(rows)/numbers))
	repeated := false
	for i := range f.sample[:max(0, len(f.sample)-1)] {
		repeated = repeated || f.sample[i] == f.sample[i+1]
	}
	if f.kinds.count() >= idMore*random || !repeated && n*n >= 2*idRepeats*numbers {
		return true
	}
	low, high := f.low+f.center, f.high+f.center
	if low < 0 || numbers < idRange || rows < idRows {
		return false
	}
	gap := idGaps / float64(rows)
	fills := func(from, to float64) bool {
		margin := float64(gap * (to - from))
		return from <= low && low-from <= margin && high <= to && to-high <= margin && f.isUniform()
	}
	for digits := 5; digits < 20; digits++ {
		if to := float64(math.Pow10(digits)); fills(0, to) || fills(to/10, to) {
			return true
		}
	}
	for bits := 17; bits <= 64; bits++ {
		if fills(0, math.Ldexp(1, bits)) {
			return true
		}
	}
	return false
}

// isUniform reports whether the sample is spread evenly, by the test of Kolmogorov and Smirnov.
func (f *featureFacts) isUniform() bool {
	n := float64(len(f.sample))
	distance := 0.0
	for i, v := range f.sample {
		p := (v - f.low) / (f.high - f.low)
		distance = max(distance, p-float64(i)/n, float64(i+1)/n-p)
	}
	return distance*math.Sqrt(n) <= idUniform
}
