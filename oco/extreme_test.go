package oco

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
)

// exponents are where float64 sums, squares and inverses change their nature.
var exponents = []int{-1074, -1022, -990, -540, -511, -60, 0, 40, 320, 332, 465, 512, 600, 1000, 1020, 1023}

// extremeState is everything that a refusal must leave alone.
func extremeState(t *testing.T, c *contender, l Learner) (snapshot []byte, point []float64) {
	t.Helper()
	snapshot, err := l.(Snapshotter).MarshalBinary()
	if err != nil {
		t.Errorf("%s: the snapshot: %v", c.name, err)
	}
	return snapshot, slices.Clone(l.Predict())
}

// extremeRounds plays a short sequence and reports the first thing that went wrong.
func extremeRounds(t *testing.T, r *random.Source, c *contender, gs [][]float64, us [][]float64) {
	l := c.make()
	for k, g := range gs {
		before, x := extremeState(t, c, l)
		if h, ok := l.(Hinted); ok && r.IntN(3) == 0 {
			if err := h.Hint(gs[r.IntN(len(gs))]); err == nil {
				before, x = extremeState(t, c, l)
			} else if noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%s: %v: the hint's error %v", c.name, gs[:k+1], err)
			}
		}
		var factors [][]float64
		if c.curved && r.IntN(2) == 0 {
			factors = [][]float64{gs[r.IntN(len(gs))]}
		}
		if err := c.step(r, l, g, factors); err != nil {
			code := noregret.CodeOf(err)
			if code == noregret.Diverged && (c.curved || c.along > 0) {
				if l.Update(g) == nil {
					t.Errorf("%s: %v: it goes on after it diverged", c.name, gs[:k+1])
				}
				return // documented: a matrix that is singular to rounding ends the use of the learner
			}
			if code != noregret.BadInput {
				t.Errorf("%s: %v: refused with code %v: %v", c.name, gs[:k+1], code, err)
				return
			}
			if split, ok := l.(*Split); ok && split.failed != nil {
				// Documented: a refusal after others have moved ends its use, until a restore.
				if err := l.Update(make([]float64, len(g))); err == nil {
					t.Errorf("%s: %v: it goes on after a failure", c.name, gs[:k+1])
				}
				if err := split.UnmarshalBinary(before); err != nil || !slices.Equal(split.Predict(), x) {
					t.Errorf("%s: %v: a restore (%v) does not mend it", c.name, gs[:k+1], err)
				}
			}
			after, y := extremeState(t, c, l)
			if !bytes.Equal(before, after) || !slices.Equal(x, y) {
				t.Errorf("%s: %v: the refusal (%v) changed the state", c.name, gs[:k+1], err)
				return
			}
		}
		if x := l.Predict(); !finite(vec.MaxAbs(x)) || !c.set.Contains(x, tolerance(c.set)) {
			t.Errorf("%s: after %v: the point %v is not finite, or not in the set", c.name, gs[:k+1], x)
			return
		}
		for _, u := range us {
			if b, err := l.(Bounder).Bound(u); err != nil || math.IsNaN(b) || b < 0 && !c.signed {
				t.Errorf("%s: after %v: Bound(%v) = %v, %v", c.name, gs[:k+1], u, b, err)
				return
			}
		}
		data, x := extremeState(t, c, l)
		other := c.make()
		if err := other.(Snapshotter).UnmarshalBinary(data); err != nil {
			t.Errorf("%s: after %v: its own snapshot is refused: %v", c.name, gs[:k+1], err)
			return
		}
		if y := other.Predict(); !slices.Equal(x, y) {
			t.Errorf("%s: after %v: %v, restored %v", c.name, gs[:k+1], x, y)
			return
		}
		if k%2 == 0 {
			l = other // and goes on from there
		}
	}
	// Both go on alike.
	data, _ := extremeState(t, c, l)
	other := c.make()
	if err := other.(Snapshotter).UnmarshalBinary(data); err != nil {
		t.Errorf("%s: after %v: its own snapshot is refused: %v", c.name, gs, err)
		return
	}
	for _, g := range gs {
		e, f := l.Update(g), other.Update(g)
		if (e == nil) != (f == nil) || !slices.Equal(l.Predict(), other.Predict()) {
			t.Errorf("%s: after %v: goes on to %v (%v), restored to %v (%v)", c.name, gs, l.Predict(), e,
				other.Predict(), f)
			return
		}
	}
}

// TestExtremePairs gives every learner each pair of subgradients with entries ±2^a and ±2^b from
// the ends of the range of float64 and between, and a large constant, a tiny gap and a moderate
// round. Every round is refused without a trace, or taken: then the point is in the set, the bound
// is a number, and a snapshot continues.
func TestExtremePairs(t *testing.T) {
	testsize.NoRace(t)
	const d = 3
	r := random.New(11, "oco/extreme")
	grid := exponents
	if testsize.Short() {
		grid = []int{-1074, -990, -511, -3, 40, 332, 465, 511, 600, 1023}
	}
	power := func(e int) []float64 {
		g := make([]float64, d)
		for i := range g {
			g[i] = math.Ldexp(float64(1-2*r.IntN(2)), e)
		}
		switch r.IntN(3) {
		case 0:
			g[r.IntN(d)] = 0
		case 1:
			g[r.IntN(d)] = math.Ldexp(1, grid[r.IntN(len(grid))])
		}
		return g
	}
	seen := map[string]int{}
	for _, c := range contenders(r, d, 1000) {
		name, _, _ := bytes.Cut([]byte(c.name), []byte("#"))
		if seen[string(name)]++; testsize.Short() && seen[string(name)] > 2 {
			continue
		}
		n := c.set.Dim()
		pad := func(gs ...[]float64) [][]float64 {
			for i, g := range gs {
				if n > d {
					gs[i] = append(g, g[:n-d]...)
				}
			}
			return gs
		}
		us := [][]float64{pointIn(r, c.set), slices.Clone(c.make().Predict())}
		every := 1
		if seen[string(name)] > 1 {
			every = 20
		}
		t.Run(string(name), func(t *testing.T) {
			for _, a := range grid {
				for _, b := range grid {
					if t.Failed() || r.IntN(every) > 0 {
						continue
					}
					extremeRounds(t, r, &c, pad(power(a), power(b)), us)
					big, tiny := math.Ldexp(1, a), math.Ldexp(1, b)
					extremeRounds(t, r, &c, pad([]float64{big, big, big}, []float64{tiny, 0, 0},
						[]float64{1, -.5, .25}), us)
				}
			}
		})
	}
}
