package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// TestMOSSIndex compares the index with the formula of Audibert and Bubeck for losses in [0, 1],
// and checks that each arm is pulled once first.
func TestMOSSIndex(t *testing.T) {
	const d, rounds = 3, 300
	m, err := NewPlayer(d, MOSS{Rounds: rounds, Sigma: .5})
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "moss")
	for round := range rounds {
		best, least := 0, math.Inf(1)
		for k := range d {
			want := math.Inf(-1)
			if n := float64(m.Pulls(k)); n > 0 {
				want = m.Mean(k) - math.Sqrt(max(math.Log(rounds/(d*n)), 0)/n)
			}
			if got := m.Index(k); got != want && !(math.Abs(got-want) < 1e-12) {
				t.Fatalf("round %d: the index of arm %d is %v, want %v", round, k, got, want)
			}
			if want < least {
				best, least = k, want
			}
		}
		k := m.Draw(nil)
		if k != best || round < d && k != round {
			t.Fatalf("round %d: arm %d is drawn, want %d", round, k, best)
		}
		loss := 0.0
		if r.Float64() < []float64{.5, .3, .6}[k] {
			loss = 1
		}
		if err := m.Update(k, loss); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMOSSBound checks the bound against the constants of both sources, and that no choice of gaps
// exceeds it. Against gaps near √(d/T) it pays less than UCB with the guarantee.
func TestMOSSBound(t *testing.T) {
	near(t, "one arm", MOSSBound([]float64{0}, 100, 1), 0)
	near(t, "two arms", MOSSBound([]float64{0, .5}, 50, 2), 39*2*10+.5)
	for _, d := range []int{2, 10, 100} {
		gaps := make([]float64, d)
		for k := 1; k < d; k++ {
			gaps[k] = 1
		}
		if b, first := MOSSBound(gaps, 100*d, .5), 49*math.Sqrt(float64(d*100*d)); !(b <= first) {
			t.Errorf("%d arms: %v above the first bound %v", d, b, first)
		}
	}
	const rounds = 2000
	runs := testsize.Of(60, 20)
	for _, d := range []int{2, 5, 80} {
		for _, gap := range []float64{.02, math.Sqrt(float64(d) / rounds), .4} {
			means := make([]float64, d)
			for k := 1; k < d; k++ {
				means[k] = gap
			}
			regret := func(p func() *Player) float64 {
				sum := 0.0
				for run := range runs {
					for _, k := range bernoulli(t, p(), shifted(means), rounds, random.New(uint64(run), "moss")) {
						sum += means[k]
					}
				}
				return sum / float64(runs)
			}
			got := regret(func() *Player { return made(NewPlayer(d, MOSS{Rounds: rounds, Sigma: .5})) })
			if b := MOSSBound(means, rounds, .5); !(got <= b) {
				t.Errorf("%d arms, gap %v: the regret is %v, the bound %v", d, gap, got, b)
			}
			ucb := regret(func() *Player { return made(NewPlayer(d, AlphaUCB{Alpha: 3, Sigma: .5})) })
			if gap > .03 && !(got < ucb) {
				t.Errorf("%d arms, gap %v: moss pays %v, ucb %v", d, gap, got, ucb)
			}
		}
	}
}

// shifted are means around ½.
func shifted(gaps []float64) []float64 {
	out := make([]float64, len(gaps))
	for k, g := range gaps {
		out[k] = .3 + g
	}
	return out
}

// TestAlphaUCBSmall: the index needs no α above 2, as the guarantee does. The index at α = 1 pays
// less than at 3, and its bounds are +Inf.
func TestAlphaUCBSmall(t *testing.T) {
	means, gaps := []float64{.1, .5, .9}, []float64{0, .4, .8}
	runs := testsize.Of(60, 20)
	regret := func(alpha float64) (sum float64) {
		for run := range runs {
			p := made(NewPlayer(3, AlphaUCB{Alpha: alpha, Sigma: .5}))
			for _, k := range bernoulli(t, p, means, 10_000, random.New(uint64(run), "small")) {
				sum += gaps[k]
			}
		}
		return sum / float64(runs)
	}
	small, usual := regret(1), regret(3)
	if !(small < .6*usual) {
		t.Errorf("α = 1 pays %v, α = 3 pays %v", small, usual)
	}
	for _, alpha := range []float64{1e-6, 1, 2} {
		if b := []float64{
			AlphaUCBBound(gaps, 100, alpha, .5), AlphaUCBGapFreeBound(gaps, 100, alpha, .5),
			AlphaUCBPulls(.4, 100, alpha, .5),
		}; !math.IsInf(b[0], 1) || !math.IsInf(b[1], 1) || !math.IsInf(b[2], 1) {
			t.Errorf("α = %v: the bounds are %v, want +Inf", alpha, b)
		}
	}
	for _, alpha := range []float64{0, -1, math.NaN(), 2e6} {
		if _, err := NewPlayer(2, AlphaUCB{Alpha: alpha, Sigma: 1}); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("α = %v: %v", alpha, err)
		}
	}
}
