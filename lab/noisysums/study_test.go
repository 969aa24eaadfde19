package noisysums

import (
	"context"
	"errors"
	"reflect"
	"testing"
)

// options are those of a short study.
func options(epsilon float64, units int64) Options {
	w, err := DefaultWorld(4)
	if err != nil {
		panic(err)
	}
	return Options{
		World: w, Units: units, Contribution: 1, Rounds: 80, Epsilon: epsilon, Delta: 1e-9, Runs: 4, Seed: 1,
	}
}

// run is Run without an error.
func run(t *testing.T, o Options) Result {
	t.Helper()
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRun checks what must be so whatever the figures are: with many units the gain is reached with
// privacy and without, more privacy is more noise, strong privacy with few units learns next to
// nothing, no run breaks the guardrail, and the same options have the same result.
func TestRun(t *testing.T) {
	none, loose, strict := run(t, options(0, 1e6)), run(t, options(10, 1e6)), run(t, options(0.5, 1e6))
	for name, r := range map[string]Result{"no privacy": none, "ε = 10": loose, "ε = 0.5": strict} {
		if r.Reached() != 4 || r.Median() < 2 || r.Median() > 40 || r.Gain < 0.9 || r.Broken > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if none.Deviation != 0 || !(loose.Deviation > 0) || !(strict.Deviation > 5*loose.Deviation) {
		t.Errorf("noise %v, %v, %v", none.Deviation, loose.Deviation, strict.Deviation)
	}
	few := run(t, options(0.1, 1e4))
	if few.Reached() > 0 || few.Gain > 0.5 || few.Broken > 0 || few.Median() != 0 {
		t.Errorf("ε = 0.1 with 10,000 units: %+v", few)
	}
	if again := run(t, options(0.1, 1e4)); !reflect.DeepEqual(again, few) {
		t.Errorf("the same options have another result: %+v, %+v", again, few)
	}
	twice := options(0.5, 1e6)
	twice.Contribution = 2
	if r := run(t, twice); r.Deviation < 1.9*strict.Deviation || r.Deviation > 2.1*strict.Deviation {
		t.Errorf("noise is %v with two decisions of a unit and %v with one", r.Deviation, strict.Deviation)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		rounds []int64
		want   float64
	}{
		{nil, 0},
		{[]int64{3, 1, 2}, 2},
		{[]int64{4, 1, 2, 3}, 2.5},
		{[]int64{0, 1, 2}, 2},
		{[]int64{0, 0, 2}, 0},
		{[]int64{0, 0, 1, 2}, 0},
	} {
		r := Result{Rounds: c.rounds}
		if got := r.Median(); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.rounds, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for i, change := range []func(o *Options){
		func(o *Options) { o.Units = 0 },
		func(o *Options) { o.Rounds = 0 },
		func(o *Options) { o.Runs = 0 },
		func(o *Options) { o.Epsilon = -1 },
		func(o *Options) { o.Contribution = 0 },
		func(o *Options) { o.World = nil },
		func(o *Options) { o.Delta = 0 },
	} {
		o := options(1, 1000)
		change(&o)
		if _, err := Run(context.Background(), o); err == nil {
			t.Errorf("case %d is not refused", i)
		}
	}
	if _, err := DefaultWorld(11); err == nil {
		t.Error("11 arms are not refused")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ended, options(1, 1000)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestSmallWorld has the medians that a test of the service compares with (TestPrivateStudy of
// package experiment): three arms with large rates, at ε = 1.
func TestSmallWorld(t *testing.T) {
	w, err := NewWorld([]float64{0.3, 0.5, 0.5}, []float64{0.1, 0.4, 0.4}, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	for units, want := range map[int64]float64{1000: 11, 4000: 5} {
		r := run(t, Options{
			World: w, Units: units, Contribution: 1, Rounds: 80, Epsilon: 1, Delta: 1e-9, Runs: 20, Seed: 1,
		})
		if r.Median() != want {
			t.Errorf("%d units in a round: a median of %v, want %v", units, r.Median(), want)
		}
	}
}
