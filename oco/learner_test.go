package oco

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

// TestBoundIsANumber evaluates every learner's bound at comparators up to the largest float64,
// before the first round, after rounds of zeros and after others: it is a number or +Inf, never
// NaN, although ‖u‖² is out of range.
func TestBoundIsANumber(t *testing.T) {
	for _, d := range []int{1, 3} {
		r := random.New(uint64(d), "oco/far")
		for _, c := range contenders(r, d, 1000) {
			l := c.make()
			check := func(when string) {
				for _, size := range []float64{1, 1e100, 1e153, 1e154, 1e200, math.MaxFloat64} {
					for _, sign := range []float64{1, -1} {
						u := make([]float64, l.Dim())
						for i := range u {
							u[i] = size * sign
							sign = -sign * float64(i%2*2-1)
						}
						if b, err := l.(Bounder).Bound(u); err != nil || math.IsNaN(b) {
							t.Errorf("%s, %s: Bound(%v) = %v, %v", c.name, when, u, b, err)
							return
						}
					}
				}
			}
			check("at the start")
			zero := make([]float64, l.Dim())
			_ = l.Update(zero) // a strongly convex rate may refuse it
			check("after a zero")
			for k := range 3 {
				g := gradient(r, "gaussian", k, zero, false)
				_ = c.step(r, l, g, nil)
			}
			check("after some rounds")
		}
	}
	a := Problem{Set: space(3), Facts: loss.Facts{Features: true}}
	l := must(must(Find("vaw")).New(a, nil)).(*VovkAzouryWarmuth)
	for k := range 3 {
		if err := l.Features([]float64{float64(k), 1, 0}); err != nil {
			t.Fatal(err)
		}
		if err := l.UpdateLabel(0); err != nil {
			t.Fatal(err)
		}
		for _, size := range []float64{1e154, math.MaxFloat64} {
			if b, err := l.Bound([]float64{size, -size, 0}); err != nil || math.IsNaN(b) {
				t.Errorf("vaw: %v, %v", b, err)
			}
		}
	}
}

// TestSharpBound: a sharp bound is R²/(2η_T) + ½Σ η_t·g_t² with R the reach of u, for AdaGrad
// summed over the coordinates. At a corner AdaGrad's is strictly below the stated one.
func TestSharpBound(t *testing.T) {
	box := must(convex.NewBox([]float64{-1, 0, 2}, []float64{1, 4, 2}))
	l := must(NewAdaGrad(box, nil))
	ogd := descent(box, nil, Adaptive(box.Diameter()*math.Sqrt2/2))
	var q, spent, adagrad float64
	var squares [2]float64
	for _, g := range g4 {
		for i, width := range []float64{2, 4} {
			if squares[i] += g[i] * g[i]; squares[i] > 0 {
				adagrad += width * math.Sqrt2 / 2 * g[i] * g[i] / math.Sqrt(squares[i])
			}
		}
		_, _ = l.Update(g), ogd.Update(g)
		q += vec.Dot(g, g)
		spent += vec.Dot(g, g) * box.Diameter() * math.Sqrt2 / 2 / math.Sqrt(q)
	}
	middle, corner := []float64{0, 2, 2}, []float64{1, 0, 2}
	near(t, "in the middle", must(l.SharpBound(middle)), bound(t, l, middle)/8+adagrad/2)
	near(t, "at a corner", must(l.SharpBound(corner)), bound(t, l, corner)/2+adagrad/2)
	if got, want := must(l.SharpBound(corner)), bound(t, l, corner); got > .95*want {
		t.Errorf("at a corner the sharp bound is %v, the stated one %v", got, want)
	}
	near(t, "adaptive descent", must(ogd.SharpBound(middle)),
		5/(math.Sqrt2*box.Diameter())*math.Sqrt(q)+spent/2) // ‖(1, 2, 0)‖² = 5
	if b, err := l.SharpBound([]float64{9, 0, 2}); err != nil || !math.IsInf(b, 1) {
		t.Errorf("outside: %v, %v", b, err)
	}
}

// TestRegretBoundBreadth: every learner of the package, in and outside the catalogue, with random
// options, starts, centres, hints, regularizers and wrappers, from near the origin to 1e8 away from
// it.
func TestRegretBoundBreadth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		d := rapid.IntRange(1, 50).Draw(t, "d")
		n := rapid.IntRange(1, 400/d+10).Draw(t, "T")
		if rapid.IntRange(0, 30).Draw(t, "long") == 30 {
			n *= 100 / min(d, 10)
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "sequence")
		r := random.New(seed, "oco/breadth")
		all := contenders(r, d, n)
		for range min(len(all), 40) { // of some 200
			c := all[r.IntN(len(all))]
			c.contest(t, r, kind, n)
		}
	})
}

// TestRegretBoundBreadthLong plays every learner at large sizes, up to d = 50 together with T =
// 5,000.
func TestRegretBoundBreadthLong(t *testing.T) {
	testsize.NoRace(t)
	if testing.Short() {
		t.Skip("short")
	}
	for i, size := range [][2]int{{50, 5000}, {1, 5000}, {7, 1000}} {
		seed := uint64(200 + i)
		d, n := size[0], testsize.Of(size[1], size[1]/10)
		t.Run(fmt.Sprintf("d=%d,T=%d", d, n), func(t *testing.T) {
			t.Logf("seed %d", seed)
			r := random.New(seed, "oco/breadth/long")
			seen := map[string]int{}
			for k, c := range contenders(r, d, n) {
				name, _, _ := bytes.Cut([]byte(c.name), []byte("#"))
				rounds, limit := n, 1000
				if c.curved || c.along > 0 {
					limit = 6 // O(d³) a round
				}
				if seen[string(name)]++; d == 50 && seen[string(name)] > 1+limit/1000 {
					rounds = n / 50
				}
				c.contest(t, r, kinds[k%len(kinds)], rounds)
			}
		})
	}
}

// exponents are those near which float64 sums, squares and inverses overflow, underflow or lose
// digits.
var exponents = []int{-1074, -1022, -990, -540, -511, -60, 0, 40, 320, 332, 465, 512, 600, 1000, 1020, 1023}

// extremeState returns the state that a refusal must not change.
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
					t.Errorf("%s: %v: it continues after it diverged", c.name, gs[:k+1])
				}
				// As documented, a learner whose matrix is numerically singular cannot be used any
				// more.
				return
			}
			if code != noregret.BadInput {
				t.Errorf("%s: %v: refused with code %v: %v", c.name, gs[:k+1], code, err)
				return
			}
			if stops, ok := l.(interface{ failure() error }); ok && stops.failure() != nil {
				// As documented, after a refusal by one learner when others have moved, it cannot
				// be used until a restore.
				if err := l.Update(make([]float64, len(g))); err == nil {
					t.Errorf("%s: %v: it continues after a failure", c.name, gs[:k+1])
				}
				if err := l.(Snapshotter).UnmarshalBinary(before); err != nil || !slices.Equal(l.Predict(), x) {
					t.Errorf("%s: %v: a restore (%v) does not repair it", c.name, gs[:k+1], err)
				}
			}
			after, y := extremeState(t, c, l)
			if !bytes.Equal(before, after) || !slices.Equal(x, y) {
				t.Errorf("%s: %v: the refusal (%v) changed the state", c.name, gs[:k+1], err)
				return
			}
		}
		if x := l.Predict(); !vec.IsFinite(vec.MaxAbs(x)) || !c.set.Contains(x, tolerance(c.set)) {
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
			l = other // and continues from there
		}
	}
	// Both must continue in the same way.
	data, _ := extremeState(t, c, l)
	other := c.make()
	if err := other.(Snapshotter).UnmarshalBinary(data); err != nil {
		t.Errorf("%s: after %v: its own snapshot is refused: %v", c.name, gs, err)
		return
	}
	for _, g := range gs {
		e, f := l.Update(g), other.Update(g)
		if (e == nil) != (f == nil) || !slices.Equal(l.Predict(), other.Predict()) {
			t.Errorf("%s: after %v: continues to %v (%v), the restored one to %v (%v)", c.name, gs, l.Predict(), e,
				other.Predict(), f)
			return
		}
	}
}

// TestExtremePairs gives every learner each pair of subgradients with entries ±2^a and ±2^b from
// the ends of the range of float64 and between, and a large constant, a tiny gap and a moderate
// round. Every round is either refused without a change of state, or accepted: then the point is in
// the set, the bound is a number, and a snapshot continues.
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

// hugeTakers returns learners that accept any finite subgradient up to 1e200.
func hugeTakers(d int) map[string]func() Learner {
	reg := euclidean(must(convex.NewCube(d, -1, 1)))
	whole := space(d)
	return map[string]func() Learner{
		"gradual": func() Learner { return must(NewGradualFTRL(reg, 1, 2)) },
		"hint experts": func() Learner {
			return must(NewHintExperts(must(NewOptimisticFTRL(reg, SqrtWeight(1))), 3, convex.L2))
		},
		"exact": func() Learner { return must(NewExactFTRL(must(NewQuadraticMinimizer(whole, SqrtWeight(1))))) },
		"exact on a cube": func() Learner {
			return must(NewExactFTRL(must(NewQuadraticMinimizer(reg.Set(), SqrtWeight(1)))))
		},
		"ftrl-proximal": func() Learner {
			return must(NewFTRLProximal(d, FTRLProximalOptions{A: .5, Beta: 1, L1: .1, L2: .3}))
		},
		"ogd":      func() Learner { return descent(reg.Set(), nil, Adaptive(1)) },
		"proximal": func() Learner { return must(NewProximalFTRL(reg.Set(), nil, Adaptive(1))) },
	}
}

// TestHugeGradients plays subgradients of size 1e200 between moderate ones. Each is accepted, the
// points stay in the set, the regret is within the bound, and a restored learner continues in the
// same way.
func TestHugeGradients(t *testing.T) {
	const d = 3
	r := random.New(1, "oco/huge")
	for name, make := range hugeTakers(d) {
		l := make()
		var size float64
		var rounds []played
		for k := range 30 {
			scale := 1.0
			if k%3 == 1 {
				scale = 1e200
			}
			g := gradient(r, "gaussian", k, l.Predict(), false)
			for i := range g {
				g[i] *= scale
			}
			if h, ok := l.(*HintExperts); ok {
				if err := h.Hints([][]float64{g, {1, 1, 1}, {1e200, 0, 0}}); err != nil {
					t.Fatal(err)
				}
			}
			rounds = append(rounds, played{x: append([]float64(nil), l.Predict()...), g: g})
			if err := l.Update(g); err != nil {
				t.Fatalf("%s: round %d: %v", name, k+1, err)
			}
			other := make()
			if err := other.(Snapshotter).UnmarshalBinary(must(l.(Snapshotter).MarshalBinary())); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			nearVector(t, name, other.Predict(), l.Predict())
		}
		for _, u := range [][]float64{{0, 0, 0}, {.5, -1, 1}} {
			c := contender{}
			var regret float64
			if regret, size = c.regret(rounds, u); regret > bound(t, l, u)+1e-9*size {
				t.Errorf("%s: regret %v is above the bound %v", name, regret, bound(t, l, u))
			}
		}
	}
}

// TestDenormalGradients: the first subgradients may be so small that the step size of an adaptive
// rate is above the largest float64. The points are those of subgradients 2^300 times as large, bit
// for bit.
func TestDenormalGradients(t *testing.T) {
	cube := must(convex.NewCube(2, -1, 1))
	for name, make := range map[string]func() Learner{
		"ogd":      func() Learner { return descent(cube, nil, Adaptive(math.Sqrt2)) },
		"mirror":   func() Learner { return must(NewMirrorDescent(euclidean(cube), nil, Adaptive(1), math.Inf(1))) },
		"proximal": func() Learner { return must(NewProximalFTRL(cube, nil, Adaptive(math.Sqrt2))) },
	} {
		small, large := make(), make()
		for k, g := range [][]float64{{0x1p-1070, -0x1p-1074}, {0x1p-1065, 0x1p-1070}, {0x1p-1022, 0}, {1, -1}} {
			scaled := []float64{math.Ldexp(g[0], 300), math.Ldexp(g[1], 300)}
			if k == 3 {
				scaled = []float64{0x1p300, -0x1p300}
			}
			if err := small.Update(g); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := large.Update(scaled); err != nil {
				t.Fatal(err)
			}
			x, y := small.Predict(), large.Predict()
			if name == "proximal" && k > 0 && k < 3 {
				continue // its weights are themselves denormal and so inexact
			}
			if x[0] != y[0] || x[1] != y[1] {
				t.Errorf("%s, round %d: %v, with scaled subgradients %v", name, k+1, x, y)
			}
		}
		if b := bound(t, small, []float64{1, 1}); !(b > 0) {
			t.Errorf("%s: bound %v", name, b)
		}
		s, ok := make().(SparseLearner)
		if !ok {
			continue
		}
		if err := s.UpdateSparse(Sparse{Index: []uint32{1}, Value: []float64{0x1p-1074}}); err != nil ||
			!(s.At(1) < -.9) {
			t.Errorf("%s: a sparse round goes to %v (%v)", name, s.Predict(), err)
		}
	}
}

// TestMemoryIsStated checks that a dimension that needs more memory than the limit is refused
// before anything is allocated, with an error that states the memory needed.
func TestMemoryIsStated(t *testing.T) {
	const wide = 60_000
	most := int(min(int64(1)<<34, int64(math.MaxInt)))
	cube := must(convex.NewCube(wide, -1, 1))
	for name, make := range map[string]func() (Learner, error){
		"ons on a cube":       func() (Learner, error) { return NewOnlineNewtonStep(cube, 1, 1) },
		"curvature on a cube": func() (Learner, error) { return NewCurvatureFTRL(cube, 1) },
		"ftrl-proximal": func() (Learner, error) {
			return NewFTRLProximal(most, FTRLProximalOptions{A: 1, Beta: 1})
		},
		"adahedge": func() (Learner, error) { return NewAdaHedge(most, DefaultAdaHedgeAlpha(most)) },
		"scale-free hedge": func() (Learner, error) {
			return NewScaleFreeHedge(most, DefaultScaleFreeHedgeAlpha(most))
		},
		"eg":            func() (Learner, error) { return NewExponentiatedGradient(most, nil, 1) },
		"entropic ftrl": func() (Learner, error) { return NewEntropicFTRL(most, 1, DefaultEntropicAlpha(most)) },
		"p-norm":        func() (Learner, error) { return NewPNorm(most, 1.5, 1) },
		"vaw":           func() (Learner, error) { return NewVovkAzouryWarmuth(most, 1) },
		"kt": func() (Learner, error) {
			return NewCoordinateKT(most, CoordinateKTOptions{Lipschitz: 1, Epsilon: 1})
		},
		"kt-scale-free":  func() (Learner, error) { return NewScaleFreeKT(most, 1) },
		"freegrad":       func() (Learner, error) { return NewFreeGrad(most, 1) },
		"expert betting": func() (Learner, error) { return NewExpertBetting(most, ExpertBettingOptions{Range: 1}) },
		"fixed share":    func() (Learner, error) { return NewFixedShare(most, 1, .1) },
		"penalized ftrl": func() (Learner, error) { return NewPenalizedFTRL(most, 1, L1Penalty(1)) },
		"sketch": func() (Learner, error) {
			return NewSketchedNewtonStep(space(1<<20), 1, 1, 1024)
		},
		"strategies": func() (Learner, error) {
			return NewHintExperts(must(NewOptimisticFTRL(euclidean(space(1<<20)), SqrtWeight(1))), 1<<20, convex.L2)
		},
	} {
		_, err := make()
		if err == nil || !strings.Contains(err.Error(), "of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPermutationWithOptions: permuting the coordinates of starts, centres, priors, boxes, hints
// and subgradients permutes the points.
func TestPermutationWithOptions(t *testing.T) {
	const d = 5
	r := random.New(9, "permute/options")
	perm := r.Perm(d)
	permute := func(v []float64) []float64 {
		w := make([]float64, len(v))
		for i, p := range perm {
			w[p] = v[i]
		}
		return w
	}
	lower, upper, start := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range lower {
		lower[i], upper[i] = -r.Float64(), r.Float64()
		start[i] = lower[i] + r.Float64()*(upper[i]-lower[i])
	}
	prior := interior(r, d)
	type option func(p func([]float64) []float64) Learner
	box := func(p func([]float64) []float64) *convex.Box { return must(convex.NewBox(p(lower), p(upper))) }
	for name, make := range map[string]option{
		"ogd":     func(p func([]float64) []float64) Learner { return descent(box(p), p(start), Adaptive(.3)) },
		"adagrad": func(p func([]float64) []float64) Learner { return must(NewAdaGrad(box(p), p(start))) },
		"proximal": func(p func([]float64) []float64) Learner {
			return must(NewProximalFTRL(box(p), p(start), Adaptive(.3)))
		},
		"quadratized": func(p func([]float64) []float64) Learner {
			return must(NewQuadratizedFTRL(box(p), p(start), .2))
		},
		"ftrl centre": func(p func([]float64) []float64) Learner {
			return must(NewFTRL(euclidean(box(p)), p(start), SqrtWeight(.7)))
		},
		"entropy centre": func(p func([]float64) []float64) Learner {
			return must(NewFTRL(must(entropyOnSimplex(d)), p(prior), SqrtWeight(.7)))
		},
		"eg": func(p func([]float64) []float64) Learner { return must(NewExponentiatedGradient(d, p(prior), .6)) },
		"mirror": func(p func([]float64) []float64) Learner {
			return must(NewMirrorDescent(must(entropyOnSimplex(d)), p(prior), Constant(.4), math.Inf(1)))
		},
		"gradual": func(p func([]float64) []float64) Learner { return must(NewGradualFTRL(euclidean(box(p)), .3, 2)) },
		"adaftrl": func(p func([]float64) []float64) Learner { return must(NewAdaFTRL(euclidean(box(p)), .3)) },
		"ons":     func(p func([]float64) []float64) Learner { return must(NewOnlineNewtonStep(box(p), .3, .2)) },
		"diagonal": func(p func([]float64) []float64) Learner {
			return must(NewFTRL(must(convex.Restrict(must(convex.NewDiagonalQuadratic(p(prior))), box(p))), nil,
				SqrtWeight(2)))
		},
		"composite": func(p func([]float64) []float64) Learner { return must(NewCompositeFTRL(box(p), .5, .05)) },
		"p-norm":    func(func([]float64) []float64) Learner { return must(NewPNorm(d, 1.4, .2)) },
		"ftrl-proximal": func(func([]float64) []float64) Learner {
			return must(NewFTRLProximal(d, FTRLProximalOptions{A: .3, Beta: .2, L1: .4, L2: .1}))
		},
		"optimistic": func(p func([]float64) []float64) Learner {
			return must(NewOptimisticFTRL(euclidean(box(p)), SqrtWeight(.4)))
		},
		"hint-experts": func(p func([]float64) []float64) Learner {
			return must(NewHintExperts(must(NewOptimisticFTRL(euclidean(box(p)), SqrtWeight(.4))), 2, convex.L2))
		},
		"averaging": func(p func([]float64) []float64) Learner {
			return must(NewAveraging(descent(box(p), p(start), Adaptive(.3)), LinearAlpha()))
		},
		"anytime": func(p func([]float64) []float64) Learner {
			return must(NewAnytime(descent(box(p), p(start), Adaptive(.3)), LinearAlpha()))
		},
	} {
		r := random.New(10, name) // map order is random, so each learner has its own seed
		a, b := make(func(v []float64) []float64 { return v }), make(permute)
		var moved float64
		for round := range 40 {
			g := gradient(r, "gaussian", round, a.Predict(), true)
			h := gradient(r, "gaussian", round, a.Predict(), true)
			switch l := a.(type) {
			case *HintExperts:
				_, _ = l.Hints([][]float64{h, g}), b.(*HintExperts).Hints([][]float64{permute(h), permute(g)})
			case Hinted:
				_, _ = l.Hint(h), b.(Hinted).Hint(permute(h))
			}
			x, y := permute(a.Predict()), b.Predict()
			for i := range x {
				if math.Abs(x[i]-y[i]) > 1e-9 {
					t.Fatalf("%s: round %d: %v, permuted %v", name, round+1, x, y)
				}
				moved += math.Abs(x[i] - x[0])
			}
			if err := a.Update(g); err != nil {
				t.Fatal(err)
			}
			if err := b.Update(permute(g)); err != nil {
				t.Fatal(err)
			}
		}
		if moved == 0 {
			t.Errorf("%s: all coordinates were equal", name)
		}
	}
}
