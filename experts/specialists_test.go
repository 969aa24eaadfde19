package experts_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/oco"
)

func adaHedge(d int) *oco.AdaHedge { return must(oco.NewAdaHedge(d, oco.DefaultAdaHedgeAlpha(d))) }

// vertex is e_i in ℝ^d.
func vertex(d, i int) []float64 {
	e := make([]float64, d)
	e[i] = 1
	return e
}

// TestSpecialistsRegret: with every base learner, and experts that sleep at random, for long, or
// are half awake, the regret to each in its rounds is within the bound, and nobody asleep has a
// weight.
func TestSpecialistsRegret(t *testing.T) {
	const d, rounds = 6, 300
	for name, learner := range map[string]func() experts.Learner{
		"adahedge": func() experts.Learner { return adaHedge(d) },
		"hedge":    func() experts.Learner { return must(oco.NewExponentiatedGradient(d, nil, .2)) },
		"betting": func() experts.Learner {
			return must(oco.NewExpertBetting(d, oco.ExpertBettingOptions{Range: 1}))
		},
		"fixed share": func() experts.Learner { return must(oco.NewFixedShare(d, .3, .01)) },
	} {
		r := random.New(1, name)
		for mode := range 3 {
			s := must(experts.NewSpecialists(learner()))
			regret := make([]float64, d)
			for round := range rounds {
				a := make([]float64, d)
				for i := range a {
					switch mode {
					case 0:
						a[i] = float64(r.IntN(2))
					case 1:
						a[i] = float64((round/50 + i) % 2)
					case 2:
						a[i] = r.Float64()
					}
				}
				a[round%d] = 1
				if err := s.Confidence(a); err != nil {
					t.Fatal(err)
				}
				p, g := slices.Clone(s.Predict()), make([]float64, d)
				if math.Abs(vec.Sum(p)-1) > 1e-12 {
					t.Fatalf("%s: the weights sum to %v", name, vec.Sum(p))
				}
				paid := 0.0
				for i := range g {
					g[i] = r.Float64() * (.3 + float64(i)/d)
					if a[i] == 0 {
						if g[i] = math.NaN(); p[i] != 0 {
							t.Fatalf("%s: expert %d sleeps and has weight %v", name, i, p[i])
						}
						continue
					}
					g[i] = min(g[i], 1)
					paid += p[i] * g[i]
				}
				for i := range g {
					if a[i] > 0 {
						regret[i] += a[i] * (paid - g[i])
					}
				}
				if err := s.Update(g); err != nil {
					t.Fatal(err)
				}
			}
			for i, v := range regret {
				if b := must(s.Bound(vertex(d, i))); v > b {
					t.Errorf("%s, mode %d: regret %v to expert %d above %v", name, mode, v, i, b)
				}
			}
		}
	}
}

// TestSpecialistsAwake: with all experts awake it is the learner.
func TestSpecialistsAwake(t *testing.T) {
	r := random.New(2, "awake")
	a, b := adaHedge(4), must(experts.NewSpecialists(adaHedge(4)))
	for range 50 {
		x, y := a.Predict(), b.Predict()
		for i := range x {
			if math.Abs(x[i]-y[i]) > 1e-15 {
				t.Fatalf("%v and %v", x, y)
			}
		}
		g := []float64{r.Float64(), r.Float64(), r.Float64(), 0}
		if a.Update(g) != nil || b.Update(g) != nil {
			t.Fatal("refused")
		}
	}
}

// TestSpecialistsWithoutWeight: if only experts of weight 0 are awake, they share equally.
func TestSpecialistsWithoutWeight(t *testing.T) {
	base := must(oco.NewExponentiatedGradient(3, []float64{1, 0, 0}, 1))
	s := must(experts.NewSpecialists(base))
	if err := s.Confidence([]float64{0, 1, 1}); err != nil {
		t.Fatal(err)
	}
	if p := s.Predict(); !slices.Equal(p, []float64{0, .5, .5}) {
		t.Errorf("weights %v", p)
	}
	if err := s.Update([]float64{math.Inf(1), 1, 0}); err != nil {
		t.Error(err)
	}
}

func TestSpecialistsRefuse(t *testing.T) {
	s := must(experts.NewSpecialists(adaHedge(3)))
	if err := s.Update([]float64{1, 0, .5}); err != nil {
		t.Fatal(err)
	}
	if err := s.Confidence([]float64{0, 1, .5}); err != nil {
		t.Fatal(err)
	}
	before := must(s.MarshalBinary())
	for _, a := range [][]float64{nil, {1, 1}, {0, 0, 0}, {1, -1, 0}, {1, 2, 0}, {math.NaN(), 1, 1}} {
		if err := s.Confidence(a); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("confidences %v: %v", a, err)
		}
	}
	for _, g := range [][]float64{nil, {1, 1}, {0, math.NaN(), 0}, {0, 0, math.Inf(1)}} {
		if err := s.Update(g); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("losses %v: %v", g, err)
		}
	}
	if !bytes.Equal(before, must(s.MarshalBinary())) {
		t.Error("a refused round changed it")
	}
	if _, err := experts.NewSpecialists(nil); err == nil {
		t.Error("no learner")
	}
	if _, err := must(experts.NewSpecialists(&fixed{x: []float64{1}})).MarshalBinary(); err == nil {
		t.Error("a learner without a snapshot was saved")
	}
}

// TestSpecialistsSnapshot restores in the middle of a round, in which experts sleep.
func TestSpecialistsSnapshot(t *testing.T) {
	r := random.New(3, "snapshot")
	a, b := must(experts.NewSpecialists(adaHedge(3))), must(experts.NewSpecialists(adaHedge(3)))
	for range 20 {
		if err := a.Update([]float64{r.Float64(), r.Float64(), r.Float64()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Confidence([]float64{0, 1, .25}); err != nil {
		t.Fatal(err)
	}
	data := must(a.MarshalBinary())
	if err := b.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if !slices.Equal(a.Predict(), b.Predict()) {
			t.Fatalf("%v, restored %v", a.Predict(), b.Predict())
		}
		g := []float64{r.Float64(), r.Float64(), r.Float64()}
		if a.Update(g) != nil || b.Update(g) != nil {
			t.Fatal("refused")
		}
	}
	data[len(data)/2] ^= 1
	if b.UnmarshalBinary(data) == nil {
		t.Error("a damaged snapshot was taken")
	}
	g, awake := []float64{.1, .2, .3}, []float64{1, 0, 1}
	if n := testing.AllocsPerRun(50, func() {
		_, _, _ = a.Confidence(awake), a.Predict(), a.Update(g)
	}); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
