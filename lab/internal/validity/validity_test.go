package validity

import (
	"io"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/lab/internal/labtest"
	"github.com/noregret/noregret/lab/internal/study"
)

// TestNoFalseBreaches plays arms that are exactly at the limit while the level of the metric
// changes: a rate with a range, a metric without one, and units that return with the same values.
// At most 5 % of the runs are ever called breached. (Separate confidence sequences for arm and
// control, which do not compare units of the same rounds, called up to 98 % of them.)
func TestNoFalseBreaches(t *testing.T) {
	testsize.NoRace(t)
	runs, most := 50, 9 // at most 2.5 expected; 9 or more have probability .001
	if testing.Short() {
		runs, most = 20, 6 // at most 1 expected; probability .0003
	}
	for i, row := range aaWorlds(true) {
		if i%3 != 0 { // two metrics with many units a round, and returning units
			continue
		}
		if testing.Short() {
			row = row[1:3] // seasons and growth
		}
		for _, w := range row {
			rounds, err := w.breaches(t.Context(), &study.Runner{Workers: 1}, runs)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, at := range rounds {
				if at > 0 {
					n++
				}
			}
			t.Logf("%s: %d of %d", w.name, n, runs)
			if n >= most {
				t.Errorf("%s: %d of %d runs were called breached", w.name, n, runs)
			}
		}
	}
}

// TestBreachesAreFound checks that arms 10 % below the control under a limit of 5 % are found
// within a median of 25 rounds of 20,000 units, however many arms share the units.
func TestBreachesAreFound(t *testing.T) {
	testsize.NoRace(t)
	for _, arms := range []int{1, 4, 10} {
		w := powerWorld(arms)
		median, _, never, err := w.found(t.Context(), &study.Runner{Workers: 1}, testsize.Of(200, 100))
		if err != nil {
			t.Fatal(err)
		}
		if median > 25 || never > 0 {
			t.Errorf("%d arms: %d rounds in the median, %d never", arms, median, never)
		}
	}
}

// TestRevenueHolds checks that the sequence of revenue without a cap misses the mean, and the
// change, in at most 5 % of the runs, and that with a cap it is never trivial at the end.
func TestRevenueHolds(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(60, 20)
	for _, w := range shops {
		if w.units > 200_000 {
			w.units = 1_000_000
		}
		missed, spoke := 0, 0
		visits, err := w.visits(t.Context(), &study.Runner{Workers: 1}, runs)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range visits {
			if v.missed {
				missed++
			}
			if !math.IsInf(v.half, 1) {
				spoke++
			}
		}
		t.Logf("%s, %d units: %d of %d runs missed, %d spoke", w.name, w.units, missed, runs, spoke)
		if missed > runs/10 { // a probability of .003 of 20 and .02 of 60 runs if 5 % were missed
			t.Errorf("%s, %d units: %d of %d runs missed", w.name, w.units, missed, runs)
		}
		if w.cap > 0 && spoke < runs {
			t.Errorf("%s, %d units: %d of %d runs spoke", w.name, w.units, spoke, runs)
		}
	}
}

// TestOnlyUnknown: a name that fits nothing is refused with the names.
func TestOnlyUnknown(t *testing.T) {
	err := labtest.Run(t.Context(), Command(), []string{"--only", "nope"}, io.Discard, io.Discard)
	if want := `"nope": want one of aa, power, revenue`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
