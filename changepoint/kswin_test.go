package changepoint

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

func newKSWIN(t testing.TB, o KSWINOptions) *KSWIN {
	t.Helper()
	k, err := NewKSWIN(o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The probability of a distance agrees with the share of the C(2r, r) orders of two samples that
// have it, by enumeration.
func TestKSWINProbability(t *testing.T) {
	const r = 5
	counts, all := make([]int, r+1), 0
	for set := range 1 << (2 * r) {
		var a, b []float64
		for i := range 2 * r {
			if set>>i&1 == 1 {
				a = append(a, float64(i))
			} else {
				b = append(b, float64(i))
			}
		}
		if len(a) == r {
			counts[steps(a, b)]++
			all++
		}
	}
	tail := 0
	for k := r; k >= 1; k-- {
		tail += counts[k]
		if got, want := distanceProbability(r, k), float64(tail)/float64(all); math.Abs(got-want) > 1e-14 {
			t.Errorf("P(D ≥ %d/%d) = %v, want %v", k, r, got, want)
		}
	}
	// The published critical value of two samples of 30 at α = 0.01 is 13 steps (Massey, "The
	// distribution of the maximum deviation between two sample cumulative step functions", 1951).
	if got := criticalSteps(30, .01); got != 13 {
		t.Errorf("critical value %d, want 13", got)
	}
}

// For independent numbers of a continuous distribution the window's first test is a test of level
// α: alarms come at the exact probability of the critical distance. Tied numbers alarm less often.
func TestKSWINLevel(t *testing.T) {
	runs := testsize.Of(20000, 4000)
	k := newKSWIN(t, KSWINOptions{Alpha: .05, Window: 40, Recent: 20, Seed: 3})
	want := distanceProbability(20, k.critical)
	for name, next := range map[string]func(r *random.Source) float64{
		"normal": func(r *random.Source) float64 { return r.NormFloat64() },
		"events": func(r *random.Source) float64 { return event(r, .3) },
	} {
		r, alarms := random.New(1, "level"), 0
		for range runs {
			k.Reset()
			for range 39 {
				add(t, k, next(r))
			}
			if add(t, k, next(r)) {
				alarms++
			}
		}
		share, se := float64(alarms)/float64(runs), math.Sqrt(want/float64(runs))
		if name == "normal" && math.Abs(share-want) > 4*se || name == "events" && share > want/2 {
			t.Errorf("%s: alarms in %v of the runs, the probability is %v", name, share, want)
		}
	}
}

// Each of the older numbers is drawn with the same probability, in every step anew.
func TestKSWINDraw(t *testing.T) {
	const runs = 20000
	k := newKSWIN(t, KSWINOptions{Alpha: .1, Window: 20, Recent: 6, Seed: 1})
	older, counts := make([]float64, 14), make([]int, 14)
	for i := range older {
		older[i] = float64(i)
	}
	for range runs {
		k.draw(older)
		if len(k.old) != 6 || !slices.IsSorted(k.old) || len(slices.Compact(slices.Clone(k.old))) != 6 {
			t.Fatalf("drawn: %v", k.old)
		}
		for _, x := range k.old {
			counts[int(x)]++
		}
	}
	p := 6.0 / 14
	for i, n := range counts {
		if math.Abs(float64(n)-p*runs) > 5*math.Sqrt(runs*p*(1-p)) {
			t.Errorf("number %d is drawn %d times of %d", i, n, runs)
		}
	}
}

// A change of the variance under a fixed mean is detected, where detectors of the mean are silent.
func TestKSWINVariance(t *testing.T) {
	runs := testsize.Of(100, 20)
	found := 0
	for seed := range runs {
		k := newKSWIN(t, KSWINOptions{Alpha: 1e-4, Window: 400, Recent: 200})
		a := newADWIN(t, ADWINOptions{Lower: -30, Upper: 30, Delta: .002, Buckets: 5, Part: 5})
		r := random.New(uint64(seed), "variance")
		for n := range 800 {
			x := r.NormFloat64()
			if n >= 500 {
				x *= 4
			}
			if add(t, a, x) && n >= 500 {
				t.Logf("seed %d: ADWIN alarms at %d", seed, n)
			}
			if add(t, k, x) {
				if n < 500 {
					continue
				}
				found++
				break
			}
		}
	}
	if float64(found) < .95*float64(runs) {
		t.Errorf("the change is detected in %d of %d runs", found, runs)
	}
}

// The distance by hand, with ties within and between the samples.
func TestKSWINSteps(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want int
	}{
		{[]float64{1, 2, 3}, []float64{1, 2, 3}, 0},
		{[]float64{1, 1, 1}, []float64{1, 1, 2}, 1},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 3},
		{[]float64{0, 0, 1, 1}, []float64{0, 1, 1, 1}, 1},
		{[]float64{-1, 5, 6, 7}, []float64{0, 1, 2, 8}, 2},
	} {
		if got := steps(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := steps(c.b, c.a); got != c.want {
			t.Errorf("%v and %v: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// After an alarm the recent numbers alone are in the window; a reset detector is a new one, bit for
// bit.
func TestKSWINAfterAlarm(t *testing.T) {
	o := DefaultKSWINOptions()
	k := newKSWIN(t, o)
	for n := range 200 {
		add(t, k, float64(n%7))
	}
	for !add(t, k, 100) {
	}
	if k.Length() != o.Recent {
		t.Errorf("%d numbers after an alarm, want %d", k.Length(), o.Recent)
	}
	k.Reset()
	used, _ := k.MarshalBinary()
	if fresh, _ := newKSWIN(t, o).MarshalBinary(); !slices.Equal(used, fresh) {
		t.Error("a reset detector is not a new one")
	}
}
