package papers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/regret"
)

// step is the step after round t of gradient descent under a policy.
func (p *driftPlay) stepAfter(t, batch int) float64 {
	switch {
	case p.step > 0:
		return p.step
	case p.cell.Policy == "restarted":
		return 1 / float64((t-1)%batch+1)
	}
	return 1 / float64(t)
}

// expected is the exact expected regret of gradient descent from ½ without a projection: that of a
// run without noise, and what the noise adds, for each unit of its variance. With e_t = x_t − b_t
// the first is ½Σe_t²; the variance of x_t follows v ← (1 − η)²v + η².
func (p *driftPlay) expected(t *testing.T) (still, noise, best float64) {
	t.Helper()
	batch, err := p.batch()
	if err != nil {
		t.Fatal(err)
	}
	x, v := 0.5, 0.0
	for k := 1; k <= p.rounds; k++ {
		b := p.cell.Pattern.Target(k, p.start(), p.rounds)
		still += (x - b) * (x - b) / 2
		noise += v / 2
		best += 1 - b*b/2
		eta := p.stepAfter(k, batch)
		x -= eta * (x - b)
		v = (1-eta)*(1-eta)*v + eta*eta
	}
	return still, noise, best
}

// TestDriftOracles: the exact expected regrets of gradient descent agree with known values, the
// simulator without noise with the first, and simulated means with the sum of both.
func TestDriftOracles(t *testing.T) {
	for _, c := range []struct {
		rounds, start      int
		pattern            regret.Pattern
		policy             string
		still, noise, best float64
	}{
		{5000, 310, regret.Jump, "restarted", 26.305986, 72.961798, 4845.5},
		{5000, 310, regret.Jump, "plain", 145.326215, 4.547154, 4845.5},
		{5000, 362, regret.Jump, "fixed:0.001", 138.346019, 1.125506, 4819.5},
		{5000, 362, regret.Decay, "restarted", 1.653063, 72.961798, 4694.249834},
		{5000, 362, regret.Ramp, "plain", 235.435650, 4.547154, 4046.249982},
		{5000, 362, regret.Ramp, "fixed:0.1", 0.668643, 131.440443, 4046.249982},
		{25000, 756, regret.Jump, "restarted", 63.436304, 169.765499, 24622.5},
		{25000, 882, regret.Decay, "plain", 837.336068, 5.351913, 23934.249969},
	} {
		name := fmt.Sprintf("%d/%v/%s", c.rounds, c.pattern, c.policy)
		cell := DriftCell{Setting: "gradient", Pattern: c.pattern, Policy: c.policy}
		p, err := newDriftPlay(&cell, c.rounds)
		if err != nil {
			t.Fatal(err)
		}
		if p.start() != c.start {
			t.Errorf("%s: the change begins in round %d, want %d", name, p.start(), c.start)
		}
		still, noise, best := p.expected(t)
		within(t, name+": still", still, c.still, 5.1e-7)
		within(t, name+": noise", noise, c.noise, 5.1e-7)
		within(t, name+": best", best, c.best, 5.1e-7)
		within(t, name+": best", p.best(), c.best, 5.1e-7)
		quiet, err := p.run(context.Background(), 1)
		if err != nil {
			t.Fatal(err)
		}
		within(t, name+": a run without noise", quiet, c.still, 1e-6)

		const sd = 0.1 // so small that no projection moves a point
		cell.Noise = sd
		r, err := RunDrift(context.Background(), []DriftCell{cell}, [][]int{{c.rounds}},
			DriftOptions{Runs: testsize.Of(100, 20), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		h := r[0].Horizons[0]
		within(t, name+": simulated", h.Regret, c.still+sd*sd*c.noise, 4*h.Error)
		within(t, name+": percent", h.Loss, 100*h.Regret/c.best, 1e-9)
	}
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v to %v", what, got, want, tolerance)
	}
}

// TestDriftWorkers: one worker and several give the same bits.
func TestDriftWorkers(t *testing.T) {
	cells := []DriftCell{
		{Setting: "cost", Pattern: regret.Decay, Noise: 0.3, Policy: "restarted"},
		{Setting: "gradient", Pattern: regret.Ramp, Noise: 1, Policy: "fixed:0.01"},
	}
	horizons := [][]int{{100, 300}, {200}}
	var last int
	run := func(workers int) string {
		last = 0
		r, err := RunDrift(context.Background(), cells, horizons, DriftOptions{
			Runs: 5, Seed: 3, Workers: workers, Progress: func(done, total int) {
				if done != last+1 || total != 5*3 {
					t.Errorf("progress %d of %d after %d", done, total, last)
				}
				last = done
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if last != 5*3 {
			t.Errorf("progress ended at %d", last)
		}
		return fmt.Sprintf("%+v", r)
	}
	if a, b := run(1), run(3); a != b {
		t.Errorf("%s with one worker, %s with three", a, b)
	}
}

func TestDriftRefusals(t *testing.T) {
	good := DriftCell{Setting: "gradient", Pattern: 1, Noise: 0.1, Policy: "restarted"}
	for name, change := range map[string]func(c *DriftCell, rounds *[]int, o *DriftOptions){
		"setting":       func(c *DriftCell, _ *[]int, _ *DriftOptions) { c.Setting = "both" },
		"pattern":       func(c *DriftCell, _ *[]int, _ *DriftOptions) { c.Pattern = 4 },
		"noise":         func(c *DriftCell, _ *[]int, _ *DriftOptions) { c.Noise = math.NaN() },
		"policy":        func(c *DriftCell, _ *[]int, _ *DriftOptions) { c.Policy = "none" },
		"step":          func(c *DriftCell, _ *[]int, _ *DriftOptions) { c.Policy = "fixed:0" },
		"one round":     func(_ *DriftCell, r *[]int, _ *DriftOptions) { *r = []int{1} },
		"no rounds":     func(_ *DriftCell, r *[]int, _ *DriftOptions) { *r = nil },
		"equal rounds":  func(_ *DriftCell, r *[]int, _ *DriftOptions) { *r = []int{10, 10} },
		"no runs":       func(_ *DriftCell, _ *[]int, o *DriftOptions) { o.Runs = 0 },
		"too many runs": func(_ *DriftCell, _ *[]int, o *DriftOptions) { o.Runs = 1 << 30 },
	} {
		c, rounds, o := good, []int{10, 20}, DriftOptions{Runs: 2}
		change(&c, &rounds, &o)
		if _, err := RunDrift(context.Background(), []DriftCell{c}, [][]int{rounds}, o); noregret.CodeOf(err) !=
			noregret.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := RunDrift(ctx, []DriftCell{good}, [][]int{{1000}}, DriftOptions{Runs: 3}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

// TestFitLine: an exact power law is found, with the spread of its slope.
func TestFitLine(t *testing.T) {
	l := fitLine([]float64{0, 1, 2}, []float64{1, 3, 5}, []float64{0.1, 0.1, 0.1})
	within(t, "slope", l.slope, 2, 1e-12)
	within(t, "intercept", l.intercept, 1, 1e-12)
	within(t, "r2", l.r2, 1, 1e-12)
	within(t, "spread", l.spread, 0.1/math.Sqrt2, 1e-12)
	if l = fitLine([]float64{1}, []float64{1}, nil); !math.IsNaN(l.slope) {
		t.Errorf("%+v", l)
	}
}

// An interrupted measurement has the means of the runs that all cells and horizons have completed:
// those of a measurement of as many runs.
func TestDriftInterrupted(t *testing.T) {
	cells := []DriftCell{
		{Setting: "gradient", Pattern: regret.Jump, Noise: 0.3, Policy: "restarted"},
		{Setting: "cost", Pattern: regret.Ramp, Noise: 1, Policy: "plain"},
	}
	horizons := [][]int{{100, 200}, {100}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := RunDrift(ctx, cells, horizons, DriftOptions{
		Runs: 9, Seed: 1, Workers: 1, Progress: func(done, _ int) {
			if done > 3*3 { // three cells and horizons
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || len(r) != 2 || r[0].Runs != 3 {
		t.Fatalf("%+v, %v: want 3 of 9 runs", r, err)
	}
	three, err := RunDrift(context.Background(), cells, horizons, DriftOptions{Runs: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range three {
		three[i].Asked = 9
	}
	if got, want := fmt.Sprint(r), fmt.Sprint(three); got != want {
		t.Errorf("3 of 9 runs:\n%s\n3 runs:\n%s", got, want)
	}
}
