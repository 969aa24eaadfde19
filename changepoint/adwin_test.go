package changepoint

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// event returns 1 with probability rate, and otherwise 0.
func event(r *random.Source, rate float64) float64 {
	if r.Float64() < rate {
		return 1
	}
	return 0
}

// With Hoeffding's bound the probability of a false alarm is at most δ in each step (Theorem 3.1).
// The test compares δ with the share of steps with an alarm, for events of rates 0.5 and 0.1. The
// variance form, used in practice, also stays below δ.
func TestADWINFalseAlarms(t *testing.T) {
	const delta, steps = .05, 2000
	runs := testsize.Of(40, 10)
	for _, hoeffding := range []bool{true, false} {
		for _, rate := range []float64{.5, .1} {
			reports := 0
			for seed := range runs {
				a := newADWIN(t, ADWINOptions{Upper: 1, Delta: delta, Hoeffding: hoeffding, Buckets: 5, Part: 5})
				r := random.New(uint64(seed), "adwin")
				for range steps {
					if add(t, a, event(r, rate)) {
						reports++
					}
				}
			}
			if share := float64(reports) / float64(runs*steps); share > delta/10 {
				t.Errorf("hoeffding %v, rate %v: alarms in %v of the steps", hoeffding, rate, share)
			}
		}
	}
}

// If the rate jumps by twice the bound of the window, the older part is dropped with probability at
// least 1 − δ. The window then has almost only numbers of the new rate.
func TestADWINDropsTheOld(t *testing.T) {
	const delta = .05
	runs, late := testsize.Of(200, 50), 0
	for seed := range runs {
		a := newADWIN(t, ADWINOptions{Upper: 1, Delta: delta, Hoeffding: true, Buckets: 5, Part: 5})
		r := random.New(uint64(seed), "adwin")
		for range 512 {
			add(t, a, event(r, .1))
		}
		for range 512 {
			add(t, a, event(r, .6))
		}
		// ε_cut for two parts of 512 is √(1/512·ln(4·1024/δ)) = 0.15, and the rates differ by 0.5.
		if a.Length() > 600 || math.Abs(a.Mean()-.6) > .12 {
			late++
		}
	}
	if float64(late) > delta*float64(runs) {
		t.Errorf("the older part stays in %d of %d runs", late, runs)
	}
}

// The totals of the histogram are those of the numbers in the window. Buckets are powers of two in
// order, at most M of each size, and the memory is logarithmic.
func TestADWINHistogram(t *testing.T) {
	for _, buckets := range []int{2, 5} {
		a := newADWIN(t, ADWINOptions{Lower: -2, Upper: 6, Delta: 1e-9, Buckets: buckets, Part: 5})
		r := random.New(3, "adwin")
		var all []float64
		changes := 0
		for n := range 6000 {
			x := 8*r.Float64() - 2
			if n > 4000 {
				x = 5 + r.Float64()
			}
			all = append(all, x)
			if add(t, a, x) {
				changes++
			}
			if n%500 != 499 {
				continue
			}
			window := all[len(all)-a.Length():]
			sum, squares := 0.0, 0.0
			for _, x := range window {
				sum += x
			}
			mean := sum / float64(len(window))
			for _, x := range window {
				squares += (x - mean) * (x - mean) / 64
			}
			if math.Abs(a.Mean()-mean) > 1e-9 || math.Abs(a.s.Squares-squares) > 1e-9*squares {
				t.Fatalf("M = %d, n = %d: mean %v and squares %v, want %v and %v", buckets, n, a.Mean(), a.s.Squares,
					mean, squares)
			}
			if !a.fits(&a.s) || len(a.s.Sums) > buckets*(2+int(math.Log2(float64(a.Length()/buckets+1)))) {
				t.Fatalf("M = %d: %d buckets for %d numbers", buckets, len(a.s.Sums), a.Length())
			}
		}
		if changes == 0 {
			t.Error("the jump is not detected: the test is too weak")
		}
	}
}

// The bounds by hand, for parts of 100 and 300 numbers.
func TestADWINBound(t *testing.T) {
	const m = 75.0
	a := newADWIN(t, ADWINOptions{Upper: 1, Delta: .01, Hoeffding: true, Buckets: 5, Part: 1})
	got, want := a.bound(100, 300, a.logTerm(400)), math.Sqrt(1/(2*m)*math.Log(4*400/.01))
	if math.Abs(got-want) > 1e-14 {
		t.Errorf("Hoeffding: %v, want %v", got, want)
	}
	a = newADWIN(t, ADWINOptions{Upper: 1, Delta: .01, Buckets: 5, Part: 1})
	a.s.Count, a.s.Squares = 400, 400*.09
	log := math.Log(2 * math.Log(400) / .01)
	got, want = a.bound(100, 300, a.logTerm(400)), math.Sqrt(2/m*.09*log)+2/(3*m)*log
	if math.Abs(got-want) > 1e-14 {
		t.Errorf("variance: %v, want %v", got, want)
	}
}
