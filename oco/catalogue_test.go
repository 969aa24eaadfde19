package oco

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

func TestScaleFree(t *testing.T) {
	for _, factor := range []float64{0x1p-900, 0x1p-300, 0x1p-1, 0x1p10, 0x1p200, 0x1p900} {
		r := random.New(4, "scale")
		played := 0
		forEach(r, 4, 30, "gaussian", func(e Entry, a arena, l Learner) {
			if !slices.Contains(scaleFree, e.Name) || a.problem.StrongConvexity != 0 || a.problem.ExpConcavity != 0 {
				return
			}
			played++
			other := must(e.New(a.problem, nil))
			s := random.New(5, "scale")
			for round := range 30 {
				x, y := l.Predict(), other.Predict()
				for i := range x {
					if x[i] != y[i] {
						t.Fatalf("%s on %v: round %d: x = %v, and %v after scaling by %v", e.Name, a.problem.Set,
							round+1, x, y, factor)
					}
				}
				g := gradient(s, "gaussian", round, x, false)
				h := slices.Clone(g)
				for i := range h {
					h[i] *= factor
				}
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
				if err := other.Update(h); err != nil {
					t.Fatal(err)
				}
			}
		})
		if played < len(scaleFree) {
			t.Errorf("%d games of scale-free learners", played)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	forEach(random.New(6, "alloc"), 5, 0, "gaussian", func(e Entry, a arena, _ Learner) {
		a.problem.Rounds = 1000
		l, err := e.New(a.problem, nil)
		if err != nil {
			return
		}
		r := random.New(7, "alloc")
		g := a.shorten(gradient(r, "gaussian", 1, make([]float64, 5), true))
		sparse := Sparse{Index: []uint32{1, 3}, Value: []float64{g[1], g[3]}}
		features, isVAW := l.(*VovkAzouryWarmuth)
		round := func() {
			_ = l.Predict()
			var err error
			switch s, ok := l.(SparseLearner); {
			case isVAW:
				_ = features.Features(g)
				err = features.UpdateLabel(1)
			case ok:
				if err = s.UpdateSparse(sparse); err == nil {
					_ = s.At(1)
					err = l.Update(g)
				}
			default:
				err = l.Update(g)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		round() // a workspace may be made in the first round
		if n := testing.AllocsPerRun(20, round); n != 0 {
			t.Errorf("%s on %v: %v allocations a round", e.Name, a.problem.Set, n)
		}
	})
}

func TestSparseEqualsDense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, _ := drawGame(t, 50, 60)
		forEach(r, d, n, "sparse", func(e Entry, a arena, l Learner) {
			s, ok := l.(SparseLearner)
			if !ok {
				return
			}
			dense := must(e.New(a.problem, nil))
			for round := range n {
				g := a.shorten(gradient(r, "sparse", round, l.Predict(), true))
				var sp Sparse
				for i, v := range g {
					if v != 0 || r.IntN(10) == 0 {
						sp.Index, sp.Value = append(sp.Index, uint32(i)), append(sp.Value, v)
					}
				}
				for range 3 {
					if i := r.IntN(d); math.Abs(s.At(i)-dense.Predict()[i]) > 1e-12*max(1, math.Abs(s.At(i))) {
						t.Fatalf("%s on %v: x[%d] = %v, dense %v", e.Name, a.problem.Set, i, s.At(i),
							dense.Predict()[i])
					}
				}
				if err := s.UpdateSparse(sp); err != nil {
					t.Fatal(err)
				}
				if err := dense.Update(g); err != nil {
					t.Fatal(err)
				}
			}
			x, y := l.Predict(), dense.Predict()
			for i := range x {
				if math.Abs(x[i]-y[i]) > 1e-12*max(1, math.Abs(y[i])) {
					t.Fatalf("%s on %v: x = %v, dense %v", e.Name, a.problem.Set, x, y)
				}
			}
			u := make([]float64, d)
			a.problem.Set.Project(u, u)
			b, c := must(l.(Bounder).Bound(u)), must(dense.(Bounder).Bound(u))
			if math.Abs(b-c) > 1e-10*max(1, c) {
				t.Fatalf("%s: bound %v, dense %v", e.Name, b, c)
			}
		})
	})
}

func TestRegretBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 12, 120)
		forEach(r, d, n, kind, func(e Entry, a arena, l Learner) {
			t.Logf("%s: %s", e.Name, a.name)
			run(t, r, l, a, n)
		})
	})
}

// TestRegretBoundLong is TestRegretBound for longer runs, in a few games.
func TestRegretBoundLong(t *testing.T) {
	testsize.NoRace(t)
	if testing.Short() {
		t.Skip("short")
	}
	for i, kind := range sequences {
		seed := uint64(100 + i)
		r := random.New(seed, "oco/long")
		d, n := []int{1, 2, 50, 5, 20, 50}[i], []int{5000, 5000, 300, 2000, 1000, 300}[i]
		n = testsize.Of(n, n/5)
		t.Run(kind, func(t *testing.T) {
			t.Logf("seed %d, d = %d, T = %d", seed, d, n)
			forEach(r, d, n, kind, func(e Entry, a arena, l Learner) {
				t.Run(e.Name+" in "+a.name, func(t *testing.T) { run(t, r, l, a, n) })
			})
		})
	}
}

func TestEveryLearnerPlays(t *testing.T) {
	r := random.New(1, "oco/plays")
	played := forEach(r, 3, 10, "gaussian", func(Entry, arena, Learner) {})
	for _, e := range Learners() {
		if played[e.Name] == 0 {
			t.Errorf("%s plays no arena of the property tests", e.Name)
		}
		if e.Kind != "convex" && e.Kind != "experts" || e.Bound == "" || e.Knows == "" || e.Cost == "" ||
			e.Source == "" {
			t.Errorf("%s is not described: %+v", e.Name, e)
		}
	}
}

func TestSnapshotContinues(t *testing.T) {
	for _, d := range []int{1, 6} {
		seed := uint64(d)
		played := forEach(random.New(seed, "snap"), d, 40, "gaussian", func(e Entry, a arena, l Learner) {
			t.Run(e.Name+" in "+a.name, func(t *testing.T) {
				feed(t, nil, l, a, 17)
				data, err := l.(Snapshotter).MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				other := must(e.New(a.problem, nil))
				if err := other.(Snapshotter).UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
				again, err := other.(Snapshotter).MarshalBinary()
				if err != nil || !bytes.Equal(data, again) {
					t.Fatalf("a restored learner's snapshot differs (%v)", err)
				}
				// Both get the same subgradients.
				for range 10 {
					if a.problem.Features {
						_ = a.next(nil)
						for _, p := range []Learner{l, other} {
							if f, ok := p.(FeatureLearner); ok {
								if err := f.Features(a.z); err != nil {
									t.Fatal(err)
								}
							}
						}
					}
					x, y := l.Predict(), other.Predict()
					for i := range x {
						if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
							t.Fatalf("after a restore the point is %v, without one %v", y, x)
						}
					}
					f := a.next(x)
					if err := must(NewLinearized(l)).UpdateLoss(f); err != nil {
						t.Fatal(err)
					}
					if err := must(NewLinearized(other)).UpdateLoss(f); err != nil {
						t.Fatal(err)
					}
				}
				u := make([]float64, d)
				a.problem.Set.Project(u, u)
				if b, c := bound(t, l, u), bound(t, other, u); b != c {
					t.Errorf("after a restore the bound is %v, without one %v", c, b)
				}
				before, _ := l.(Snapshotter).MarshalBinary()
				for _, bad := range [][]byte{nil, data[:len(data)-1], flip(data, len(data)/2), flip(data, 3)} {
					if err := l.(Snapshotter).UnmarshalBinary(bad); err == nil {
						t.Error("a damaged snapshot was accepted")
					}
				}
				if after, _ := l.(Snapshotter).MarshalBinary(); !bytes.Equal(before, after) {
					t.Error("a refused snapshot changed the learner")
				}
			})
		})
		if len(played) != len(Learners()) {
			t.Errorf("%d of %d learners were saved", len(played), len(Learners()))
		}
	}
}

func TestRefusalsChangeNothing(t *testing.T) {
	forEach(random.New(3, "refuse"), 3, 40, "gaussian", func(e Entry, a arena, l Learner) {
		feed(t, nil, l, a, 5)
		if a.problem.Features {
			_ = a.next(nil)
			if f, ok := l.(FeatureLearner); ok {
				if err := f.Features(a.z); err != nil {
					t.Fatal(err)
				}
			}
		}
		before, err := l.(Snapshotter).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		x := slices.Clone(l.Predict())
		for _, bad := range [][]float64{
			nil, {1}, {1, 2, 3, 4}, {math.NaN(), 0, 0}, {0, math.Inf(1), 0}, {0, 0, math.Inf(-1)}, {1, 2, math.NaN()},
		} {
			if err := l.Update(bad); err == nil {
				t.Errorf("%s took %v", e.Name, bad)
			}
			if _, err := l.(Bounder).Bound(bad); err == nil {
				t.Errorf("%s has a bound at %v", e.Name, bad)
			}
			if h, ok := l.(Hinted); ok && h.Hint(bad) == nil {
				t.Errorf("%s took the hint %v", e.Name, bad)
			}
			if s, ok := l.(SparseLearner); ok && len(bad) == 3 &&
				s.UpdateSparse(Sparse{Index: []uint32{0, 1, 2}, Value: bad}) == nil {
				t.Errorf("%s took a sparse %v", e.Name, bad)
			}
		}
		if s, ok := l.(SparseLearner); ok {
			for _, bad := range []Sparse{
				{Index: []uint32{0}, Value: nil},
				{Index: []uint32{3}, Value: []float64{1}},
				{Index: []uint32{1, 1}, Value: []float64{1, 1}},
				{Index: []uint32{2, 0}, Value: []float64{1, 1}},
			} {
				if s.UpdateSparse(bad) == nil {
					t.Errorf("%s took %v", e.Name, bad)
				}
			}
		}
		if c, ok := l.(Curved); ok {
			for _, mu := range []float64{-1, math.NaN(), math.Inf(1)} {
				if c.UpdateCurved([]float64{1, 1, 1}, mu) == nil {
					t.Errorf("%s took μ = %v", e.Name, mu)
				}
			}
		}
		if after, _ := l.(Snapshotter).MarshalBinary(); !bytes.Equal(before, after) || !slices.Equal(x, l.Predict()) {
			t.Errorf("%s: refused rounds changed it", e.Name)
		}
	})
}

// scaleFree lists the learners that are scale-free.
var scaleFree = []string{
	"ogd-adaptive", "adagrad", "scale-free-hedge", "adahedge", "adaftrl", "proximal-ftrl",
	"linear-leader", "optimistic-adagrad", "adagrad-full", "freegrad", "kt-scale-free",
}

// TestSinglePoint checks that every learner stays on the point of a set with one point.
func TestSinglePoint(t *testing.T) {
	p := Problem{
		Set: must(convex.NewBox([]float64{.3, -1}, []float64{.3, -1})), Rounds: 20,
		Facts: loss.Facts{
			Lipschitz: 2, LipschitzInf: 2, StrongConvexity: 1, ExpConcavity: .1, SquaredDistance: true,
		},
	}
	r := random.New(3, "point")
	played := 0
	for _, e := range Learners() {
		l, err := e.New(p, nil)
		if err != nil {
			continue
		}
		played++
		for range 20 {
			if err := l.Update(gradient(r, "gaussian", 1, l.Predict(), true)); err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			if x := l.Predict(); x[0] != .3 || x[1] != -1 {
				t.Fatalf("%s plays %v", e.Name, x)
			}
		}
		if b := bound(t, l, []float64{.3, -1}); b < 0 {
			t.Errorf("%s: bound %v", e.Name, b)
		}
	}
	if played < 12 {
		t.Errorf("only %d learners play on a single point", played)
	}
}

// TestConstructorsRefuse checks that invalid options are refused.
func TestConstructorsRefuse(t *testing.T) {
	whole, unit := space(2), must(convex.NewCube(2, -1, 1))
	reg := euclidean(unit)
	nan, inf := math.NaN(), math.Inf(1)
	var errs []error
	check := func(what string, l any, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s was accepted", what)
			return
		}
		errs = append(errs, err)
	}
	for _, v := range []float64{0, -1, nan, inf} {
		l1, err := NewSubgradientDescent(unit, nil, Constant(v))
		check("constant rate", l1, err)
		l2, err := NewFTRL(reg, nil, ConstantWeight(v))
		check("constant weight", l2, err)
		l3, err := NewExponentiatedGradient(2, nil, v)
		check("eta", l3, err)
		l4, err := NewOnlineNewtonStep(unit, v, 1)
		check("mu", l4, err)
		l5, err := NewOnlineNewtonStep(unit, 1, v)
		check("lambda", l5, err)
		l6, err := NewVovkAzouryWarmuth(2, v)
		check("lambda", l6, err)
		l7, err := NewCompositeFTRL(unit, v, 0)
		check("lipschitz", l7, err)
		l8, err := NewFTRLProximal(2, FTRLProximalOptions{A: v, Beta: 1})
		check("A", l8, err)
		l9, err := NewGradualFTRL(reg, 1, v)
		check("lipschitz", l9, err)
		l10, err := NewAdaFTRL(reg, v)
		check("alpha", l10, err)
		l11, err := NewEntropicFTRL(2, v, DefaultEntropicAlpha(2))
		check("lipschitz", l11, err)
		l12, err := NewPNorm(2, 1.5, v)
		check("eta", l12, err)
	}
	l1, err := NewSubgradientDescent(whole, nil, InverseSqrt(1, 1))
	check("a decreasing rate on the whole space", l1, err)
	l2, err := NewSubgradientDescent(whole, nil, Adaptive(1))
	check("an adaptive rate on the whole space", l2, err)
	l3, err := NewSubgradientDescent(unit, []float64{2, 0}, Constant(1))
	check("a start outside", l3, err)
	l4, err := NewSubgradientDescent(unit, []float64{nan, 0}, Constant(1))
	check("a start of NaN", l4, err)
	l5, err := NewSubgradientDescent(unit, []float64{0}, Constant(1))
	check("a start of another dimension", l5, err)
	l6, err := NewSubgradientDescent(unit, nil, Rate{})
	check("the zero rate", l6, err)
	l7, err := NewSubgradientDescent(nil, nil, Constant(1))
	check("no set", l7, err)
	box, err := convex.NewBox([]float64{0, math.Inf(-1)}, []float64{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	l8, err := NewAdaGrad(box, nil)
	check("a box with an infinite side", l8, err)
	for _, alpha := range []float64{math.Inf(-1), -1, 0, 2, nan} {
		l9, err := NewScaleFreeHedge(3, alpha)
		check("alpha below 4", l9, err)
	}
	for _, alpha := range []float64{-1, 0, nan, math.Inf(1)} {
		hedge, err := NewAdaHedge(3, alpha)
		check("alpha of AdaHedge", hedge, err)
		entropic, err := NewEntropicFTRL(3, 1, alpha)
		check("alpha of EntropicFTRL", entropic, err)
	}
	l10, err := NewExponentiatedGradient(2, []float64{.5, .6}, 1)
	check("a prior that sums to 1.1", l10, err)
	l11, err := NewExponentiatedGradient(2, []float64{1.5, -.5}, 1)
	check("a negative prior", l11, err)
	entropy := must(entropyOnSimplex(2))
	l12, err := NewMirrorDescent(entropy, []float64{1, 0}, Constant(1), math.Inf(1))
	check("a start on the boundary of the domain", l12, err)
	l13, err := NewLinearLeader(whole, nil)
	check("follow-the-leader on the whole space", l13, err)
	l14, err := NewAveraging(nil, UniformAlpha())
	check("no learner", l14, err)
	l15, err := NewAveraging(descent(unit, nil, Constant(1)), Alpha{})
	check("the zero alpha", l15, err)
	l16, err := NewSplit(descent(unit, nil, Constant(1)))
	check("a part of two dimensions", l16, err)
	for _, err := range errs {
		if err.Error() == "" {
			t.Error("an error without a message")
		}
	}
	if _, err := Find("nobody"); err == nil {
		t.Error("a learner without a name was found")
	}
	e := must(Find("adagrad"))
	if _, err := e.New(Problem{Set: unit}, map[string]float64{"eta": 1}); err == nil {
		t.Error("an option that AdaGrad does not have was accepted")
	}
}

// TestZeroGradients: on zero subgradients no learner moves, and bounds are nonnegative.
func TestZeroGradients(t *testing.T) {
	forEach(random.New(9, "zero"), 3, 20, "gaussian", func(e Entry, a arena, l Learner) {
		if a.problem.Features {
			return
		}
		x := slices.Clone(l.Predict())
		for range 20 {
			if err := l.Update([]float64{0, 0, 0}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(x, l.Predict()) && e.Name != "mean-leader" {
			t.Errorf("%s on %v moved from %v to %v on zero subgradients", e.Name, a.problem.Set, x, l.Predict())
		}
		u := make([]float64, 3)
		a.problem.Set.Project(u, u)
		if b := bound(t, l, u); b < 0 {
			t.Errorf("%s: bound %v", e.Name, b)
		}
	})
}

func TestPermutation(t *testing.T) {
	r := random.New(8, "permute")
	perm := r.Perm(5)
	permute := func(v []float64) []float64 {
		w := make([]float64, len(v))
		for i, p := range perm {
			w[p] = v[i]
		}
		return w
	}
	p := Problem{
		Rounds: 40,
		Facts: loss.Facts{
			Lipschitz: lipschitz, LipschitzInf: lipschitz, StrongConvexity: 1, ExpConcavity: .1, SquaredDistance: true,
		},
	}
	for _, set := range []convex.Set{
		space(5), simplex(5), must(convex.NewCube(5, -1, 1)),
		must(convex.NewCenteredBall(5, 1)),
	} {
		p.Set = set
		for _, e := range Learners() {
			a, err := e.New(p, nil)
			if err != nil || e.Name == "linear-leader" { // ties go to the lowest index
				continue
			}
			b := must(e.New(p, nil))
			for round := range 40 {
				g := gradient(r, "gaussian", round, a.Predict(), true)
				x, y := permute(a.Predict()), b.Predict()
				for i := range x {
					if math.Abs(x[i]-y[i]) > 1e-9 {
						t.Fatalf("%s on %v: round %d: %v, permuted %v", e.Name, set, round+1, x, y)
					}
				}
				if err := a.Update(g); err != nil {
					t.Fatal(err)
				}
				if err := b.Update(permute(g)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
