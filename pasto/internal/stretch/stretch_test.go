package stretch

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto/internal/lists"
)

// The stretches are those of the rounds themselves: the segment is what came since the last
// multiple of 16, and blocks have 32, 64, ... rounds, up to half of all rounds or 1,024, and begin
// again.
func TestStretches(t *testing.T) {
	const arm, metrics = 1, 2
	s, r := Means{}, random.New(1, "stretches")
	lists.Of{&s}.Grow(2, metrics)
	var rounds []Part
	near := func(what string, got Part, ok bool, of []Part, want bool) {
		t.Helper()
		if ok != want {
			t.Fatalf("round %d: the %s is compared: %v, want %v", len(rounds), what, ok, want)
		}
		for i := range metrics {
			sum, raw, weight, size := 0.0, 0.0, 0.0, 0.0
			for _, x := range of {
				weight += x.Weight
				size += x.Size
				sum += x.Weight * x.Adjusted[i]
				raw += x.Size * x.Raw[i]
			}
			if math.Abs(got.Weight-weight) > 1e-9*weight || math.Abs(got.Adjusted[i]-sum/weight) > 1e-9 ||
				math.Abs(got.Size-size) > 1e-9*size || math.Abs(got.Raw[i]-raw/size) > 1e-9 {
				t.Fatalf("round %d: the %s is %+v, want %v of %v and %v of %v", len(rounds), what, got, sum/weight,
					weight, raw/size, size)
			}
		}
	}
	begun, limit, longest := 0, 32, 0
	for n := 1; n <= 8000; n++ {
		x := Part{Weight: 1 + r.Float64(), Size: 2 + r.Float64()}
		for range metrics {
			x.Adjusted, x.Raw = append(x.Adjusted, r.Float64()), append(x.Raw, r.Float64())
		}
		rounds = append(rounds, x)
		s.Add(arm, x)
		if got := s.Newest(arm); got != (n > 16) {
			t.Fatalf("round %d: the newest is compared: %v", n, got)
		}
		first := (n - 1) / 16 * 16
		segment, ok := s.Segment(arm)
		near("segment", segment, ok, rounds[first:], first >= 16)
		block, ok := s.Block(arm)
		near("block", block, ok, rounds[begun:], n%16 == 0 && begun >= 16)
		if !s.Fit(arm, float64(n), block.Weight+segment.Weight) {
			t.Fatalf("round %d: %+v does not fit its own rounds and weights", n, s)
		}
		if s.End(arm); n-begun == limit {
			longest = max(longest, limit)
			if begun, limit = n, 2*limit; float64(limit) > min(float64(n)/2, mostBlock) {
				limit = 32
			}
		}
	}
	if longest != mostBlock {
		t.Errorf("the longest block had %d rounds, want %d", longest, mostBlock)
	}
}

// TestFit refuses each number that does not fit the others.
func TestFit(t *testing.T) {
	const rounds, weight = 40, 100
	base := func() *Means {
		s := new(Means)
		lists.Of{s}.Grow(1, 1)
		s.Rounds[0], s.BlockRounds[0], s.BlockLimit[0], s.BlockWeight[0], s.SegmentWeight[0] = 40, 8, 64, 100, 100
		return s
	}
	if s := base(); !s.Fit(0, rounds, weight*(1-1e-9)) {
		t.Error("stretches do not fit their own numbers, but for rounding")
	}
	for name, f := range map[string]func(s *Means){
		"too many rounds":     func(s *Means) { s.Rounds[0] = 41 },
		"half a round":        func(s *Means) { s.Rounds[0] = 39.5 },
		"a longer block":      func(s *Means) { s.Rounds[0], s.BlockRounds[0] = 7, 8 },
		"half of a block":     func(s *Means) { s.BlockRounds[0] = 7.5 },
		"a limit above all":   func(s *Means) { s.BlockLimit[0] = 1025 },
		"a heavier block":     func(s *Means) { s.BlockWeight[0] = 100.1 },
		"a heavier segment":   func(s *Means) { s.SegmentWeight[0] = 100.1 },
		"rounds not a number": func(s *Means) { s.Rounds[0] = math.NaN() },
	} {
		s := base()
		if f(s); s.Fit(0, rounds, weight) {
			t.Errorf("%s: it fits", name)
		}
	}
}

// TestScale: weights become smaller, and means stay.
func TestScale(t *testing.T) {
	s := Means{}
	lists.Of{&s}.Grow(1, 1)
	s.Add(0, Part{Weight: 2, Adjusted: []float64{3}, Size: 4, Raw: []float64{5}})
	s.Scale(0.5)
	segment, _ := s.Segment(0)
	block, _ := s.Block(0)
	for _, x := range []Part{segment, block} {
		if x.Weight != 1 || x.Size != 2 || x.Adjusted[0] != 3 || x.Raw[0] != 5 {
			t.Errorf("%+v, want half the weights of 2 and 4", x)
		}
	}
}

// TestDifference: a stretch differs from what came before it, not from the mean of both, and the
// distance is in multiples of what the test allows.
func TestDifference(t *testing.T) {
	test := Test{Threshold: 3, Variance: 4, Effects: 0.5, Ratio: 0.6, Noise: 4}
	const old, weight, before, mean = 300., 100., 1., 2.5
	all := (old*before + weight*mean) / (old + weight)
	by, sign := test.Difference(all, old+weight, mean, weight)
	allowed := 3*math.Sqrt(4*(1/old+1/weight)+0.5) + 3*math.Sqrt(4*(1/weight/weight+1/old/old)) + 8./6*0.6/weight
	if math.Abs(by-1.5) > 1e-12 || math.Abs(sign-1.5/allowed) > 1e-12 {
		t.Errorf("by %v, %v of what is allowed; want 1.5 and %v", by, sign, 1.5/allowed)
	}
	for name, c := range map[string]struct{ all, total, mean, weight, by, sign float64 }{
		"nothing before":  {1, 100, 1, 100, 0, 0},
		"an empty one":    {1, 100, 2, 0, 0, 0},
		"no difference":   {1, 100, 1, 50, 0, 0},
		"only rounding":   {1, 100, 1 + 1e-14, 50, 2e-14, 0},
		"without scatter": {1, 100, 2, 50, 2, math.MaxFloat64},
		"a tiny weight":   {1, 1, 2, 1e-160, 1, math.MaxFloat64},
	} {
		by, sign := (&Test{Threshold: 3}).Difference(c.all, c.total, c.mean, c.weight)
		if math.Abs(by-c.by) > 1e-14 || sign != c.sign {
			t.Errorf("%s: by %v, sign %v; want %v and %v", name, by, sign, c.by, c.sign)
		}
	}
}

// Rare events are skewed: without the allowance for that a test at three standard errors finds far
// more changes of a rate that stays than the normal distribution has, and with it hardly any.
func TestSkewed(t *testing.T) {
	const rate, old, weight, runs = 0.0005, 100_000, 2_000, 20_000
	found, plain := 0, 0
	r := random.New(1, "skewed")
	for range runs {
		before, newest := stat.Binomial(r, old, rate)/old, stat.Binomial(r, weight, rate)/weight
		all := (before*old + newest*weight) / (old + weight)
		test := Test{Threshold: 3, Variance: rate * (1 - rate)}
		if _, sign := test.Difference(all, old+weight, newest, weight); sign > 1 {
			plain++
		}
		test.Ratio = 1
		if _, sign := test.Difference(all, old+weight, newest, weight); sign > 1 {
			found++
		}
	}
	normal := 0.0027 * runs
	if float64(plain) < 3*normal || float64(found) > normal {
		t.Errorf("%d changes found, and %d without the allowance; a normal distribution has %v", found, plain, normal)
	}
}
