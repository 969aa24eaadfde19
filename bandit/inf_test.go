package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// Λ in the reference run, computed independently.
func TestINFNormalization(t *testing.T) {
	f := referencePlayers()[2]
	rule := f.Rule().(INF)
	want := []float64{1.732050808, 1.549226627, 1.499249171, 1.292520857, 1.173939676}
	for round, arm := range referenceArms {
		near(t, "Λ", rule.Normalization(f.Estimates()), want[round])
		pull(t, f, arm, referenceLosses[round][arm])
	}
	near(t, "Λ", rule.Normalization(f.Estimates()), want[4])
}

func TestINFBound(t *testing.T) {
	rate := INFRate(10, 10000, .5, 1)
	near(t, "rate", rate, 0.01414213562)
	near(t, "bound", INFBound(10, 10000, .5, 1, rate), 753.0058348)
	near(t, "bound with √d for √d − 1", INFBound(10, 10000, .5, 1, rate)+2/rate, 894.427191)
	for _, q := range []float64{.2, .5, .75, .99} {
		tuned := 3 * math.Sqrt(2*10*10000/(q*(1-q)))
		rate := INFRate(10, 10000, q, 3)
		near(t, "tuned bound", INFBound(10, 10000, q, 3, rate)+1/(rate*(1-q)), tuned)
	}
	if got := INFBound(1, 100, .5, 1, 1); got != 0 {
		t.Errorf("bound of one arm: %v", got)
	}
}

func TestTsallisEntropy(t *testing.T) {
	x := []float64{.2, .3, .5}
	for q, want := range map[float64]float64{.5: -1.404085868, .9: -1.091939818, .999: -1.030249843, 1: -1.029653014} {
		near(t, "entropy", TsallisEntropy(x, q), want)
	}
	near(t, "minimum", TsallisEntropy([]float64{.25, .25, .25, .25}, .5), (1-2)/.5)
	near(t, "vertex", TsallisEntropy([]float64{0, 1}, .5), 0)
}

// As q goes to 1 the weights become those of Exp3.
func TestINFTendsToExp3(t *testing.T) {
	a, b := made(NewPlayer(4, INF{Rate: .3, Q: 1 - 1e-12, Limit: 1})), made(NewPlayer(4, Exp3{Rate: .3, Limit: 1}))
	r := random.New(1, "limit")
	for range 50 {
		nearAll(t, "weights", a.Probabilities(), b.Probabilities())
		arm, loss := b.Draw(r), r.Float64()
		pull(t, a, arm, loss)
		if err := b.Update(arm, loss); err != nil {
			t.Fatal(err)
		}
	}
}

// Newton's method ends at the root for any number of arms, exponent and estimates: all weights are
// positive and their sum before the division is 1.
func TestTsallisRoot(t *testing.T) {
	for seed := range uint64(200) {
		r := random.New(seed, "root")
		d := []int{1, 2, 3, 10, 100, 5000}[seed%6]
		q := []float64{.01, .3, .5, .75, .99}[seed%5]
		sums, p := make([]float64, d), make([]float64, d)
		for i := range sums {
			sums[i] = 1000 * r.Float64() * r.Float64()
		}
		v := tsallis(p, sums, math.Exp(4-8*r.Float64()), q)
		if v < 0 {
			t.Fatalf("v = %v", v)
		}
		least, total := math.Inf(1), 0.0
		for _, x := range p {
			least = min(least, x)
			total += x
		}
		if !(least > 0) || math.Abs(total-1) > 1e-12 {
			t.Errorf("d = %d, q = %v: least %v, sum %v", d, q, least, total)
		}
	}
}
