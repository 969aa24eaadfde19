package convex_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

// setsWithInterior returns sets of every kind in dimension 4 with their inradius.
func setsWithInterior() map[convex.Set]float64 {
	inf := math.Inf(1)
	root := math.Sqrt(1 - 1./4)
	return map[convex.Set]float64{
		must(convex.NewIntersection(must(convex.NewCube(4, 0, 1)), must(convex.NewHalfspace([]float64{1, 1, 1, 1}, 2)),
			must(convex.NewHalfspace([]float64{-1, 0, 0, 0}, -.25)))): 1.75 / 6,
		must(convex.NewIntersection(must(convex.NewHalfspace([]float64{1, 0, 0, 0}, 1)),
			must(convex.NewHalfspace([]float64{-2, 0, 0, 0}, 1)))): .75,
		must(convex.NewBox([]float64{-1, 0, 2, 1}, []float64{1, 3, 2, inf})):               1,
		must(convex.NewCube(4, -1, 2)):                                                     1.5,
		must(convex.NewBall([]float64{3, 0, -1, 2}, .5)):                                   .5,
		must(convex.NewL1Ball(4, 1)):                                                       .5,
		must(convex.NewCenteredLpBall(4, 3, 2)):                                            2,
		must(convex.NewCenteredLpBall(4, inf, 2)):                                          2,
		must(convex.NewCenteredLpBall(4, 1.5, 1)):                                          math.Pow(4, .5-1/1.5),
		must(convex.NewHalfspace([]float64{1, 2, -1, 0}, 1)):                               inf,
		must(convex.NewSpace(4)):                                                           inf,
		must(convex.NewScaledSimplex(4, 2)):                                                2 / (4 * root),
		must(convex.NewCappedSimplex(4, .6, 1)):                                            1 / (4 * root),
		must(convex.NewBoundedSimplex([]float64{0, 0, .2, 0}, []float64{1, .4, .2, 1}, 1)): .2 / math.Sqrt(2./3),
		must(convex.NewAffine(mat.NewDense(1, 4, []float64{1, -2, 0, 1}), []float64{3})):   inf,
		must(convex.NewProduct(must(convex.NewSimplex(2)), must(convex.NewCube(2, 0, 3)))): math.Sqrt(.5),
	}
}

// TestInteriorBasis: the directions are orthonormal and stay in the set's affine hull.
func TestInteriorBasis(t *testing.T) {
	for set := range setsWithInterior() {
		w := must(convex.NewInterior(set))
		x := make([]float64, 4)
		set.Project(x, x)
		var basis [][]float64
		for i := range w.Directions() {
			e := make([]float64, 4)
			w.Step(e, i, 1)
			for j, other := range append(basis, e) {
				want := 0.0
				if j == i {
					want = 1
				}
				if math.Abs(vec.Dot(e, other)-want) > 1e-12 {
					t.Errorf("%v: directions %d and %d have the product %v", set, i, j, vec.Dot(e, other))
				}
			}
			basis = append(basis, e)
		}
		if _, ok := set.(*convex.Affine); ok && w.Directions() != 3 {
			t.Errorf("%v: %d directions", set, w.Directions())
		}
		if w.Set() != set {
			t.Error("another set")
		}
	}
}

// TestInterior: points of V_δ, at its corners too, can be moved by δ in every direction; the
// inradius is the largest δ; a projection on V_δ is in V_δ; and where V_δ is exact, points outside
// of it cannot be moved in all directions.
func TestInterior(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := random.New(rapid.Uint64().Draw(t, "seed"), "interior")
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		for set, inradius := range setsWithInterior() {
			w := must(convex.NewInterior(set))
			if got := w.Inradius(); math.Abs(got-inradius) > 1e-6*inradius && got != inradius {
				t.Fatalf("%v: inradius %v, want %v", set, got, inradius)
			}
			delta := share * min(w.Inradius(), 2)
			inner := must(w.Shrink(delta))
			x := make([]float64, 4)
			for range 10 {
				for i := range x {
					x[i] = 3 * r.NormFloat64()
				}
				inner.Project(x, x)
				if !inner.Contains(x, 1e-9) {
					t.Fatalf("%v at %v: %v is not in the interior set", set, delta, x)
				}
				y, v := slices.Clone(x), unit(r, w.Directions())
				for i, s := range v {
					w.Step(y, i, delta*s)
				}
				if !set.Contains(y, 1e-9) {
					t.Fatalf("%v at %v: %v plus %v of length %v has left the set", set, delta, x, v, delta)
				}
			}
			if !math.IsInf(inradius, 1) {
				if _, err := w.Shrink(inradius * 1.001); err == nil {
					t.Fatalf("%v: an interior set above the inradius", set)
				}
			}
		}
	})
}

func unit(r *random.Source, d int) []float64 {
	v := make([]float64, d)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	vec.Scale(v, 1/vec.Norm2(v))
	return v
}

// TestInteriorIsExact: points of V that are not in V_δ leave V in some of many directions of length
// a little above δ.
func TestInteriorIsExact(t *testing.T) {
	testsize.NoRace(t)
	r := random.New(2, "exact")
	for set, inradius := range setsWithInterior() {
		if b, ok := set.(*convex.Ball); ok && (b.Norm().P() == 3 || b.Norm().P() == 1.5) {
			continue // V_δ is approximate
		}
		w := must(convex.NewInterior(set))
		delta := .3 * min(inradius, 1)
		inner := must(w.Shrink(delta))
		x, outside := make([]float64, 4), 0
		for range 200 {
			for i := range x {
				x[i] = 2 * r.NormFloat64()
			}
			set.Project(x, x)
			if inner.Contains(x, .01) {
				continue
			}
			outside++
			leaves := false
			for range 3000 {
				y := slices.Clone(x)
				for i, s := range unit(r, w.Directions()) {
					w.Step(y, i, 1.2*delta*s)
				}
				leaves = leaves || !set.Contains(y, 0)
			}
			if !leaves {
				t.Fatalf("%v: %v is not in the interior set at %v, but leaves the set nowhere", set, x, delta)
			}
		}
		if math.IsInf(inradius, 1) == (outside > 0) {
			if _, ok := set.(*convex.Halfspace); !ok {
				t.Errorf("%v: %d points of 200 outside", set, outside)
			}
		}
	}
}

func TestInteriorRefuses(t *testing.T) {
	if _, err := convex.NewInterior(nil); err == nil {
		t.Error("nil was accepted")
	}
	if _, err := convex.NewInterior(unknownSet{}); err == nil {
		t.Error("an unknown set was accepted")
	}
	w := must(convex.NewInterior(must(convex.NewCube(2, 0, 1))))
	for _, delta := range []float64{-1, math.NaN(), math.Inf(1), .6} {
		if _, err := w.Shrink(delta); err == nil {
			t.Errorf("δ = %v was accepted", delta)
		}
	}
	point := must(convex.NewInterior(must(convex.NewCube(2, 1, 1))))
	if point.Directions() != 0 || !math.IsInf(point.Inradius(), 1) {
		t.Errorf("a point has %d directions and the inradius %v", point.Directions(), point.Inradius())
	}
	own := must(convex.NewInterior(&shrinking{must(convex.NewCube(2, 0, 1))}))
	s := must(own.Shrink(.25))
	if !s.Contains([]float64{.25, .75}, 0) || s.Contains([]float64{.2, .5}, 0) {
		t.Error("the set of another package is shrunk wrongly")
	}
	joined := must(convex.NewIntersection(stubborn{must(convex.NewCube(2, 0, 1))}, must(convex.NewCube(2, 0, 1))))
	if _, err := must(convex.NewInterior(joined)).Shrink(0); err == nil {
		t.Error("an intersection has an interior set where one of its sets has none")
	}
}

// stubborn is a set of another package that gives no interior sets.
type stubborn struct{ *convex.Box }

func (s stubborn) Interior(float64) (convex.Set, error) { return nil, errors.ErrUnsupported }
func (s stubborn) Inradius() float64                    { return .5 }

type unknownSet struct{ convex.Set }

// shrinking is a set that is not one of this package.
type shrinking struct{ *convex.Box }

func (s *shrinking) Interior(delta float64) (convex.Set, error) {
	return convex.NewCube(2, delta, 1-delta)
}
func (s *shrinking) Inradius() float64 { return .5 }

func TestInteriorAllocatesNothing(t *testing.T) {
	for set, inradius := range setsWithInterior() {
		w := must(convex.NewInterior(set))
		x, delta := make([]float64, 4), .1*min(inradius, 1)
		if n := testing.AllocsPerRun(20, func() {
			s, _ := w.Shrink(delta)
			s.Project(x, x)
			delta *= .99
		}); n != 0 {
			t.Errorf("%v: %v allocations", set, n)
		}
	}
}
