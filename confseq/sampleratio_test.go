package confseq

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// TestLogRising compares with package math.
func TestLogRising(t *testing.T) {
	for _, x := range []float64{1e-3, .5, 1, 7.25, 16, 1e3, 1e9} {
		for _, n := range []int64{1, 2, 15, 16, 100, 1e6} {
			a, _ := math.Lgamma(x + float64(n))
			b, _ := math.Lgamma(x)
			if got, want := logRising(x, n), a-b; math.Abs(got-want) > 1e-10*(1+math.Abs(a)) {
				t.Errorf("x %v, n %d: %v, want %v", x, n, got, want)
			}
		}
	}
}

// TestSampleRatioOrder checks that units added one by one or as sums, in any order, give the same
// evidence.
func TestSampleRatioOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := []int64{
			int64(rapid.IntRange(1, 400).Draw(t, "a")), int64(rapid.IntRange(1, 400).Draw(t, "b")),
			int64(rapid.IntRange(1, 400).Draw(t, "c")),
		}
		shares := []float64{.2, .5, .3}
		single, sums := mustRatio(t, shares, 50), mustRatio(t, shares, 50)
		for k := range n {
			for range n[k] {
				add(t, single, k, 1)
			}
			add(t, sums, len(n)-1-k, n[len(n)-1-k])
		}
		if math.Abs(single.LogE-sums.LogE) > 1e-8*(1+math.Abs(single.LogE)) {
			t.Fatalf("%v one by one, %v as sums", single.LogE, sums.LogE)
		}
	})
}

// TestSampleRatioLevel checks p after every unit. Under the stated shares p is ever at most .05 in
// at most a twentieth of the runs, and another split is detected.
func TestSampleRatioLevel(t *testing.T) {
	runs, units := testsize.Of(300, 60), 2000
	shares := []float64{.5, .3, .2}
	ever := func(name string, drawn []float64) (found int) {
		for run := range uint64(runs) {
			r, s := random.New(run, name), mustRatio(t, shares, 50)
			for range units {
				u, k := r.Float64(), 0
				for k < 2 && u >= drawn[k] {
					u -= drawn[k]
					k++
				}
				add(t, s, k, 1)
				s.P()
			}
			if s.P() <= .05 {
				found++
			}
		}
		return found
	}
	// 15 of 300 are expected at the most, 27 have probability .003; of 60, 3 are expected and 9
	// have .003.
	if n := ever("as they are", shares); n > testsize.Of(27, 9) {
		t.Errorf("p was ever at most .05 in %d of %d runs", n, runs)
	}
	if n := ever("tilted", []float64{.42, .38, .2}); n < runs*9/10 {
		t.Errorf("a skewed split was detected in only %d of %d runs", n, runs)
	}
}

func TestSampleRatioRefuses(t *testing.T) {
	for _, shares := range [][]float64{nil, {.5}, {.5, .6}, {-.5, 1.5}, {math.NaN(), 1}} {
		if _, err := NewSampleRatio(shares, 50); err == nil {
			t.Errorf("the shares %v were accepted", shares)
		}
	}
	for _, prior := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := NewSampleRatio([]float64{.5, .5}, prior); err == nil {
			t.Errorf("the prior %v was accepted", prior)
		}
	}
	s := mustRatio(t, []float64{.5, .5, 0}, 50)
	add(t, s, 0, math.MaxInt64-10)
	for _, c := range []struct {
		arm int
		n   int64
	}{{-1, 1}, {2, 1}, {3, 1}, {0, -1}, {1, 11}} {
		before := s.LogE
		if err := s.Add(c.arm, c.n); err == nil || s.LogE != before || s.Units != math.MaxInt64-10 {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

type tester interface {
	Helper()
	Fatal(args ...any)
}

func mustRatio(t tester, shares []float64, prior float64) *SampleRatio {
	t.Helper()
	s, err := NewSampleRatio(shares, prior)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t tester, s *SampleRatio, arm int, n int64) {
	t.Helper()
	if err := s.Add(arm, n); err != nil {
		t.Fatal(err)
	}
}
