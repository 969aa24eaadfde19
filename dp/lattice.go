package dp

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Norm is the norm in which the increments of records are clipped and their sensitivity is
// measured, under either adjacency. The zero value is invalid.
type Norm uint8

const (
	// L1 is the sum of absolute values, for selections among points of a cube.
	L1 Norm = iota + 1
	// L2 is the Euclidean norm. Gaussian noise needs it.
	L2
	// LInf is the largest absolute value, for selections among points of an l1 ball.
	LInf
)

// String returns "l1", "l2" or "l-infinity".
func (n Norm) String() string {
	switch n {
	case L1:
		return "l1"
	case L2:
		return "l2"
	case LInf:
		return "l-infinity"
	default:
		return fmt.Sprintf("Norm(%d)", uint8(n))
	}
}

// of returns the norm of x/scale, where scale is the largest absolute value of x, so that nothing
// overflows.
func (n Norm) of(x []float64, scale float64) float64 {
	sum := 0.0
	for _, v := range x {
		v = math.Abs(v / scale)
		switch n {
		case L1:
			sum += v
		case L2:
			sum += float64(v * v)
		default:
			sum = max(sum, v)
		}
	}
	if n == L2 {
		return math.Sqrt(sum)
	}
	return sum
}

// A LatticeConfig declares the bounds of a [Lattice], in the unit of the increments. They are
// constants that do not depend on the data: values are clipped to them, nobody assumes that they
// hold. Adjacency comes with the mechanism; see [Lattice]. Begin with [DefaultLatticeConfig].
type LatticeConfig struct {
	// Dim is the dimension of the increments.
	Dim int
	// Horizon is the largest number of increments that are added, at most 2^40.
	Horizon int64
	// Norm is the norm of the clip: L2 for Gaussian noise.
	Norm Norm
	// Clip is the bound C on the norm of one increment, positive.
	Clip float64
	// Spacing is the distance γ of neighbouring points of the lattice, a power of two, with γ·√dim
	// ≤ C·2^−20 and horizon·C/γ < 2^61.
	Spacing float64
}

// DefaultLatticeConfig returns the bounds with a spacing that fits them: γ·√dim ≤ C·2^−24, coarser
// if the horizon needs the room.
func DefaultLatticeConfig(dim int, horizon int64, norm Norm, clip float64) LatticeConfig {
	_, power := math.Frexp(clip)                       // 2^(power−1) ≤ C < 2^power
	_, root := math.Frexp(math.Sqrt(float64(dim)))     // √dim < 2^root
	room := 60 - bits.Len64(uint64(max(horizon, 1)-1)) // n·2^(room+1) ≤ 2^61
	spacing := math.Ldexp(1, max(power-1-min(24+root, room), -1021))
	return LatticeConfig{Dim: dim, Horizon: horizon, Norm: norm, Clip: clip, Spacing: spacing}
}

// A Lattice is the front end of every mechanism: it clips increments of real numbers and rounds
// them to integers, multiples of a spacing γ, so that the integer norm never exceeds ⌊C/γ⌋. All
// later arithmetic on secrets is on integers, whose sums are exact: the low bits of floating-point
// sums and of floating-point noise would reveal the data (Mironov 2012).
//
// A lattice bounds the contribution of one record, in the unit of the increments. Adjacency and the
// unit of privacy are those of the mechanism that uses it: under replace-one adjacency a record
// moves an integer sum by at most 2·Limit, under zero-out adjacency by at most Limit.
//
// A Lattice is immutable and safe for concurrent use.
type Lattice struct {
	config LatticeConfig
	limit  uint64 // ⌊C/γ⌋
}

// NewLattice returns the lattice of a configuration. The errors are ErrDimension, ErrHorizon,
// ErrNorm, ErrBound and ErrLattice.
func NewLattice(c LatticeConfig) (*Lattice, error) {
	if err := checkDim(c.Dim); err != nil {
		return nil, err
	}
	if err := checkHorizon(c.Horizon); err != nil {
		return nil, err
	}
	if c.Norm != L1 && c.Norm != L2 && c.Norm != LInf {
		return nil, noregret.BadInputf("norm", "%s, want L1, L2 or LInf: %w", c.Norm, ErrNorm)
	}
	if err := checkBound("clip", c.Clip); err != nil {
		return nil, err
	}
	if fraction, _ := math.Frexp(c.Spacing); fraction != 0.5 || math.IsInf(1/c.Spacing, 0) {
		return nil, noregret.BadInputf("spacing", "%g, want a power of two: %w", c.Spacing, ErrLattice)
	}
	cells := c.Clip / c.Spacing
	if !(cells >= math.Sqrt(float64(c.Dim))*(1<<20)) {
		return nil, noregret.BadInputf("spacing", "%g is too coarse for clip %g in dimension %d: "+
			"want clip/spacing at least 2^20·√dim: %w", c.Spacing, c.Clip, c.Dim, ErrLattice)
	}
	if !(cells*float64(c.Horizon) < 1<<61) {
		return nil, noregret.BadInputf("spacing", "%g is too fine for clip %g and %d steps: "+
			"want steps·clip/spacing below 2^61: %w", c.Spacing, c.Clip, c.Horizon, ErrLattice)
	}
	return &Lattice{config: c, limit: uint64(cells)}, nil
}

// NewIntegerLattice returns a lattice of spacing 1 for increments that are integers already, with
// l2 norm at most limit: the caller rounds once, in its own way, and [Lattice.Quantize] rounds no
// more. So there is no bound on how coarse it is. The errors are ErrDimension, ErrHorizon, ErrBound
// for a limit of 0, and ErrLattice unless horizon·limit < 2^61.
func NewIntegerLattice(dim int, horizon int64, limit uint64) (*Lattice, error) {
	if err := checkDim(dim); err != nil {
		return nil, err
	}
	if err := checkHorizon(horizon); err != nil {
		return nil, err
	}
	if err := checkBound("limit", float64(limit)); err != nil {
		return nil, err
	}
	if !(float64(limit)*float64(horizon) < 1<<61) || limit > 1<<53 {
		return nil, noregret.BadInputf("limit", "%d is too large for %d steps: want at most 2^53 and steps·limit "+
			"below 2^61: %w", limit, horizon, ErrLattice)
	}
	c := LatticeConfig{Dim: dim, Horizon: horizon, Norm: L2, Clip: float64(limit), Spacing: 1}
	return &Lattice{config: c, limit: limit}, nil
}

// Dim returns the dimension of increments.
func (l *Lattice) Dim() int { return l.config.Dim }

// Horizon returns the declared number of increments.
func (l *Lattice) Horizon() int64 { return l.config.Horizon }

// Norm returns the norm of the clip.
func (l *Lattice) Norm() Norm { return l.config.Norm }

// Clip returns the bound C.
func (l *Lattice) Clip() float64 { return l.config.Clip }

// Spacing returns γ.
func (l *Lattice) Spacing() float64 { return l.config.Spacing }

// Limit returns ⌊C/γ⌋, the largest norm of an integer vector that Quantize returns.
func (l *Lattice) Limit() uint64 { return l.limit }

// Quantize clips g to norm C and rounds it toward zero to the lattice: out holds integers k with
// norm at most Limit, for every input. A vector with a NaN or an infinite entry becomes zero, and a
// vector of a larger norm is scaled down; neither is visible to anyone, because the count of such
// vectors depends on the data. It panics if the lengths of g and out are not the dimension, which
// is public. It allocates nothing and takes O(dim).
func (l *Lattice) Quantize(g []float64, out []int64) {
	if len(g) != l.config.Dim || len(out) != l.config.Dim {
		panic(fmt.Sprintf("dp: Quantize of lengths %d and %d in dimension %d", len(g), len(out), l.config.Dim))
	}
	clear(out)
	largest := 0.0
	for _, v := range g {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return
	}
	// The clip is a multiple of γ and a little below C, so that rounding errors of the norm cannot
	// make the exact check below fail, which would lose the record.
	inverse := 1 / l.config.Spacing
	clip := float64(l.limit) * l.config.Spacing * (1 - 0x1p-40)
	norm := l.config.Norm.of(g, largest)
	if !(largest*norm <= clip) {
		factor := clip / norm * inverse
		for j, v := range g {
			out[j] = int64(v / largest * factor)
		}
	} else {
		for j, v := range g {
			out[j] = int64(v * inverse)
		}
	}
	if !l.Admits(out) {
		clear(out)
	}
}

// Admits reports whether the norm of k is at most Limit, exactly, in integers of 128 bits.
func (l *Lattice) Admits(k []int64) bool {
	if len(k) != l.config.Dim {
		return false
	}
	var high, low uint64
	for _, v := range k {
		a := magnitude(v)
		if a > l.limit {
			return false
		}
		// With a ≤ 2^61 and at most 2^31 entries of which each sum is checked, nothing overflows.
		h, s := uint64(0), a
		if l.config.Norm == L2 {
			h, s = bits.Mul64(a, a)
		}
		if l.config.Norm == LInf {
			continue
		}
		var carry uint64
		low, carry = bits.Add64(low, s, 0)
		high += h + carry
		if l.exceeds(high, low) {
			return false
		}
	}
	return true
}

// exceeds reports whether a sum of 128 bits is above the limit, squared for L2.
func (l *Lattice) exceeds(high, low uint64) bool {
	limitHigh, limitLow := uint64(0), l.limit
	if l.config.Norm == L2 {
		limitHigh, limitLow = bits.Mul64(l.limit, l.limit)
	}
	return high > limitHigh || high == limitHigh && low > limitLow
}

// magnitude is |v|, also for the smallest integer.
func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// ClipNorm scales x in place to lp norm at most bound, for an index p ≥ 1, +Inf included, and
// returns whether all entries were finite. If not, x becomes zero: the null record. It is for
// features; the privacy of a mechanism rests on [Lattice.Quantize] alone. The error is ErrNorm or
// ErrBound.
func ClipNorm(x []float64, p, bound float64) (finite bool, err error) {
	if !(p >= 1) {
		return false, noregret.BadInputf("p", "%g: %w", p, ErrNorm)
	}
	if err := checkBound("bound", bound); err != nil {
		return false, err
	}
	largest := 0.0
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			clear(x)
			return false, nil
		}
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return true, nil
	}
	norm := 1.0
	switch {
	case p == 1:
		norm = L1.of(x, largest)
	case p == 2:
		norm = L2.of(x, largest)
	case !math.IsInf(p, 1):
		sum := 0.0
		for _, v := range x {
			sum += portable.Pow(math.Abs(v)/largest, p)
		}
		norm = portable.Pow(sum, 1/p)
	}
	if !(largest*norm <= bound) {
		for j := range x {
			x[j] = x[j] / largest * (bound / norm)
		}
	}
	return true, nil
}

// Clamp returns y moved into [−bound, bound], and false with 0 for a NaN or infinite y, which makes
// its record null.
func Clamp(y, bound float64) (clamped float64, finite bool) {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return 0, false
	}
	return max(-bound, min(bound, y)), true
}
