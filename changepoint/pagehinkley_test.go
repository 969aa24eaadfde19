package changepoint

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// The recursion agrees with the definition m_t − min m_s, for rises and for falls, with the running
// means.
func TestPageHinkleyDefinition(t *testing.T) {
	const drift = .2
	p, r := newPageHinkley(t, PageHinkleyOptions{Drift: drift, Threshold: 1e9, Rounds: 1}), random.New(1, "page")
	sum, up, lowest, down, lowestDown := 0.0, 0.0, 0.0, 0.0, 0.0
	for n := 1; n <= 500; n++ {
		x := r.NormFloat64() + float64(n)/300
		add(t, p, x)
		sum += x
		mean := sum / float64(n)
		up += x - mean - drift
		down += mean - x - drift
		lowest, lowestDown = min(lowest, up), min(lowestDown, down)
		if math.Abs(p.s.Up-(up-lowest)) > 1e-9 || math.Abs(p.s.Down-(down-lowestDown)) > 1e-9 ||
			math.Abs(p.Mean()-mean) > 1e-12 {
			t.Fatalf("number %d: %+v, want %v and %v", n, p.s, up-lowest, down-lowestDown)
		}
	}
}

// The default raises a false alarm in few runs of 500 normal numbers with unknown mean. It detects
// a shift by one and a half standard deviations in nearly all runs, with an average delay of at
// most 30 numbers.
func TestPageHinkleyRates(t *testing.T) {
	runs := testsize.Of(1000, 300)
	alarms, missed, delay := 0, 0, 0.0
	r := random.New(2, "page")
	for range runs {
		p := newPageHinkley(t, DefaultPageHinkleyOptions())
		mean := 20 * r.NormFloat64()
		for range 500 {
			if add(t, p, mean+r.NormFloat64()) {
				alarms++
				break
			}
		}
		p.Reset()
		for range 200 {
			add(t, p, mean+r.NormFloat64())
		}
		found := false
		for n := 1; n <= 100 && !found; n++ {
			if found = add(t, p, mean+1.5+r.NormFloat64()); found {
				delay += float64(n)
			}
		}
		if !found {
			missed++
		}
	}
	t.Logf("%d false alarms and %d missed shifts in %d runs, delay %.1f", alarms, missed, runs,
		delay/float64(runs-missed))
	if float64(alarms) > .07*float64(runs) || float64(missed) > .01*float64(runs) || delay > 30*float64(runs-missed) {
		t.Errorf("%d false alarms, %d missed, delay %.1f in %d runs", alarms, missed, delay/float64(runs-missed), runs)
	}
}

// No alarm comes before the mean is over Rounds numbers.
func TestPageHinkleyWaits(t *testing.T) {
	p := newPageHinkley(t, PageHinkleyOptions{Threshold: 1, Rounds: 10})
	add(t, p, 0)
	for n := 2; n < 10; n++ {
		if add(t, p, 100) {
			t.Fatalf("an alarm after %d numbers", n)
		}
	}
	if !add(t, p, 100) {
		t.Error("no alarm after 10 numbers")
	}
	if p.s.Count != 0 {
		t.Error("it does not start again after an alarm")
	}
}
