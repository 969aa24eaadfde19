package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// The lower bounds, computed independently. The book's Σ 1/(2Δ) is larger.
func TestBernoulliLowerBound(t *testing.T) {
	near(t, "three arms", BernoulliLowerBound([]float64{.2, .5, .4}), 3.255565161)
	near(t, "two arms", BernoulliLowerBound([]float64{.01, .05}), 0.9687321122)
	near(t, "equal arms", BernoulliLowerBound([]float64{.3, .3}), 0)
}

func TestBernoulliDivergence(t *testing.T) {
	near(t, "kl(.5, .25)", BernoulliDivergence(.5, .25), .5*math.Log(4./3))
	near(t, "kl(0, .5)", BernoulliDivergence(0, .5), math.Ln2)
	near(t, "kl(1, .5)", BernoulliDivergence(1, .5), math.Ln2)
	near(t, "kl(.3, .3)", BernoulliDivergence(.3, .3), 0)
	if a, b := BernoulliDivergence(.3, 0), BernoulliDivergence(.3, 1); !math.IsInf(a, 1) || !math.IsInf(b, 1) {
		t.Errorf("kl(.3, 0) = %v, kl(.3, 1) = %v", a, b)
	}
}

// The index is the least q in [0, p] within the budget, as bisection finds it.
func TestKLIndex(t *testing.T) {
	for seed := range uint64(3000) {
		r := random.New(seed, "index")
		p, b := r.Float64(), math.Exp(8-18*r.Float64())
		switch seed % 10 {
		case 0:
			p = 1
		case 1:
			p = 1e-9 * r.Float64()
		}
		low, high := 0.0, p
		for range 200 {
			if mid := (low + high) / 2; BernoulliDivergence(p, mid) > b {
				low = mid
			} else {
				high = mid
			}
		}
		got := klLower(p, b)
		if !(math.Abs(got-high) <= 1e-9*high+1e-12*p) {
			t.Errorf("p = %v, b = %v: %v, want %v", p, b, got, high)
		}
	}
	for _, c := range [][3]float64{{0, 1, 0}, {.5, 0, .5}, {1, 2, math.Exp(-2)}, {1e-300, 5, 0}} {
		near(t, "index", klLower(c[0], c[1]), c[2])
	}
}

// The arm drawn has the lowest index.
func TestKLUCBDrawsTheLowestIndex(t *testing.T) {
	u, r := made(NewPlayer(4, KLUCB{C: 3, Limit: 2})), random.New(1, "kl-ucb")
	for range 2000 {
		k := u.Draw(nil)
		for i := range 4 {
			if u.Index(i) < u.Index(k) {
				t.Fatalf("arm %d of index %v, but arm %d has %v", k, u.Index(k), i, u.Index(i))
			}
		}
		if err := u.Update(k, 2*r.Float64()*[]float64{1, .8, .9, .7}[k]); err != nil {
			t.Fatal(err)
		}
	}
}
