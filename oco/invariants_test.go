package oco

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
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
		g := gradient(r, "gaussian", 1, make([]float64, 5), true)
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
				g := gradient(r, "sparse", round, l.Predict(), true)
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
