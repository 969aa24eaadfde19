package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/testsize"
)

// TestCrashingArmIsStopped: an arm that crashes gets some hundred units, in the first round.
// Without values that count before their window has closed it gets 2,952 in the first hour and
// 71,300 in a day, as it is only known after that.
func TestCrashingArmIsStopped(t *testing.T) {
	t.Parallel()
	hours, rates := []int{1, 24}, []float64{0.1, 0.5}
	if testsize.Short() {
		hours, rates = []int{1}, rates[:1]
	}
	for _, f := range forms {
		if strings.HasPrefix(f.name, "rollback") {
			continue // it acts when the mixture breaks the limit
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

// TestHarmlessArmIsNotStopped: an arm that crashes as often as the others keeps its share.
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
