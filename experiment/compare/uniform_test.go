package compare

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// TestUniform: in 200 runs of 40 rounds the bounds of all arms, of all pairs of arms and of the
// level hold in all rounds together in all but a few, while errors of the usual size do not.
func TestUniform(t *testing.T) {
	const alpha, runs, rounds, arms = 0.1, 200, 40, 4
	broken, plain, narrow := 0, 0, 0.0
	for run := range runs {
		r := random.New(uint64(run), "uniform")
		s := newStore(t, arms, Metric{Width: 1})
		bad, off := false, false
		for round := range rounds {
			level := 0.1 + 0.05*r.Float64()
			var sums []Sums
			for k := range arms {
				n := math.Round(50 + 400*r.Float64())
				mean := float64(stat.Binomial(r, int64(n), level)) / n
				sums = append(sums, Sums{Arm: k, N: n, X: mean, XX: n * mean * (1 - mean)})
			}
			add(t, s, 0, sums)
			c := Chosen{Rule: All}
			s.Choose(&c, 0, 0)
			for k := 1; k < arms; k++ {
				off = off || math.Abs(c.Delta[k]) > 1.96*c.Error[k]
			}
			before := c.Error[1]
			beta := c.Uniform(alpha)
			p, product := make([]float64, arms), make([]float64, arms)
			for k := 1; k < arms; k++ {
				bad = bad || math.Abs(c.Delta[k]) > beta*c.Error[k]
				for j := 1; j < k; j++ {
					clear(p)
					p[j], p[k] = 0.5, 0.5
					c.Product(product, p)
					err := math.Sqrt((product[j] + product[k]) / 2)
					bad = bad || math.Abs(c.Delta[j]+c.Delta[k])/2 > beta*err
				}
			}
			if run == 0 && round == rounds-1 {
				narrow = beta * c.Error[1] / before
			}
		}
		if bad {
			broken++
		}
		if off {
			plain++
		}
	}
	if broken > 30 || plain < runs/2 {
		t.Errorf("%d of %d runs leave bounds of %v, %d those of 1.96 errors", broken, runs, alpha, plain)
	}
	if narrow > 6 {
		t.Errorf("the last bound is %v standard errors", narrow)
	}
}

// TestFixed: a fixed memory has the estimates of the discounted sums, all others are not looked at,
// and a snapshot keeps it.
func TestFixed(t *testing.T) {
	s, twin := newStore(t, 2, Metric{}), newStore(t, 2, Metric{})
	if err := s.Fix(8); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []int{-1, 4, 100_001} {
		if s.Fix(bad) == nil {
			t.Errorf("a memory of %d rounds", bad)
		}
	}
	r := random.New(3, "fixed")
	for range 40 {
		for _, round := range drawRounds(r, 2, 1) {
			add(t, s, 0, round)
			add(t, twin, 0, round)
		}
	}
	// A later one begins as that of about its length, and then is what it would have been.
	if err := twin.Fix(9); err != nil {
		t.Fatal(err)
	}
	if err := twin.Fix(8); err != nil {
		t.Fatal(err)
	}
	begun := Chosen{Rule: Fixed}
	twin.Choose(&begun, 0, 0)
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var again Store
	if err := again.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	var want Contrasts
	twin.Contrasts(&want, 0, 3, 0) // of 8 rounds too
	got := Chosen{Rule: Fixed}
	again.Choose(&got, 0, 0)
	if begun.Delta[1] != want.Delta[1] || again.Fixed() != 8 || got.Recent != nil || got.Delta[1] != want.Delta[1] ||
		got.Error[1] != math.Sqrt(want.Variance[1]) {
		t.Errorf("%v, %v: want %v, %v", got.Delta, got.Error, want.Delta, want.Variance)
	}
}

// TestFactors: factors multiply variances, and a snapshot keeps them.
func TestFactors(t *testing.T) {
	s := newStore(t, 3, Metric{})
	for _, round := range drawRounds(random.New(3, "factors"), 3, 9) {
		add(t, s, 0, round)
	}
	var before, after Chosen
	s.Choose(&before, 0, 0)
	for _, bad := range [][]float64{{1}, {1, 0, 1}, {1, math.NaN(), 1}, {math.Inf(1), 1, 1}} {
		if s.SetFactors(0, bad) == nil {
			t.Errorf("factors %v", bad)
		}
	}
	if s.SetFactors(1, nil) == nil {
		t.Error("an unknown metric")
	}
	if err := s.SetFactors(0, []float64{4, 4, 9}); err != nil {
		t.Fatal(err)
	}
	var again Store
	if err := again.UnmarshalBinary(s.AppendBinary(nil)); err != nil {
		t.Fatal(err)
	}
	again.Choose(&after, 0, 0)
	close := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	close("error of arm 1", after.Error[1], 2*before.Error[1])
	close("error of arm 2", after.Error[2], 3*before.Error[2])
	close("level", after.Level.Units, 2*before.Level.Units)
	close("covariance", after.all[0].Covariance(1, 2), 6*before.all[0].Covariance(1, 2))
	p, x, y := []float64{0, 1, 1}, make([]float64, 3), make([]float64, 3)
	before.Product(x, []float64{0, 2, 3})
	after.Product(y, p)
	close("product", y[1], 2*x[1])
	close("product", y[2], 3*x[2])
	if err := s.Fix(0); err != nil || s.Fixed() != 0 {
		t.Error(err)
	}
	for k := range after.Delta {
		if after.Delta[k] != before.Delta[k] {
			t.Errorf("contrast %v, was %v", after.Delta[k], before.Delta[k])
		}
	}
}
