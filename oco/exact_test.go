package oco

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// quadraticLoss draws a loss that QuadraticMinimizer accepts.
func quadraticLoss(r *random.Source, d int) loss.Function {
	v := make([]float64, d)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	var f loss.Function
	switch r.IntN(3) {
	case 0:
		f = must(loss.NewLinear(v))
	case 1:
		f = must(loss.NewSquaredDistance(v))
	default:
		f = must(loss.NewExample(v, r.NormFloat64(), loss.Squared{}))
	}
	if r.IntN(4) == 0 {
		f = must(loss.NewRidge(f, r.Float64()))
	}
	return f
}

// TestExactFTRLGuarantee plays quadratic losses with and without hints, linear and not: every point
// minimizes the objective, the regret is at most Bound (Lemma 7.7, Theorem 7.28), and the hint is
// removed.
func TestExactFTRLGuarantee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := random.New(rapid.Uint64().Draw(t, "seed"), "exact")
		d, n, hints := rapid.IntRange(1, 5).Draw(t, "d"), rapid.IntRange(1, 40).Draw(t, "T"),
			rapid.IntRange(0, 3).Draw(t, "hints")
		for _, set := range []convex.Set{
			space(d), must(convex.NewCenteredBall(d, 0.7)),
			must(convex.NewCube(d, -0.4, 0.6)),
		} {
			weight := SqrtWeight(0.5)
			l := must(NewExactFTRL(must(NewQuadraticMinimizer(set, weight))))
			plain := must(NewExactFTRL(must(NewQuadraticMinimizer(set, weight))))
			var losses []loss.Function
			var paid float64
			for round := 1; round <= n; round++ {
				f := quadraticLoss(r, d)
				var hint loss.Function
				switch hints {
				case 1: // a linear guess
					g := make([]float64, d)
					f.Subgradient(g, l.Predict())
					hint = must(loss.NewLinear(g))
				case 2: // a perfect one
					hint = f
				case 3: // a wrong one, curved
					hint = quadraticLoss(r, d)
				}
				if hint != nil {
					if err := l.HintLoss(quadraticLoss(r, d)); err != nil { // replaced below
						t.Fatal(err)
					}
					if err := l.HintLoss(hint); err != nil {
						t.Fatal(err)
					}
				}
				objective := func(x []float64) float64 {
					s := weight.at(round) / 2 * vec.Dot(x, x)
					for _, f := range losses {
						s += f.Value(x)
					}
					if hint != nil {
						s += hint.Value(x)
					}
					return s
				}
				x := append([]float64(nil), l.Predict()...)
				for range 5 {
					v := pointIn(r, set)
					if a, b := objective(x), objective(v); a > b+1e-8*(1+math.Abs(b)) {
						t.Fatalf("round %d on %v: the objective is %v at x_t and %v at %v", round, set, a, b, v)
					}
				}
				paid += f.Value(x)
				losses = append(losses, f)
				for _, l := range []*ExactFTRL{l, plain} {
					if err := l.UpdateLoss(f); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i, v := range plain.Predict() { // a learner without hints
				if math.Abs(v-l.Predict()[i]) > 1e-9*(1+math.Abs(v)) {
					t.Fatalf("a hint was not removed: %v and %v", l.Predict(), plain.Predict())
				}
			}
			for range 5 {
				u := pointIn(r, set)
				var against float64
				for _, f := range losses {
					against += f.Value(u)
				}
				if b := must(l.Bound(u)); paid-against > b+1e-9*(1+math.Abs(paid)+math.Abs(against)) {
					t.Fatalf("on %v with hints %d: regret %v is above the bound %v", set, hints, paid-against, b)
				} else if math.IsInf(b, 1) && (hints < 3 || l.Rounds() == 0) {
					t.Fatalf("on %v with hints %d: no bound", set, hints)
				}
			}
		}
	})
}

// TestExactFTRLPerfectHints: with a constant ψ and perfect hints the regret is at most ψ(u)
// − ψ(x_1).
func TestExactFTRLPerfectHints(t *testing.T) {
	r := random.New(5, "perfect")
	set := must(convex.NewCenteredBall(3, 2))
	l := must(NewExactFTRL(must(NewQuadraticMinimizer(set, ConstantWeight(0.3)))))
	for range 50 {
		f := must(loss.NewLinear([]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}))
		if err := l.HintLoss(f); err != nil {
			t.Fatal(err)
		}
		if err := l.UpdateLoss(f); err != nil {
			t.Fatal(err)
		}
	}
	x1, u := l.state.X1, []float64{0, 2, 0}
	near(t, "Bound", bound(t, l, u), 0.15*4-0.15*vec.Dot(x1, x1))
}

// TestExactFTRLIsFTRL: on linear losses it is FTRL, and with linear hints optimistic FTRL.
func TestExactFTRLIsFTRL(t *testing.T) {
	r := random.New(6, "ftrl")
	set := must(convex.NewCube(4, -0.3, 0.5))
	l := must(NewExactFTRL(must(NewQuadraticMinimizer(set, SqrtWeight(2)))))
	o := must(NewOptimisticFTRL(euclidean(set), SqrtWeight(2)))
	g, h := make([]float64, 4), make([]float64, 4)
	for range 100 {
		for i := range g {
			g[i], h[i] = r.NormFloat64(), r.NormFloat64()
		}
		for _, l := range []Hinted{l, o} {
			if err := l.Hint(h); err != nil {
				t.Fatal(err)
			}
		}
		nearVector(t, "x_t", append([]float64(nil), l.Predict()...), o.Predict())
		for _, l := range []Learner{l, o} {
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
	}
	u := []float64{0.1, -0.2, 0.5, 0}
	// Ψ_1 = 2·‖x‖²/2.
	near(t, "Bound", bound(t, l, u)+vec.Dot(l.state.X1, l.state.X1), bound(t, o, u))
}

// TestExactFTRLKeeps checks that losses are copied, so that a caller may reuse them.
func TestExactFTRLKeeps(t *testing.T) {
	set := space(2)
	a := must(NewExactFTRL(must(NewQuadraticMinimizer(set, SqrtWeight(1)))))
	b := must(NewExactFTRL(must(NewQuadraticMinimizer(set, SqrtWeight(1)))))
	reused := must(loss.NewSquaredDistance([]float64{0, 0}))
	for k := range 5 {
		reused.C[0], reused.C[1] = float64(k), 1
		if err := a.UpdateLoss(reused); err != nil {
			t.Fatal(err)
		}
		if err := b.UpdateLoss(must(loss.NewSquaredDistance([]float64{float64(k), 1}))); err != nil {
			t.Fatal(err)
		}
	}
	reused.C[0] = 99
	data := must(a.MarshalBinary())
	if !bytes.Equal(data, must(b.MarshalBinary())) {
		t.Error("reusing a loss changed the past rounds")
	}
}

// unregistered is a loss that is not registered with RegisterLoss.
type unregistered struct{ *loss.SquaredDistance }

// lossesOfAllKinds are four kinds of losses in dimension 3 and then n quadratic ones.
func lossesOfAllKinds(r *random.Source, n int) []loss.Function {
	losses := []loss.Function{
		must(loss.NewExample([]float64{1, 2, 3}, 1, loss.Huber{Delta: 0.3})),
		must(loss.NewExample([]float64{1, 0, 3}, -1, loss.LogisticLoss{})),
		must(loss.NewMax(must(loss.NewLinear([]float64{1, 0, 0})), must(loss.NewLinear([]float64{0, 1, 0})))),
		must(loss.NewComposite(must(loss.NewLinear([]float64{1, 0, 0})), 0.1)),
	}
	for range n {
		losses = append(losses, quadraticLoss(r, 3))
	}
	return losses
}

// TestExactFTRLSnapshot restores losses of all kinds, as sums and as lists, and continues with the
// same bits.
func TestExactFTRLSnapshot(t *testing.T) {
	r := random.New(7, "snapshot")
	set := must(convex.NewCenteredBall(3, 1))
	losses := lossesOfAllKinds(r, 30)
	for name, build := range map[string]func() *ExactFTRL{
		"quadratic": func() *ExactFTRL { return must(NewExactFTRL(must(NewQuadraticMinimizer(set, SqrtWeight(1))))) },
		"list":      func() *ExactFTRL { return must(NewExactFTRL(values(set))) },
	} {
		a, b := build(), build()
		for k, f := range losses {
			if k == 20 {
				if err := a.HintLoss(losses[7]); err != nil {
					t.Fatal(err)
				}
				if err := b.UnmarshalBinary(must(a.MarshalBinary())); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.UpdateLoss(f); err != nil {
				t.Fatal(err)
			}
			if k >= 20 {
				if err := b.UpdateLoss(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !bytes.Equal(must(a.MarshalBinary()), must(b.MarshalBinary())) {
			t.Errorf("%s: the bytes differ after a restore", name)
		}
		if got, want := must(b.Bound([]float64{0, 0.5, 0})), must(a.Bound([]float64{0, 0.5, 0})); got != want {
			t.Errorf("%s: Bound %v after a restore, %v without", name, got, want)
		}
	}

	l := leader(space(1), []float64{0})
	if err := l.UpdateLoss(must(loss.NewSquaredDistance([]float64{1}))); err != nil {
		t.Fatal(err)
	}
	l.m.Add(unregistered{must(loss.NewSquaredDistance([]float64{1}))})
	if _, err := l.MarshalBinary(); err == nil || !strings.Contains(err.Error(), "one cannot be saved") {
		t.Errorf("a loss that is not registered: %v", err)
	}
}

// values returns a minimizer whose points depend on the losses' values at one point instead of
// their minimizers, so that every parameter of a loss matters.
func values(set convex.Set) *ListMinimizer {
	return must(NewListMinimizer("values", set, nil,
		func(dst []float64, t int, losses []loss.Function, hint loss.Function) (float64, error) {
			clear(dst)
			if hint != nil {
				losses = append(append([]loss.Function(nil), losses...), hint)
			}
			for k, f := range losses {
				dst[k%3] += math.Sin(f.Value([]float64{0.1, -0.2, 0.3})) / float64(t)
			}
			set.Project(dst, dst)
			return 0, nil
		}))
}

// TestExactFTRLFails checks that a minimizer's failure is an error, and that the learner returns it
// from then on.
func TestExactFTRLFails(t *testing.T) {
	l := must(
		NewExactFTRL(must(NewListMinimizer("fails", space(1), nil,
			func(dst []float64, t int, _ []loss.Function, _ loss.Function) (float64, error) {
				dst[0] = 1
				if t == 3 {
					dst[0] = math.NaN()
				}
				return 0, nil
			}))))
	f := must(loss.NewSquaredDistance([]float64{2}))
	if err := l.UpdateLoss(f); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.UpdateLoss(f); noregret.CodeOf(err) != noregret.Diverged {
			t.Errorf("a point that is not a number: %v", err)
		}
	}
	if _, err := l.MarshalBinary(); err == nil {
		t.Error("a snapshot of a learner that has ended")
	}
}

// TestExactFTRLRefuses checks that losses that the minimizer refuses change nothing.
func TestExactFTRLRefuses(t *testing.T) {
	l := must(NewExactFTRL(must(NewQuadraticMinimizer(space(2), SqrtWeight(1)))))
	if err := l.Update([]float64{1, 2}); err != nil {
		t.Fatal(err)
	}
	before := must(l.MarshalBinary())
	for name, f := range map[string]loss.Function{
		"too large":          must(loss.NewSquaredDistance([]float64{1e301, 0})),
		"squares too large":  must(loss.NewExample([]float64{1e160, 0}, 1, loss.Squared{})),
		"of other dimension": must(loss.NewLinear([]float64{1})),
	} {
		if err := l.UpdateLoss(f); err == nil {
			t.Errorf("%s: not refused", name)
		}
		if err := l.HintLoss(f); err == nil {
			t.Errorf("%s: not refused as a hint", name)
		}
	}
	if err := l.HintLoss(must(loss.NewExample([]float64{1, 0}, 1, loss.HingeLoss{}))); err == nil {
		t.Error("a hint that is not quadratic is not refused")
	}
	if !bytes.Equal(before, must(l.MarshalBinary())) {
		t.Error("a refused loss changed the state")
	}
	if err := l.Update([]float64{1, 2}); err != nil {
		t.Error(err)
	}
}

// TestQuadraticMinimizerRefuses checks which losses it refuses. Exact FTRL uses their subgradient
// instead where possible.
func TestQuadraticMinimizerRefuses(t *testing.T) {
	wide := make([]float64, denseUpTo+1)
	wide[3] = 1
	big := must(NewQuadraticMinimizer(space(len(wide)), SqrtWeight(1)))
	if err := big.Takes(1, must(loss.NewExample(wide, 1, loss.Squared{}))); err == nil {
		t.Error("d² numbers are not refused in a high dimension")
	}
	small := must(NewQuadraticMinimizer(space(2), SqrtWeight(1)))
	singular := must(loss.NewExample([]float64{1e9, 1e9}, 1, loss.Squared{}))
	if err := small.Takes(1, singular); err == nil {
		t.Error("squares that make the matrix singular are not refused")
	}
	l := must(NewExactFTRL(small))
	for range 3 {
		if err := l.UpdateLoss(singular); err != nil {
			t.Fatal(err)
		}
	}
	tiny := must(NewExactFTRL(must(NewQuadraticMinimizer(space(1), SqrtWeight(1e-200)))))
	before := must(tiny.MarshalBinary())
	if err := tiny.Update([]float64{1e140}); err == nil || !bytes.Equal(before, must(tiny.MarshalBinary())) {
		t.Errorf("a sum that overflows over the weight: %v", err)
	}
	falling := must(
		NewExactFTRL(must(NewQuadraticMinimizer(must(convex.NewCenteredBall(1, 1)),
			WeightFunc("falling", func(t int) float64 {
				if t > 3 {
					return 0.01
				}
				return 1000
			})))))
	for round := 1; round <= 2; round++ {
		if err := falling.Update([]float64{1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := falling.Update([]float64{1}); err == nil {
		t.Error("a weight that falls is not refused")
	}
}

// TestExactFTRLHintsCostNothing checks that rounds with linear hints allocate nothing, with and
// without a matrix.
func TestExactFTRLHintsCostNothing(t *testing.T) {
	for _, matrix := range []bool{false, true} {
		l := must(NewExactFTRL(must(NewQuadraticMinimizer(space(20), SqrtWeight(1)))))
		g := make([]float64, 20)
		g[1], g[2] = 1, -1
		if matrix {
			if err := l.UpdateLoss(must(loss.NewExample(g, 1, loss.Squared{}))); err != nil {
				t.Fatal(err)
			}
		}
		n := testing.AllocsPerRun(50, func() {
			if err := l.Hint(g); err != nil {
				t.Fatal(err)
			}
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 {
			t.Errorf("%v allocations a round (matrix: %t)", n, matrix)
		}
	}
}

// TestExactFTRLInexactLeader plays follow-the-leader with a minimizer that is off by a known gap.
// The bound holds and is finite.
func TestExactFTRLInexactLeader(t *testing.T) {
	r := random.New(9, "inexact")
	for _, gap := range []float64{1e-12, 1e-4, 0.1} {
		var sum float64
		l := must(
			NewExactFTRL(must(NewListMinimizer("off", space(1), nil,
				func(dst []float64, t int, losses []loss.Function, _ loss.Function) (float64, error) {
					dst[0] = 0
					if t > 1 {
						// Σ(x−c_i)² is (t−1)·(x−mean)² above its minimum
						dst[0] = sum/float64(t-1) + math.Sqrt(gap/float64(t-1))*0.999
					}
					return gap, nil
				}))))
		var paid float64
		var losses []loss.Function
		for range 200 {
			f := must(loss.NewSquaredDistance([]float64{r.NormFloat64()}))
			paid += f.Value(l.Predict())
			sum += f.C[0]
			losses = append(losses, f)
			if err := l.UpdateLoss(f); err != nil {
				t.Fatal(err)
			}
			u := []float64{sum / float64(len(losses))}
			var best float64
			for _, f := range losses {
				best += f.Value(u)
			}
			if b := bound(t, l, u); !(paid-best <= b+1e-12*math.Abs(b)) || math.IsInf(b, 1) {
				t.Fatalf("gap %v: regret %v, bound %v", gap, paid-best, b)
			}
		}
	}
}
