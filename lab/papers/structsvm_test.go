package papers

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
)

func smallRows(r *rand.Rand, n int) []classify.Example {
	rows := make([]classify.Example, n)
	for i := range rows {
		rows[i] = classify.Example{
			Index: []uint32{0, 1}, Value: []float32{float32(r.NormFloat64()), float32(r.NormFloat64())},
			Positive: i == 0 || r.IntN(3) == 0, Weight: 1,
		}
		if r.IntN(4) == 0 { // ties
			rows[i].Value[0], rows[i].Value[1] = 1, -1
		}
	}
	return rows
}

// The search over sorted scores finds the same largest violation as all 2^n labelings do, with the
// measure's own loss.
func TestMostViolatedEqualsBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 1600 {
		n := 2 + r.IntN(7)
		loss := structLosses[trial%4]
		s := newStructSVM(loss, smallRows(r, n), 2)
		if len(s.neg) == 0 {
			continue // a rate of the negatives is not defined
		}
		w := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		for j := range w {
			w[j] *= []float64{0, .3, 2, 20}[trial/4%4]
		}
		best := math.Inf(-1)
		for labels := range 1 << n {
			var counts measure.Confusion
			var sum float64
			for i, x := range s.rows {
				z := w[2] + w[0]*float64(x.Value[0]) + w[1]*float64(x.Value[1])
				flip := labels>>i&1 == 1
				switch {
				case flip && x.Positive:
					sum += 2 * z
				case flip:
					sum -= 2 * z
				}
				counts.Add(x.Positive, x.Positive != flip, 1)
			}
			best = max(best, 1-loss.measure.Value(counts)-sum/float64(n))
		}
		c := s.mostViolated(w)
		if got := c.violation(w); math.Abs(got-best) > 1e-12 {
			t.Fatalf("trial %d, %s, n = %d: violation %v, want %v", trial, loss.measure.Name(), n, got, best)
		}
	}
}

func shortTale(t *testing.T, rows int) *tale {
	t.Helper()
	g1, err := newTale("g1")
	if err != nil {
		t.Fatal(err)
	}
	before := g1.rows[:rows]
	if err := g1.shorten(rows); err != nil {
		t.Fatal(err)
	}
	for i, x := range g1.rows {
		if x.Positive != before[i].Positive || x.Value[3] != before[i].Value[3] {
			t.Fatalf("row %d differs", i)
		}
	}
	return g1
}

// On 2,000 rows of g1 the certified gap of the QP closes, and the cutting planes end with no
// labeling violated by more than ξ + 1e-3. No random point improves on the solution by more than
// the certificate allows, and the tuned F₁ is within 0.03 of the plug-in's.
func TestCuttingPlanes(t *testing.T) {
	testsize.NoRace(t)
	g1 := shortTale(t, 2000)
	s := newStructSVM(structLosses[0], g1.rows, 10)
	for _, c := range []float64{10, 1000} {
		r := s.cuttingPlanes(c, 300, nil)
		t.Logf("C = %v: %d cuts, ξ = %.4f, violation %.4f, gap %.2g", c, r.iterations, r.xi, r.violation, r.gap)
		if !r.converged || r.violation > r.xi+1e-3 {
			t.Errorf("C = %v: not converged after %d passes: violation %v, ξ %v", c, r.passes, r.violation, r.xi)
		}
		if !(r.gap >= -1e-9*c && r.gap <= 1.01e-4*c) {
			t.Errorf("C = %v: gap %v", c, r.gap)
		}
		w := append(append([]float64(nil), r.model.Weights...), r.model.Intercept)
		objective := func(w []float64) float64 {
			worst := s.mostViolated(w)
			return vec.DotInOrder(w, w)/2 + c*max(0, worst.violation(w))
		}
		// With the gap and the missed violation, the optimum is at most this far below.
		slack := c * (1e-3 + 1.01e-4)
		random := rand.New(rand.NewPCG(3, 4))
		here := objective(w)
		for range 60 {
			other := append([]float64(nil), w...)
			for j := range other {
				other[j] += random.NormFloat64() * []float64{.01, .1, 1}[random.IntN(3)]
			}
			if v := objective(other); v < here-slack {
				t.Errorf("C = %v: objective %v, a neighbour has %v", c, here, v)
			}
		}
	}
	ctx := context.Background()
	want, _, err := g1.plugIn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := g1.svmPerf(ctx, 300)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("test F1: struct SVM %.4f, plug-in %.4f", got, want)
	if math.Abs(got-want) > 0.03 {
		t.Errorf("F1 of the struct SVM is %.4f, the tuned plug-in has %.4f", got, want)
	}
}

// On random cuts the gap of the QP closes far below the default tolerance, and the certificate is
// the true difference of primal and dual.
func TestCutQP(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		q := newCutQP(5, 3)
		for range 12 {
			g := make([]float64, 4)
			for j := range g {
				g[j] = r.NormFloat64()
			}
			q.add(cut{g: g, delta: r.Float64()})
		}
		w, xi, gap := q.solve(1e-9, 100_000)
		if !(gap >= -1e-12 && gap <= 2e-9) {
			t.Errorf("gap %v", gap)
		}
		var sum float64
		for k, a := range q.alpha {
			sum += a
			if a < 0 || q.cuts[k].violation(w) > xi {
				t.Errorf("cut %d: α %v, violation %v, ξ %v", k, a, q.cuts[k].violation(w), xi)
			}
		}
		if math.Abs(sum-5) > 1e-12 {
			t.Errorf("Σα = %v", sum)
		}
	}
}

// TestMiniBatchSteps compares 1PMB with a step by hand. At w = 0 the labeling ȳ flips every
// positive and no negative (Δ is 1 already), and the average includes the iterate before the step.
func TestMiniBatchSteps(t *testing.T) {
	rows := []classify.Example{
		{Index: []uint32{0}, Value: []float32{3}, Positive: true, Weight: 1},
		{Index: []uint32{0}, Value: []float32{1}, Weight: 1},
		// A buffer without positives is skipped.
		{Index: []uint32{0}, Value: []float32{1}, Weight: 1},
		{Index: []uint32{0}, Value: []float32{1}, Weight: 1},
		{Index: []uint32{0}, Value: []float32{3}, Positive: true, Weight: 1},
		{Index: []uint32{0}, Value: []float32{1}, Weight: 1},
		{Index: []uint32{0}, Value: []float32{9}, Positive: true, Weight: 1}, // not a full buffer
	}
	r := miniBatch(rows, 1, 2, 2)
	// g = (2/2)·(3, 1), w after one step = 2·(3, 1) = (6, 2); the average of (0, 0) and (6, 2).
	if r.iterations != 2 || r.passes != 1 || r.model.Weights[0] != 3 || r.model.Intercept != 1 {
		t.Errorf("%+v", r)
	}
}

func TestRunStructSVM(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	opt, now := DefaultStructSVMOptions(), time.Duration(0)
	opt.Rows = testsize.Of(4000, 2000)
	opt.Clock = func() time.Duration {
		now += time.Second
		return now
	}
	table, err := RunStructSVM(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	plugin, passes := table.Rows[0].Cells[0].Mean, []float64{}
	for _, row := range table.Rows {
		if f := row.Cells[0].Mean; f < plugin-0.08 {
			t.Errorf("%s: F1 is %.4f, the plug-in has %.4f", row.Name, f, plugin)
		}
		passes = append(passes, row.Cells[1].Mean)
		if row.Cells[2].Mean != 1 {
			t.Errorf("%s: %v seconds on a clock that ticks at every reading", row.Name, row.Cells[2].Mean)
		}
	}
	if passes[3] != 1 || passes[2] < 2 || passes[2] > 300 {
		t.Errorf("passes %v", passes)
	}
}

func TestRunStructSVMRefuses(t *testing.T) {
	for name, change := range map[string]func(*StructSVMOptions){
		"few rows":        func(o *StructSVMOptions) { o.Rows = 10 },
		"no rows":         func(o *StructSVMOptions) { o.Rows = 0 },
		"no passes":       func(o *StructSVMOptions) { o.Passes = 0 },
		"no problem":      func(o *StructSVMOptions) { o.Problem = "" },
		"unknown problem": func(o *StructSVMOptions) { o.Problem = "g2" },
	} {
		bad := DefaultStructSVMOptions()
		change(&bad)
		if _, err := RunStructSVM(context.Background(), bad); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}
