package experiment

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
)

// TestSequenceSums compares one by one, merged and from sums with two passes over the data.
func TestSequenceSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-100, 100), 1, 50).Draw(t, "x")
		cut := rapid.IntRange(0, len(xs)).Draw(t, "cut")
		var s, a, b Sequence
		var sum, squares float64
		for i, x := range xs {
			sum += x
			squares += x * x
			part := &a
			if i >= cut {
				part = &b
			}
			for _, q := range []*Sequence{&s, part} {
				if err := q.Add(x); err != nil {
					t.Fatal(err)
				}
			}
		}
		mean := sum / float64(len(xs))
		var m2 float64
		for _, x := range xs {
			m2 += (x - mean) * (x - mean)
		}
		a.Merge(b)
		c, err := FromSums(int64(len(xs)), sum, squares)
		if err != nil {
			t.Fatal(err)
		}
		for what, q := range map[string]Sequence{"added": s, "merged": a, "from sums": c} {
			if q.N != int64(len(xs)) || math.Abs(q.Mean-mean) > 1e-9 || math.Abs(q.M2-m2) > 1e-7*(1+squares) {
				t.Fatalf("%s: %+v, want mean %v and M2 %v", what, q, mean, m2)
			}
		}
	})
}

func TestSequenceRefuses(t *testing.T) {
	s := Sequence{N: 3, Mean: 1, M2: 2}
	for _, x := range []float64{math.NaN(), math.Inf(1), 1e300} {
		if err := s.Add(x); err == nil || s != (Sequence{3, 1, 2}) {
			t.Errorf("%v: %v, and the sequence is %+v", x, err, s)
		}
	}
	for _, c := range []struct {
		n            int64
		sum, squares float64
	}{{-1, 0, 0}, {0, 1, 0}, {2, 4, 7.9}, {1, math.NaN(), 0}, {1, 0, -1}, {1, 1, math.Inf(1)}} {
		if _, err := FromSums(c.n, c.sum, c.squares); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// TestSequenceCoversAtAllTimes looks at every interval from 20 observations on, for 5,000: an ordinary 95 %
// interval misses the mean at some time in most runs; the sequence in at most 5 % of them.
func TestSequenceCoversAtAllTimes(t *testing.T) {
	const runs, rounds = 300, 5000
	var missed, ordinary int
	for run := range runs {
		r := random.New(uint64(run), "sequence")
		var s Sequence
		a, b := false, false
		for n := 1; n <= rounds; n++ {
			x := 0.0
			if r.Float64() < .3 {
				x = 1
			}
			if err := s.Add(x); err != nil {
				t.Fatal(err)
			}
			if n < 20 {
				continue
			}
			from, to := s.Interval(.05, 0, 1)
			a = a || .3 < from || .3 > to
			z := 1.96 * math.Sqrt(s.Variance()/float64(n))
			b = b || math.Abs(s.Mean-.3) > z
		}
		if a {
			missed++
		}
		if b {
			ordinary++
		}
	}
	if missed > 25 { // 5 % of 300 is 15; 25 has probability .007
		t.Errorf("%d of %d sequences missed the mean at some time, want at most 5 %%", missed, runs)
	}
	if ordinary < runs/4 {
		t.Errorf("ordinary intervals missed in %d of %d runs only: the test tells nothing", ordinary, runs)
	}
}

func TestIntervalEdges(t *testing.T) {
	var s Sequence
	if a, b := s.Interval(.05, -1, 2); a != -1 || b != 2 {
		t.Errorf("the interval of nothing is [%v, %v]", a, b)
	}
	_ = s.Add(1)
	if a, b := s.Interval(.05, -1, 2); a != -1 || b != 2 {
		t.Errorf("the interval of one observation is [%v, %v]", a, b)
	}
	_ = s.Add(1)
	if a, b := s.Interval(.05, -1, 2); a != 1 || b != 1 {
		t.Errorf("the interval of two equal observations is [%v, %v]", a, b)
	}
	wide, narrow := Sequence{N: 10, Mean: 0, M2: 9}, Sequence{N: 1000, Mean: 0, M2: 999}
	a1, b1 := wide.Interval(.05, math.Inf(-1), math.Inf(1))
	a2, b2 := narrow.Interval(.05, math.Inf(-1), math.Inf(1))
	if !(b2-a2 < b1-a1) {
		t.Errorf("a hundred times the data and an interval of %v after %v", b2-a2, b1-a1)
	}
	if a, b := narrow.Interval(.01, math.Inf(-1), math.Inf(1)); !(b-a > b2-a2) {
		t.Errorf("more confidence and a narrower interval, %v", b-a)
	}
}
