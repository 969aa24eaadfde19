package oco

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/vec"
)

// checkVector refuses a vector of the wrong length or with a value that is not finite, and returns
// its largest absolute value.
func checkVector(name string, v []float64, d int) (largest float64, err error) {
	if len(v) != d {
		return 0, noregret.BadInputf(name, "%d values, the learner's dimension is %d", len(v), d)
	}
	largest = vec.MaxAbs(v)
	if !vec.IsFinite(largest) {
		i := slices.IndexFunc(v, func(x float64) bool { return !vec.IsFinite(x) })
		return 0, noregret.BadInputf(fmt.Sprintf("%s[%d]", name, i), "%v: want a finite number", v[i])
	}
	return largest, nil
}

// checkFinite is checkVector without the largest value.
func checkFinite(name string, v []float64, d int) error {
	if len(v) == d && vec.Finite(v) {
		return nil
	}
	_, err := checkVector(name, v, d)
	return err
}

// checkSparse is checkVector for a sparse vector.
func checkSparse(name string, g Sparse, d int) (largest float64, err error) {
	if len(g.Index) != len(g.Value) {
		return 0, noregret.BadInputf(name, "%d indices and %d values", len(g.Index),
			len(g.Value))
	}
	for k, i := range g.Index {
		if int64(i) >= int64(d) || k > 0 && i <= g.Index[k-1] {
			return 0, noregret.BadInputf(fmt.Sprintf("%s.Index[%d]", name, k),
				"%d: want ascending unique indices below the dimension %d", i, d)
		}
	}
	largest = vec.MaxAbs(g.Value)
	if !vec.IsFinite(largest) {
		k := slices.IndexFunc(g.Value, func(x float64) bool { return !vec.IsFinite(x) })
		return 0, noregret.BadInputf(fmt.Sprintf("%s.Value[%d]", name, k), "%v: want a finite number",
			g.Value[k])
	}
	return largest, nil
}

// checkSquared is checkVector with ‖v‖² = s·2^(2e) in place of the largest value, in one pass over
// most vectors.
func checkSquared(name string, v []float64, d int) (s float64, e int, err error) {
	if len(v) == d {
		if s := plainSquares(v); s > 0x1p-800 && s < 0x1p800 {
			return s, 0, nil // a value that is not finite would show in the sum
		}
	}
	m, err := checkVector(name, v, d)
	if err != nil {
		return 0, 0, err
	}
	s, e = sumOfSquares(v, m)
	return s, e, nil
}

// plainSquares is Σv² in four interleaved sums.
func plainSquares(v []float64) float64 {
	var s0, s1, s2, s3 float64
	n := len(v) &^ 3
	for i := 0; i < n; i += 4 {
		w := v[i : i+4 : i+4]
		s0 += float64(w[0] * w[0])
		s1 += float64(w[1] * w[1])
		s2 += float64(w[2] * w[2])
		s3 += float64(w[3] * w[3])
	}
	for _, x := range v[n:] {
		s0 += float64(x * x)
	}
	return (s0 + s1) + (s2 + s3)
}

// sumOfSquares is ‖v‖², as a pair (s, e) with value s·2^(2e), for a v with largest absolute value
// m.
func sumOfSquares(v []float64, m float64) (s float64, e int) {
	if m == 0 {
		return 0, 0
	}
	if m <= 0x1p-480 || m >= 0x1p480 {
		// Two factors, as 2^(−e) alone may be out of range; both products are exact unless they
		// vanish beside m.
		e = math.Ilogb(m)
	}
	half := math.Ldexp(1, -e/2)
	scale := math.Ldexp(1, -e-(-e/2))
	if e == 0 {
		return plainSquares(v), 0
	}
	// The same sums in the same order, so that a scaled vector gives the same bits.
	var s0, s1, s2, s3 float64
	n := len(v) &^ 3
	for i := 0; i < n; i += 4 {
		a, b, c, d := v[i]*half*scale, v[i+1]*half*scale, v[i+2]*half*scale, v[i+3]*half*scale
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
	}
	for _, x := range v[n:] {
		x *= half
		x *= scale
		s0 += float64(x * x)
	}
	return (s0 + s1) + (s2 + s3), e
}

// distanceSquared is ‖a−b‖² for vectors of moderate size.
func distanceSquared(a, b []float64) float64 {
	var s float64
	for i, x := range a {
		t := x - b[i]
		s += float64(t * t)
	}
	return s
}

// squares is a sum of squares Q with a power of two kept apart, Q = Sum·2^(2·Exp), so that it
// neither overflows nor underflows and is exactly homogeneous under scaling by powers of two:
// scale-free algorithms stay scale-free for values from 1e-300 to 1e300 (as in BLAS nrm2).
type squares struct {
	Sum, Comp float64 // Kahan-compensated
	Exp       int
	Some      bool
}

// add adds s·2^(2e) with s ≥ 0.
func (q *squares) add(s float64, e int) {
	if s == 0 {
		return
	}
	if k := math.Ilogb(s); k < -300 || k > 300 || !q.Some {
		k = k >> 1 << 1 // even
		s, e = math.Ldexp(s, -k), e+k/2
	}
	if !q.Some {
		q.Some, q.Exp = true, e
	}
	switch shift := e - q.Exp; {
	case shift == 0:
	case shift < 300:
		s = math.Ldexp(s, 2*max(shift, -1000))
	default:
		q.Sum, q.Comp = math.Ldexp(q.Sum, -2*min(shift, 1000)), math.Ldexp(q.Comp, -2*min(shift, 1000))
		q.Exp = e
	}
	y := s - q.Comp
	t := q.Sum + y
	q.Comp = (t - q.Sum) - y
	q.Sum = t
}

// addScalar adds x².
func (q *squares) addScalar(x float64) {
	if x = math.Abs(x); x > 0x1p-480 && x < 0x1p480 {
		q.add(float64(x*x), 0)
	} else if x != 0 {
		e := math.Ilogb(x)
		x = math.Ldexp(x, -e)
		q.add(float64(x*x), e)
	}
}

// root is √Q.
func (q *squares) root() float64 { return math.Ldexp(math.Sqrt(q.Sum), q.Exp) }

// value is Q, +Inf if that is above the largest float64.
func (q *squares) value() float64 { return math.Ldexp(q.Sum, 2*q.Exp) }

// sum is a compensated sum.
type sum struct{ compensated.Sum }

func (k *sum) add(v float64) { k.Add(v) }

func (k *sum) addProduct(a, b float64) { k.AddProduct(a, b) }

func (k *sum) value() float64 { return k.Value() }

// allFinite reports whether v has length d and only finite values.
func allFinite(v []float64, d int) bool { return len(v) == d && vec.IsFinite(vec.MaxAbs(v)) }

// squareOf is x² as s·2^(2e), for x ≥ 0.
func squareOf(x float64) (s float64, e int) {
	if x > 0x1p-480 && x < 0x1p480 || x == 0 {
		return float64(x * x), 0
	}
	e = math.Ilogb(x)
	x = math.Ldexp(x, -e)
	return float64(x * x), e
}

// orInf is v, or +Inf if v is NaN because parts of a bound have left the range of float64. +Inf is
// always a valid bound.
func orInf(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// largest is max v.
func largest(v []float64) float64 {
	m := v[0]
	for _, x := range v[1:] {
		m = max(m, x)
	}
	return m
}

// spread is max v − min v.
func spread(v []float64) float64 {
	lo, hi := v[0], v[0]
	for _, x := range v[1:] {
		lo, hi = min(lo, x), max(hi, x)
	}
	return hi - lo
}

// sides copies the bounds of a box.
func sides(b *convex.Box) (lower, upper []float64) {
	lower, upper = make([]float64, b.Dim()), make([]float64, b.Dim())
	for i := range lower {
		lower[i], upper[i] = b.Bounds(i)
	}
	return lower, upper
}
