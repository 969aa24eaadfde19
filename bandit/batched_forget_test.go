package bandit_test

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
)

// TestBatchedRestart: after Restart a bandit is a fresh one, bit for bit, with the same arms
// retired.
func TestBatchedRestart(t *testing.T) {
	t.Parallel()
	for _, rule := range batchRules {
		b, fresh := newBatched(t, 3, rule), newBatched(t, 3, rule)
		r := random.New(3, "restart")
		for range 5 {
			if err := b.Observe(coins(r, b, []float64{.2, .5, .3}, 100), b.Serving()); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range []*bandit.Batched{b, fresh} {
			if err := x.RetireArm(0); err != nil {
				t.Fatal(err)
			}
		}
		b.Restart()
		for range 5 {
			if !slices.Equal(b.Serving(), fresh.Serving()) || !slices.Equal(b.Best(), fresh.Best()) {
				t.Fatalf("%v: %v after the restart, fresh %v", rule, b.Serving(), fresh.Serving())
			}
			batch, shares := coins(r, b, []float64{.2, .5, .3}, 100), slices.Clone(b.Serving())
			if err := b.Observe(batch, shares); err != nil {
				t.Fatal(err)
			}
			if err := fresh.Observe(batch, shares); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBatchedDiscount: the mean is weighted by keep^age, the size is the sum of weights, and an arm
// of less than one pull has no rewards.
func TestBatchedDiscount(t *testing.T) {
	t.Parallel()
	b, err := bandit.NewBatched(2, bandit.BatchUCB, math.Inf(-1), math.Inf(1))
	if err != nil {
		t.Fatal(err)
	}
	const keep = .9
	sum, size := 0.0, 0.0
	for i := range 20 {
		if err := b.Discount(keep); err != nil {
			t.Fatal(err)
		}
		v := float64(i % 3)
		sum, size = keep*sum+100*v, keep*size+100
		if err := b.Observe([]bandit.Batch{{Arm: 0, Size: 100, Mean: v, Variance: 1}}, []float64{1, 0}); err != nil {
			t.Fatal(err)
		}
	}
	if m, _ := b.Estimate(0); math.Abs(m-sum/size) > 1e-12 || math.Abs(b.Size(0)-size) > 1e-9 {
		t.Errorf("mean %v of %v pulls, want %v of %v", m, b.Size(0), sum/size, size)
	}
	for range 70 {
		if err := b.Discount(keep); err != nil {
			t.Fatal(err)
		}
	}
	if m, se := b.Estimate(0); m != 0 || b.Size(0) != 0 || !math.IsInf(se, 1) {
		t.Errorf("mean %v ± %v of %v pulls, want none", m, se, b.Size(0))
	}
	for _, keep := range []float64{-.1, 1.1, math.NaN()} {
		if b.Discount(keep) == nil {
			t.Errorf("keep %v was taken", keep)
		}
	}
}
