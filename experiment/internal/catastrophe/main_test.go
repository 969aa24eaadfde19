package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/testsize"
)

// TestCrashingArmIsStopped checks that an arm that crashes gets a few hundred units, all in the
// first round. If values counted only after their window has closed, it would get 2,952 units in
// the first hour and 71,300 in the first day.
func TestCrashingArmIsStopped(t *testing.T) {
	t.Parallel()
	hours, rates := []int{1, 24}, []float64{0.1, 0.5}
	if testsize.Short() {
		hours, rates = []int{1}, rates[:1]
	}
	for _, f := range forms {
		if strings.HasPrefix(f.name, "rollback") {
			continue // this action needs the mixture to break the limit
		}
		for _, rate := range rates {
			w := &world{rate: rate, units: 4000, delay: time.Minute}
			got, err := w.play(f, 1, hours)
			if err != nil {
				t.Fatal(err)
			}
			if most := []int{298, 120}[map[float64]int{0.1: 0, 0.5: 1}[rate]]; got[0] > most ||
				got[len(got)-1] != got[0] {
				t.Errorf("%s, rate %v: %v units by hours %v, want at most %d and none after the first", f.name, rate,
					got,
					hours, most)
			}
		}
	}
}

// TestHarmlessArmIsNotStopped checks that an arm that crashes as often as the others keeps its
// share.
func TestHarmlessArmIsNotStopped(t *testing.T) {
	t.Parallel()
	w := &world{rate: 0.01, units: 4000, delay: time.Minute}
	for seed := range uint64(testsize.Of(20, 1)) {
		got, err := w.play(forms[0], seed, []int{1})
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
