package experts_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var _ regret.RandomizedPlayer = (*experts.Randomized)(nil)

// fixed is a learner that stays where it is.
type fixed struct {
	x   []float64
	err error
}

func (f *fixed) Dim() int               { return len(f.x) }
func (f *fixed) Predict() []float64     { return f.x }
func (f *fixed) Update([]float64) error { return f.err }

// TestRandomizedFrequencies: χ² of the draws against the weights.
func TestRandomizedFrequencies(t *testing.T) {
	for _, x := range [][]float64{{.1, .2, .3, .4}, {.5, 0, .5}, {1e-3, .999}, {.25, .25, .25, .25}} {
		const rounds = 100000
		p := must(experts.NewRandomized(&fixed{x: x}, experts.DefaultRandomizedOptions(3)))
		count, g := make([]float64, len(x)), make([]float64, len(x))
		for range rounds {
			i := p.Draw()
			if again := p.Draw(); again != i {
				t.Fatalf("Draw is %d and then %d", i, again)
			}
			if v := p.Predict(); v[i] != 1 {
				t.Fatalf("draw %d, vertex %v", i, v)
			}
			count[i]++
			if err := p.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		var chi float64
		free := -1.0
		for i, v := range x {
			if v == 0 {
				if count[i] != 0 {
					t.Errorf("an expert without weight was drawn %v times", count[i])
				}
				continue
			}
			free++
			chi += (count[i] - rounds*v) * (count[i] - rounds*v) / (rounds * v)
		}
		// Wilson and Hilferty: (χ²/k)^(1/3) is nearly normal.
		if z := (math.Cbrt(chi/free) - (1 - 2/(9*free))) / math.Sqrt(2/(9*free)); math.Abs(z) > 4 {
			t.Errorf("%v: counts %v, χ² = %v with %v degrees", x, count, chi, free)
		}
	}
}

func TestRandomizedVertex(t *testing.T) {
	for i := range 3 {
		x := make([]float64, 3)
		x[i] = 1
		p := must(experts.NewRandomized(&fixed{x: x}, experts.DefaultRandomizedOptions(uint64(i))))
		for range 1000 {
			if j := p.Draw(); j != i {
				t.Fatalf("e_%d drew %d", i, j)
			}
			must(0, p.Update(make([]float64, 3)))
		}
	}
	// Rounding: weights with a sum below 1 go to the last one above 0, and negative rounding is no
	// weight.
	p := must(experts.NewRandomized(&fixed{x: []float64{-1e-17, 1 - 1e-10, 0, 0}}, experts.DefaultRandomizedOptions(0)))
	for range 1000 {
		if j := p.Draw(); j != 1 {
			t.Fatalf("drew %d", j)
		}
		must(0, p.Update(make([]float64, 4)))
	}
}

// run plays random losses and returns the draws.
func run(p *experts.Randomized, seed uint64, rounds int) (draws []int) {
	r := random.New(seed, "losses")
	g := make([]float64, p.Dim())
	for range rounds {
		draws = append(draws, p.Draw())
		for i := range g {
			g[i] = r.Float64()
		}
		must(0, p.Update(g))
	}
	return draws
}

func hedge(d int, seed uint64) *experts.Randomized {
	hedge := must(oco.NewAdaHedge(d, oco.DefaultAdaHedgeAlpha(d)))
	return must(experts.NewRandomized(hedge, experts.DefaultRandomizedOptions(seed)))
}

func TestRandomizedDeterminism(t *testing.T) {
	a, b, c := run(hedge(5, 1), 9, 200), run(hedge(5, 1), 9, 200), run(hedge(5, 2), 9, 200)
	if !slices.Equal(a, b) {
		t.Error("equal seeds, different runs")
	}
	if slices.Equal(a, c) {
		t.Error("different seeds, equal runs")
	}
	if got, want := fmt.Sprint(a[:20]), "[4 1 3 3 4 1 3 0 4 0 3 4 4 1 3 3 3 0 0 1]"; got != want {
		t.Errorf("the draws of seed 1 are %s, were %s: they must not change between releases", got, want)
	}
}

func TestRandomizedSnapshot(t *testing.T) {
	for _, drawn := range []bool{false, true} { // in the middle of a round, too
		p := hedge(4, 7)
		run(p, 1, 33)
		if drawn {
			p.Draw()
		}
		data := must(p.MarshalBinary())
		q := hedge(4, 7)
		run(q, 2, 5)
		must(0, q.UnmarshalBinary(data))
		if again := must(q.MarshalBinary()); !bytes.Equal(data, again) {
			t.Error("a restored player's snapshot differs")
		}
		if q.Loss() != p.Loss() || q.Rounds() != 33 {
			t.Errorf("restored: loss %v of %v, rounds %d", q.Loss(), p.Loss(), q.Rounds())
		}
		if a, b := run(p, 3, 100), run(q, 3, 100); !slices.Equal(a, b) || p.Loss() != q.Loss() {
			t.Error("a restored player continues differently")
		}
		// What is refused changes nothing.
		before := must(q.MarshalBinary())
		damaged := slices.Clone(data)
		damaged[len(damaged)/2] ^= 1
		for name, d := range map[string][]byte{
			"damaged": damaged, "short": data[:10], "other seed": must(hedge(4, 8).MarshalBinary()),
			"other learner": must(hedge(5, 7).MarshalBinary()),
		} {
			if err := q.UnmarshalBinary(d); noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !bytes.Equal(before, must(q.MarshalBinary())) {
			t.Error("a refused snapshot changed the player")
		}
	}
	p := must(experts.NewRandomized(&fixed{x: []float64{1}}, experts.DefaultRandomizedOptions(0)))
	if _, err := p.MarshalBinary(); err == nil {
		t.Error("a snapshot of a learner that has none")
	}
	if err := p.UnmarshalBinary(nil); err == nil {
		t.Error("a snapshot for a learner that has none")
	}
}

// TestRandomizedBounds: the mean regret is within the expected bound, and few runs are above the
// one of high probability.
func TestRandomizedBounds(t *testing.T) {
	const rounds, runs, delta, d = 300, 600, 0.1, 4
	entry := must(regret.FindGame("minimax-experts"))
	above := 0
	var mean, square, expected float64
	for seed := range uint64(runs) {
		g, _,
			err := entry.New(regret.GameParams{
			Dim: d, Rounds: rounds,
			Options: map[string]float64{"lipschitz": math.Sqrt2},
		})
		if err != nil {
			t.Fatal(err)
		}
		eg := must(oco.NewExponentiatedGradient(d, nil, math.Sqrt(2*math.Log(d)/rounds)))
		p := must(experts.NewRandomized(eg, experts.RandomizedOptions{Seed: seed, Low: -1, High: 1}))
		c, err := regret.Play(context.Background(), p, g, rounds, regret.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.Loss()-c.LearnerLoss) > 1e-9 || p.Rounds() != rounds {
			t.Fatalf("the player counts %v, the referee %v", p.Loss(), c.LearnerLoss)
		}
		mean += c.Regret / runs
		square += c.Regret * c.Regret / runs
		expected = c.Bound
		high := must(p.HighProbabilityBound(c.Comparator, delta))
		if want := c.Bound + 2*math.Sqrt(2*rounds*math.Log(1/delta)); math.Abs(high-want) > 1e-9*want {
			t.Fatalf("high-probability bound %v, want %v", high, want)
		}
		if c.Regret > high {
			above++
		}
	}
	sd := math.Sqrt((square - mean*mean) / runs)
	if mean > expected+4*sd {
		t.Errorf("mean regret %v ± %v above the bound %v", mean, sd, expected)
	}
	if above > delta*runs {
		t.Errorf("%d of %d runs above the bound of probability %v", above, runs, 1-delta)
	}
}

func TestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	l := func() experts.Learner { return must(oco.NewAdaHedge(2, oco.DefaultAdaHedgeAlpha(2))) }
	for name, c := range map[string]struct {
		l experts.Learner
		o experts.RandomizedOptions
	}{
		"nil":            {nil, experts.DefaultRandomizedOptions(0)},
		"no range":       {l(), experts.RandomizedOptions{}},
		"range":          {l(), experts.RandomizedOptions{Low: 1, High: 0}},
		"NaN range":      {l(), experts.RandomizedOptions{Low: nan, High: 1}},
		"infinite range": {l(), experts.RandomizedOptions{Low: -inf, High: inf}},
		"long range":     {l(), experts.RandomizedOptions{Low: -math.MaxFloat64, High: math.MaxFloat64}},
		"not a simplex": {
			must(oco.NewSubgradientDescent(must(convex.NewSpace(2)), nil, oco.Constant(1))),
			experts.DefaultRandomizedOptions(0),
		},
		"negative": {&fixed{x: []float64{2, -1}}, experts.DefaultRandomizedOptions(0)},
		"NaN":      {&fixed{x: []float64{nan, 1}}, experts.DefaultRandomizedOptions(0)},
		"empty":    {&fixed{}, experts.DefaultRandomizedOptions(0)},
	} {
		if _, err := experts.NewRandomized(c.l, c.o); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := hedge(2, 1)
	i, before := p.Draw(), must(p.MarshalBinary())
	for _, g := range [][]float64{nil, {1}, {1, 2, 3}, {nan, 0}, {0, inf}, {-.1, 0}, {0, 1.1}} {
		if err := p.Update(g); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("losses %v: %v", g, err)
		}
	}
	if p.Draw() != i || !bytes.Equal(before, must(p.MarshalBinary())) {
		t.Error("refused losses changed the player")
	}
	for _, delta := range []float64{0, 1, -1, nan} {
		if _, err := p.HighProbabilityBound([]float64{1, 0}, delta); err == nil {
			t.Errorf("δ = %v", delta)
		}
	}
	if _, err := p.HighProbabilityBound([]float64{1}, .5); err == nil {
		t.Error("a comparator of the wrong length")
	}
	f := &fixed{x: []float64{.5, .5}}
	q := must(experts.NewRandomized(f, experts.DefaultRandomizedOptions(0)))
	if b := must(q.Bound([]float64{1, 0})); !math.IsInf(b, 1) {
		t.Errorf("a bound of %v without one", b)
	}
	f.err = noregret.BadInputf("", "no more")
	if err := q.Update([]float64{0, 1}); err == nil || q.Rounds() != 0 || q.Loss() != 0 {
		t.Errorf("the learner refused: %v, loss %v", err, q.Loss())
	}
	f.err, f.x = nil, []float64{.5, .6}
	if err := q.Update([]float64{0, 1}); err == nil || !strings.Contains(err.Error(), "simplex") {
		t.Errorf("a learner that left the simplex: %v", err)
	}
}

func TestAllocations(t *testing.T) {
	p := hedge(10, 1)
	g := make([]float64, 10)
	if n := testing.AllocsPerRun(1000, func() {
		p.Draw()
		p.Predict()
		must(0, p.Update(g))
	}); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
