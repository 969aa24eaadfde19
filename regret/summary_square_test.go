package regret_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func TestSquareSummary(t *testing.T) {
	r := random.New(9, "square")
	for _, kind := range []string{"full", "deficient", "tiny", "zero", "orthogonal"} {
		for _, d := range []int{1, 4} {
			sets := []convex.Set{
				must(convex.NewSpace(d)), must(convex.NewCenteredBall(d, .5)),
				must(convex.NewCube(d, -.2, .3)), must(convex.NewCenteredBall(d, 100)), must(convex.NewSimplex(d)),
			}
			for _, set := range sets {
				s := must(regret.NewSquareSummary(d))
				var fs []*loss.Example
				for range 50 {
					z := make([]float64, d)
					for i := range z {
						z[i] = 2*r.Float64() - 1
						switch {
						case kind == "deficient" && i > 0:
							z[i] = z[0] * float64(i)
						case kind == "tiny" && i > 0:
							z[i] *= 1e-7
						case kind == "zero":
							z[i] = 0
						}
					}
					f := must(loss.NewExample(z, 3*r.Float64()-1, loss.Squared{}))
					fs = append(fs, f)
					if kind == "orthogonal" { // Σyz = 0 up to rounding
						minus := slices.Clone(z)
						for i := range minus {
							minus[i] *= -1 / 3.0
						}
						fs = append(fs, must(loss.NewExample(minus, 3*f.Y, loss.Squared{})))
					}
				}
				for _, f := range fs {
					if err := s.Add(f); err != nil {
						t.Fatal(err)
					}
				}
				total := func(u []float64) (v float64) {
					for _, f := range fs {
						v += f.Value(u)
					}
					return v
				}
				u := make([]float64, d)
				least, gap, err := s.Best(u, set)
				if err != nil {
					t.Errorf("%s, d = %d, %v: %v", kind, d, set, err)
					continue
				}
				if !set.Contains(u, 1e-12) || math.Abs(total(u)-least) > 1e-11*(1+least) || gap > 1e-6*(1+least) {
					t.Errorf("%s, d = %d, %v: least %v, recomputed %v, gap %v", kind, d, set, least, total(u), gap)
				}
				for range 500 {
					v := make([]float64, d)
					size := math.Pow(10, 6*r.Float64()-5)
					for i := range v {
						v[i] = u[i] + size*(2*r.Float64()-1)
					}
					set.Project(v, v)
					if w := total(v); w < least-gap-1e-11*(1+least) {
						t.Errorf("%s, d = %d, %v: loss %v at %v, below %v − %v", kind, d, set, w, v, least, gap)
						break
					}
				}
			}
		}
	}
}

// rotated returns k orthonormal vectors of ℝ^d.
func rotated(r *random.Source, d, k int) [][]float64 {
	var all [][]float64
	for len(all) < k {
		v := make([]float64, d)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		for range 2 {
			for _, q := range all {
				var along float64
				for i := range v {
					along += v[i] * q[i]
				}
				for i := range v {
					v[i] -= along * q[i]
				}
			}
		}
		var n float64
		for _, x := range v {
			n += x * x
		}
		for i := range v {
			v[i] /= math.Sqrt(n)
		}
		all = append(all, v)
	}
	return all
}

// TestSpannedSquareSummary: above dimension 1,024, where the summary works in the span of the
// features, the best point and its loss are those of the same features in the dimension of their
// span.
func TestSpannedSquareSummary(t *testing.T) {
	const d, k = 90, 5
	r := random.New(4, "wide")
	q := rotated(r, d, k)
	lift := func(z []float64) []float64 {
		v := make([]float64, d)
		for j, x := range z {
			for i := range v {
				v[i] += x * q[j][i]
			}
		}
		return v
	}
	wide, narrow := must(regret.NewSpannedSquareSummary(d)), must(regret.NewSquareSummary(k))
	for pass := range 2 { // the second after Reset
		wide.Reset()
		narrow.Reset()
		for range 40 + pass {
			z := make([]float64, k)
			for i := range z {
				z[i] = 2*r.Float64() - 1
			}
			y := 3*r.Float64() - 1
			must(0, wide.Add(must(loss.NewExample(lift(z), y, loss.Squared{}))))
			must(0, narrow.Add(must(loss.NewExample(z, y, loss.Squared{}))))
		}
		for _, radius := range []float64{0, .1, 100} {
			a, b := convex.Set(must(convex.NewSpace(d))), convex.Set(must(convex.NewSpace(k)))
			if radius > 0 {
				a, b = must(convex.NewCenteredBall(d, radius)), must(convex.NewCenteredBall(k, radius))
			}
			u, v := make([]float64, d), make([]float64, k)
			least, gap, err := wide.Best(u, a)
			want, _, err2 := narrow.Best(v, b)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if math.Abs(least-want) > 1e-11*want || gap > 1e-8*want || !a.Contains(u, 1e-12) {
				t.Errorf("radius %v: least loss %v with gap %v, want %v", radius, least, gap, want)
			}
			for i, x := range lift(v) {
				if math.Abs(u[i]-x) > 1e-5 {
					t.Fatalf("radius %v: the best point has %v at %d, want %v", radius, u[i], i, x)
				}
			}
			if got := wide.Loss(lift(v)); math.Abs(got-want) > 1e-11*want {
				t.Errorf("radius %v: the loss of the narrow best point is %v, want %v", radius, got, want)
			}
		}
	}
	// On a set that is not a ball the best point may lie outside the span.
	cube := must(convex.NewCube(d, -.02, .015))
	u := make([]float64, d)
	least, gap, err := wide.Best(u, cube)
	if err != nil || !cube.Contains(u, 1e-12) || gap > 1e-6*least {
		t.Errorf("on a cube: least %v, gap %v, %v", least, gap, err)
	}
	for range 100 {
		v := make([]float64, d)
		size := math.Pow(10, -2-3*r.Float64())
		for i := range v {
			v[i] = u[i] + size*(2*r.Float64()-1)
		}
		cube.Project(v, v)
		if w := wide.Loss(v); w < least-gap-1e-11*least {
			t.Fatalf("on a cube: loss %v, below %v − %v", w, least, gap)
		}
	}
}

// TestWideZeros: zero features have an empty span.
func TestWideZeros(t *testing.T) {
	s := must(regret.NewSquareSummary(2000))
	must(0, s.Add(must(loss.NewExample(make([]float64, 2000), 2, loss.Squared{}))))
	u := make([]float64, 2000)
	u[0] = 1
	if least, gap, err := s.Best(u, must(convex.NewSpace(2000))); err != nil || least != 2 || gap != 0 || u[0] != 0 {
		t.Errorf("least %v, gap %v, point %v, %v", least, gap, u[0], err)
	}
}

// TestWideGames: games of squared losses play in a dimension whose square does not fit in memory,
// and state the memory that they need if the games themselves do not fit.
func TestWideGames(t *testing.T) {
	const d, rounds = 60_000, 8
	for _, name := range []string{"gradual", "regression"} {
		p := regret.GameParams{Dim: d, Rounds: rounds, Seed: 1}
		if name == "regression" {
			p.Options = map[string]float64{"examples": 5, "radius": 1}
		}
		g, f, err := must(regret.FindGame(name)).New(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		l := must(must(oco.Find("ogd-adaptive")).New(problem(g.Set(), rounds, f), nil))
		c, err := regret.Play(context.Background(), l, g, rounds, regret.Options{})
		if err != nil || !c.Holds() || !(c.ComparatorLoss > 0) && name == "gradual" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	for name, want := range map[string]string{
		"regression": "regression: examples: a game of 1000 examples with 16777216 features needs 250 GiB of memory",
		"classification": "classification: examples: a game of 1000 examples with 16777216 features needs 250 GiB of " +
			"memory",
	} {
		_, _, err := must(regret.FindGame(name)).New(regret.GameParams{Dim: 1 << 24, Seed: 1})
		if noregret.CodeOf(err) != noregret.BadInput || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	s := must(regret.NewSquareSummary(50_000))
	z := make([]float64, 50_000)
	z[0] = 1
	must(0, s.Add(must(loss.NewExample(z, 1, loss.Squared{}))))
	_, _, err := s.Best(make([]float64, 50_000), must(convex.NewOrthant(50_000)))
	if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), "GiB of memory") {
		t.Errorf("the best point of an orthant: %v", err)
	}
}

// TestSparseSquares: a summary of sparse squared losses is that of the same losses written out, bit
// for bit.
func TestSparseSquares(t *testing.T) {
	const d = 12
	for name, make := range map[string]func(int) (*regret.SquareSummary, error){
		"dense": regret.NewSquareSummary, "spanned": regret.NewSpannedSquareSummary,
	} {
		a, b := must(make(d)), must(make(d))
		for k := range uint32(20) {
			z := loss.Sparse{Index: []uint32{k % 5, 5 + k%7}, Value: []float64{1 / float64(k+1), float64(k) - 3}}
			f := must(loss.NewSparseExample(d, z, float64(k%3), loss.Squared{}))
			must(0, a.Add(f))
			must(0, b.Add(f.Dense()))
		}
		u, v := [d]float64{}, [d]float64{}
		ball := must(convex.NewCenteredBall(d, .1))
		la, ga, err := a.Best(u[:], ball)
		lb, gb, err2 := b.Best(v[:], ball)
		if err != nil || err2 != nil || la != lb || ga != gb || u != v {
			t.Errorf("%s: sparse %v, %v, %v; dense %v, %v, %v", name, la, ga, err, lb, gb, err2)
		}
		wrong := must(loss.NewSparseExample(d+1, loss.Sparse{}, 1, loss.Squared{}))
		hinge := must(loss.NewSparseExample(d, loss.Sparse{}, 1, loss.HingeLoss{}))
		if a.Add(wrong) == nil || a.Add(hinge) == nil || a.Add(must(loss.NewSquaredDistance(u[:]))) == nil {
			t.Errorf("%s: accepted other losses", name)
		}
	}
}
