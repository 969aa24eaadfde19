package changepoint

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
)

// ADWINOptions are the parameters of [NewADWIN].
type ADWINOptions struct {
	// Lower < Upper is the range of the numbers.
	Lower, Upper float64
	// Delta in (0, 1) is the confidence: see [ADWIN].
	Delta float64
	// Hoeffding selects the bound of the paper's Theorem 3.1, which holds for all bounded numbers.
	// The default is the sharper bound by the window's variance, which assumes nearly normal means.
	Hoeffding bool
	// Buckets ≥ 2 is the number of buckets of each size, M in the paper. A window is cut at ends of
	// buckets only.
	Buckets int
	// Part ≥ 1 is the minimum length of each side of a cut.
	Part int
}

// DefaultADWINOptions are those of the paper's experiments for numbers in [0, 1]: δ = 0.002, 5
// buckets of each size, and sides of at least 5 numbers.
func DefaultADWINOptions() ADWINOptions {
	return ADWINOptions{Upper: 1, Delta: 0.002, Buckets: 5, Part: 5}
}

// ADWIN is the adaptive window ADWIN2 of Bifet and Gavaldà ("Learning from time-changing data with
// adaptive windowing", SDM 2007). It drops the oldest numbers of its window while it can be cut
// into two parts, of n₀ and n₁ numbers, whose means differ by more than
//
//	√(2/m·σ²·ln(2/δ')) + 2/(3m)·ln(2/δ'),   or with Hoeffding   √(1/(2m)·ln(4/δ')),
//
// where 1/m = 1/n₀ + 1/n₁, n = n₀ + n₁, δ' = δ/ln n (for Hoeffding δ/n), σ² is the variance of the
// window, and numbers are scaled to [0, 1]. It reports a change when it drops numbers. With
// Hoeffding the probability of a false alarm is at most δ in each step, and if two parts have
// means that differ by twice the bound, the older part is dropped with probability at least 1 − δ
// (Theorem 3.1).
//
// The window is an exponential histogram: memory and time for a number are O(M·ln(n/M)).
type ADWIN struct {
	options ADWINOptions
	s       adwinState
}

// adwinState holds the buckets from the newest to the oldest, those of 2^i numbers in row i.
type adwinState struct {
	Count    int
	Sum      float64
	Squares  float64 // Σ (x − mean)²
	Rows     []int   // number of buckets in each row
	Sums     []float64
	Variance []float64 // Σ (x − mean)² of each bucket
}

// mostRows is enough for any window: 2^50 numbers.
const mostRows = 50

// NewADWIN returns a detector, or an error of code bad_input that names the option out of range.
func NewADWIN(o ADWINOptions) (*ADWIN, error) {
	switch {
	case !(math.Abs(o.Lower) <= largest) || !(math.Abs(o.Upper) <= largest) || !(o.Lower < o.Upper):
		return nil, noregret.BadInputf("range", "[%v, %v]: want finite numbers in order, of size at most %v", o.Lower,
			o.Upper, largest)
	case !(o.Delta > 0 && o.Delta < 1):
		return nil, noregret.BadInputf("delta", "%v: want a number in (0, 1)", o.Delta)
	case o.Buckets < 2 || o.Buckets > 1000:
		return nil, noregret.BadInputf("buckets", "%d: want 2 to 1000", o.Buckets)
	case o.Part < 1:
		return nil, noregret.BadInputf("part", "%d: want at least 1", o.Part)
	}
	return &ADWIN{options: o}, nil
}

// Add implements [Detector]. It returns an error for numbers outside the range.
func (a *ADWIN) Add(x float64) (changed bool, err error) {
	o := &a.options
	if !(x >= o.Lower && x <= o.Upper) {
		return false, noregret.BadInputf("x", "%v: want a number in the range [%v, %v]", x, o.Lower, o.Upper)
	}
	a.insert((x - o.Lower) / (o.Upper - o.Lower))
	for a.cut() {
		a.dropOldest()
		changed = true
	}
	return changed, nil
}

// insert adds a bucket of one number and merges the two oldest of each row that is full.
func (a *ADWIN) insert(x float64) {
	s := &a.s
	if s.Count > 0 {
		d := x - s.Sum/float64(s.Count)
		s.Squares += float64(float64(d*d) * (float64(s.Count) / float64(s.Count+1)))
	}
	s.Count++
	s.Sum += x
	if len(s.Rows) == 0 {
		s.Rows = append(s.Rows, 0)
	}
	s.Rows[0]++
	s.Sums, s.Variance = insertFirst(s.Sums, x), insertFirst(s.Variance, 0)
	end, size := 0, 1.0
	for i := 0; i < len(s.Rows); i++ {
		end += s.Rows[i]
		if s.Rows[i] <= a.options.Buckets {
			return
		}
		// The two oldest buckets of the row are at end−2 and end−1.
		d := (s.Sums[end-2] - s.Sums[end-1]) / size
		s.Sums[end-2] += s.Sums[end-1]
		s.Variance[end-2] += s.Variance[end-1] + float64(float64(d*d)*(size/2))
		copy(s.Sums[end-1:], s.Sums[end:])
		copy(s.Variance[end-1:], s.Variance[end:])
		s.Sums, s.Variance = s.Sums[:len(s.Sums)-1], s.Variance[:len(s.Variance)-1]
		s.Rows[i] -= 2
		if i+1 == len(s.Rows) {
			s.Rows = append(s.Rows, 0)
		}
		s.Rows[i+1]++
		end -= 2
		size *= 2
	}
}

func insertFirst(v []float64, x float64) []float64 {
	v = append(v, 0)
	copy(v[1:], v)
	v[0] = x
	return v
}

// cut reports whether two parts of the window have means that differ by more than the bound.
func (a *ADWIN) cut() bool {
	s := &a.s
	n, old, sum := float64(s.Count), 0.0, 0.0
	log := a.logTerm(n)
	at := len(s.Sums)
	for i := len(s.Rows) - 1; i >= 0; i-- {
		size := math.Ldexp(1, i)
		for range s.Rows[i] {
			at--
			old += size
			sum += s.Sums[at]
			recent := n - old
			if recent < float64(a.options.Part) {
				return false
			}
			if old < float64(a.options.Part) {
				continue
			}
			if math.Abs(sum/old-(s.Sum-sum)/recent) > a.bound(old, recent, log) {
				return true
			}
		}
	}
	return false
}

// logTerm is ln(2/δ'), or ln(4/δ') with Hoeffding, of a window of n numbers.
func (a *ADWIN) logTerm(n float64) float64 {
	if a.options.Hoeffding {
		return portable.Log(4 * n / a.options.Delta)
	}
	return portable.Log(2 * max(portable.Log(n), 1) / a.options.Delta)
}

// bound returns ε_cut for parts of these lengths.
func (a *ADWIN) bound(old, recent, log float64) float64 {
	inverse := 1/old + 1/recent
	if a.options.Hoeffding {
		return math.Sqrt(float64(inverse/2) * log)
	}
	variance := a.s.Squares / float64(a.s.Count)
	return math.Sqrt(float64(2*inverse)*float64(variance*log)) + float64(float64(2*inverse)*log)/3
}

// dropOldest drops the oldest bucket and sums the others anew, so that rounding errors do not
// accumulate.
func (a *ADWIN) dropOldest() {
	s := &a.s
	last := len(s.Rows) - 1
	s.Rows[last]--
	if s.Rows[last] == 0 {
		s.Rows = s.Rows[:last]
	}
	s.Sums, s.Variance = s.Sums[:len(s.Sums)-1], s.Variance[:len(s.Variance)-1]
	s.Count, s.Sum, s.Squares = 0, 0, 0
	at := 0
	for i, buckets := range s.Rows {
		size := math.Ldexp(1, i)
		for range buckets {
			n := float64(s.Count)
			if n > 0 {
				d := s.Sum/n - s.Sums[at]/size
				s.Squares += float64(float64(d*d) * (n * size / (n + size)))
			}
			s.Squares += s.Variance[at]
			s.Sum += s.Sums[at]
			s.Count += 1 << i
			at++
		}
	}
}

// Length returns the number of numbers in the window.
func (a *ADWIN) Length() int { return a.s.Count }

// Mean returns the mean of the window, NaN if it is empty.
func (a *ADWIN) Mean() float64 {
	o := &a.options
	return o.Lower + float64(a.s.Sum/float64(a.s.Count)*(o.Upper-o.Lower))
}

// Reset implements [Detector].
func (a *ADWIN) Reset() {
	s := &a.s
	*s = adwinState{Rows: s.Rows[:0], Sums: s.Sums[:0], Variance: s.Variance[:0]}
}

// String describes the detector in one line.
func (a *ADWIN) String() string {
	o := &a.options
	return fmt.Sprintf("adwin(range=[%v, %v], delta=%v, hoeffding=%v, buckets=%d, part=%d)", o.Lower, o.Upper, o.Delta,
		o.Hoeffding, o.Buckets, o.Part)
}

// MarshalBinary implements [Detector].
func (a *ADWIN) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(snapshotMagic, a.String(), &a.s)
}

// UnmarshalBinary implements [Detector]. It returns an error for a snapshot with other options.
func (a *ADWIN) UnmarshalBinary(data []byte) error {
	var s adwinState
	if err := snapshot.Open(data, snapshotMagic, a.String(), &s); err != nil {
		return err
	}
	if !a.fits(&s) {
		return snapshot.Bad("damaged: the buckets do not fit a window of %d numbers", s.Count)
	}
	a.s = s
	return nil
}

// fits reports whether s is a possible state of a detector.
func (a *ADWIN) fits(s *adwinState) bool {
	if n := len(s.Rows); n > mostRows || n > 0 && s.Rows[n-1] == 0 {
		return false
	}
	buckets, count := 0, 0
	for i, n := range s.Rows {
		if n < 0 || n > a.options.Buckets {
			return false
		}
		buckets += n
		count += n << i
	}
	if len(s.Sums) != buckets || len(s.Variance) != buckets || s.Count != count || count < 0 || !(s.Squares >= 0) ||
		s.Squares-s.Squares != 0 || s.Sum-s.Sum != 0 {
		return false
	}
	for i, v := range s.Sums {
		if !(v >= 0) || v-v != 0 || !(s.Variance[i] >= 0) || s.Variance[i]-s.Variance[i] != 0 {
			return false
		}
	}
	return true
}
