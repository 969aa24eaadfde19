package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/testsize"
)

// TestCrashingArmIsStopped checks that an arm that crashes gets a few hundred units at most, and
// does not return when its window has closed. If values counted only after their window has closed,
// it would get 2,952 units in the first hour and 71,300 in the first day.
func TestCrashingArmIsStopped(t *testing.T) {
	t.Parallel()
	hours, rates := []int{1, 36}, []float64{0.1, 0.5}
	if testsize.Short() {
		hours, rates = []int{1}, rates[:1]
	}
	for _, f := range forms {
		if strings.HasPrefix(f.name, "soft alert") {
			continue // it stops nothing
		}
		for _, rate := range rates {
			w := &world{rate: rate, units: 4000, delay: time.Minute}
			got, err := w.play(f, 1, hours)
			if err != nil {
				t.Fatal(err)
			}
			most := []int{298, 120}[map[float64]int{0.1: 0, 0.5: 1}[rate]]
			if !strings.HasPrefix(f.name, "soft") {
				most += 200 // it gets what the limit leaves it, until it is known to crash
			}
			if got[len(got)-1] > most {
				t.Errorf("%s, rate %v: %v units by hours %v, want at most %d", f.name, rate, got, hours, most)
			}
		}
	}
}

// TestHarmlessArmIsNotStopped checks that an arm that crashes as often as the others keeps its
// share.
func TestHarmlessArmIsNotStopped(t *testing.T) {
	t.Parallel()
	w := &world{rate: 0.01, units: 4000, delay: time.Minute}
	soft := form{metric: ", default: 0", limit: absolute, guardrail: "hard: false, action: shrink"}
	for seed := range uint64(testsize.Of(20, 1)) {
		got, err := w.play(soft, seed, []int{1})
		if err != nil {
			t.Fatal(err)
		}
		if got[0] < 850 {
			t.Errorf("seed %d: it had %v units of 1,000", seed, got)
		}
	}
}

// TestTable prints one row for each form.
func TestTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := table(&b, 1, &world{rate: 0.5, units: 1200}, []int{1}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != len(forms)+1 {
		t.Errorf("%d lines:\n%s", n, &b)
	}
}
