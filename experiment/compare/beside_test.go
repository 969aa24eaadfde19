package compare

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

func newFree(t interface{ Fatal(...any) }, arms int, metrics ...Metric) *Store {
	s, err := NewFree(arms, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNarrow: when a store of all pairs gets its 129th arm, the contrasts with the control, their
// variances, the level and its scatter stay, and the covariances nearly; rounds can be added.
func TestNarrow(t *testing.T) {
	r := random.New(1, "narrow")
	s := newStore(t, mostPairs, Metric{}, Metric{Ratio: true})
	round := func(metric int) (list []Sums) {
		for k := range s.Arms() {
			n := 50 + 100*r.Float64()
			o := sums(k, n, 1+0.01*float64(k)+r.NormFloat64()/math.Sqrt(n))
			if metric == 1 {
				o.Y, o.YY, o.XY = 2+r.NormFloat64()/math.Sqrt(n), n-1, 0
			}
			if k == 0 || r.Float64() < 0.8 {
				list = append(list, o)
			}
		}
		return list
	}
	for range 12 {
		add(t, s, 0, round(0))
		add(t, s, 1, round(1))
	}
	for m, c := range []float64{0, 0.5} {
		for memory := range Memories {
			var before, after Contrasts
			s.Contrasts(&before, m, memory, c)
			next := s.Copy()
			next.AddArm()
			if next.pairs || len(next.metrics[m].memories[memory].v) > 20*next.arms {
				t.Fatalf("%d numbers for %d arms", len(next.metrics[m].memories[memory].v), next.arms)
			}
			next.Contrasts(&after, m, memory, c)
			for k := 1; k < mostPairs; k++ {
				near(t, "a contrast", after.Delta[k], before.Delta[k], 1e-9)
				near(t, "a variance", after.Variance[k], before.Variance[k], 1e-9)
				j := 1 + k%(mostPairs-1)
				if a, b := after.Covariance(j, k), before.Covariance(j, k); a < 0.8*b || a > 1.2*b {
					t.Errorf("memory %d: the covariance of %d and %d was %v and is %v", memory, j, k, b, a)
				}
			}
			near(t, "the level", after.Level.Mean, before.Level.Mean, 1e-9)
			near(t, "its units", after.Level.Units, before.Level.Units, 1e-9)
			near(t, "its rounds", after.Level.Rounds, before.Level.Rounds, 1e-6)
			if after.Known[mostPairs] {
				t.Error("the new arm is known")
			}
		}
	}
	s.AddArm()
	for range 4 {
		add(t, s, 0, round(0))
	}
	var e Contrasts
	s.Contrasts(&e, 0, 0, 0)
	if !e.Known[mostPairs] || math.Abs(e.Delta[mostPairs]-1.28) > 4*math.Sqrt(e.Variance[mostPairs]) {
		t.Errorf("the new arm has the contrast %v", e.Delta[mostPairs])
	}
}

// TestFree: without a control the contrasts are with the pool of all arms, whatever the first arm
// has. Here that is served in a single round, and its level moves with the rounds': other arms'
// contrasts with it would be off by much more than those of each other.
func TestFree(t *testing.T) {
	for _, arms := range []int{4, mostPairs + 4} {
		r := random.New(2, "free")
		s := newFree(t, arms, Metric{})
		for i := range 60 {
			var round []Sums
			level := 5 * r.NormFloat64()
			for k := range arms {
				if n := 400.0; k > 0 || i == 0 {
					round = append(round, sums(k, n, level+float64(k)+r.NormFloat64()/math.Sqrt(n)))
				}
			}
			add(t, s, 0, round)
		}
		for memory := range Memories {
			var e Contrasts
			s.Contrasts(&e, 0, memory, 0)
			if !e.Known[0] && memory < 2 || !e.Level.Known {
				t.Fatalf("%d arms, memory %d: the first arm is not known", arms, memory)
			}
			off, most := e.Delta[2]-e.Delta[1]-1, 0.0
			for k := 1; k < 4; k++ {
				most = max(most, math.Sqrt(e.Variance[k]))
			}
			if math.Abs(off) > 0.05 || most > 0.04 {
				t.Errorf("%d arms, memory %d: two arms differ by %v, errors are up to %v", arms, memory, 1+off, most)
			}
			if memory < 1 && (math.Sqrt(e.Variance[0]) < 0.03 || math.Abs(e.Delta[1]-e.Delta[0]-1) > 0.3) {
				t.Errorf("%d arms: the first arm has the contrast %v with an error of %v, the second one %v", arms,
					e.Delta[0], math.Sqrt(e.Variance[0]), e.Delta[1])
			}
			p, product := make([]float64, arms), make([]float64, arms)
			p[1], p[2] = 1, -1
			e.Product(product, p)
			if v := product[1] - product[2]; !(v > 0 && v < 2*most*most*2) {
				t.Errorf("%d arms, memory %d: the variance of a difference is %v", arms, memory, v)
			}
		}
	}
}

// TestFreeLevel: the level is the mean of all units where every round mixes the arms alike, and
// contrasts with the pool sum to nothing.
func TestFreeLevel(t *testing.T) {
	s := newFree(t, 3, Metric{})
	for i := range 10 {
		u := float64(i)
		add(t, s, 0, []Sums{sums(0, 100, u), sums(1, 200, u+1), sums(2, 300, u+2)})
	}
	var e Contrasts
	s.Contrasts(&e, 0, 0, 0)
	near(t, "the level", e.Level.Mean, 4.5+8.0/6, 1e-9)
	near(t, "the sum of contrasts", e.Delta[0]+2*e.Delta[1]+3*e.Delta[2], 0, 1e-9)
	// The pool has 600 units a round: Var(ȳ_k − ȳ) = σ²(1/n_k − 1/n).
	near(t, "a variance", e.Variance[0], (1.0/100-1.0/600)/10, 1e-9)
}

// TestRebase: a store of many arms without a control compares them with another one when the base
// has no more units, and keeps what it knows.
func TestRebase(t *testing.T) {
	const arms = mostPairs + 1
	s := newFree(t, arms, Metric{Ratio: true})
	round := func(from int, u float64) (list []Sums) {
		for k := from; k < arms; k++ {
			n := float64(100 + k)
			list = append(list, Sums{Arm: k, N: n, X: u + float64(k), XX: n - 1, Y: 2 + u, YY: n - 1})
		}
		return list
	}
	for i := range 5 {
		add(t, s, 0, round(0, float64(i)))
	}
	var before, after Contrasts
	s.Contrasts(&before, 0, 0, 1)
	next := s.Copy()
	add(t, next, 0, round(1, 7))
	if next.metrics[0].base != arms-1 {
		t.Fatalf("the base is %d", next.metrics[0].base)
	}
	next.Contrasts(&after, 0, 0, 1)
	for k := range arms {
		near(t, "a difference", after.Delta[k]-after.Delta[1], before.Delta[k]-before.Delta[1], 1e-9)
	}
	if v := after.Variance[0]; v < before.Variance[0]/2 || v > 3*before.Variance[0] {
		t.Errorf("the variance of the first arm was %v and is %v", before.Variance[0], v)
	}
}
