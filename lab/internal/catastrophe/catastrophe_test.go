package catastrophe

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/lab/internal/labtest"
	"github.com/noregret/noregret/lab/internal/study"
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
			w := &traffic{eligible: 1, rate: rate, gain: 0.01, units: 4000, delay: time.Minute}
			got, err := w.play(f, 1, hours)
			if err != nil {
				t.Fatal(err)
			}
			most := []int{298, 120}[map[float64]int{0.1: 0, 0.5: 1}[rate]]
			if !strings.HasPrefix(f.name, "soft") {
				most += 200 // it gets what the limit leaves it, until it is known to crash
			}
			if f.limit == relative {
				most = 583 // a tenth of what it got when values counted after 24 hours
			}
			if got[len(got)-1] > most {
				t.Errorf("%s, rate %v: %v units by hours %v, want at most %d", f.name, rate, got, hours, most)
			}
		}
	}
}

// TestCrashingArmOfSomeUnits: where half of the units may not get the arm that crashes, some of
// them are drawn again, and the arm is stopped after no more units than where all may get it.
func TestCrashingArmOfSomeUnits(t *testing.T) {
	t.Parallel()
	for _, f := range forms {
		if f.name != "soft shrink, default 0" && f.name != "shrink, default 0" {
			continue
		}
		w := &traffic{rate: 0.5, gain: 0.01, units: 4000, delay: time.Minute, eligible: 0.5}
		got, err := w.play(f, 1, []int{1})
		if err != nil {
			t.Fatal(err)
		}
		if got[0] < 5 || got[0] > 320 || w.stopped != 1 {
			t.Errorf("%s: %v units, %d arms stopped", f.name, got, w.stopped)
		}
		if w.redrawn == 0 {
			t.Errorf("%s: no unit was drawn again", f.name)
		}
	}
}

// TestHarmlessArmIsNotStopped checks that an arm that crashes as often as the others keeps its
// share, a ninth of the first hour's 4,000 units.
func TestHarmlessArmIsNotStopped(t *testing.T) {
	t.Parallel()
	w := &traffic{eligible: 1, rate: 0.01, gain: 0.01, units: 4000, delay: time.Minute}
	soft := form{metric: ", default: 0", limit: absolute, guardrail: "hard: false, action: shrink"}
	for seed := range uint64(testsize.Of(20, 1)) {
		got, err := w.play(soft, seed, []int{1})
		if err != nil {
			t.Fatal(err)
		}
		if got[0] < 378 {
			t.Errorf("seed %d: it had %v units of 444", seed, got)
		}
	}
}

// TestCrashingArmRelative checks that a limit relative to the control stops an arm that crashes ten
// times as often as the control in the first hour: with an eighth, in the mean, of the 2,983 units
// that it got before, and for good.
func TestCrashingArmRelative(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	for _, f := range forms {
		if f.limit != relative || !strings.Contains(f.name, "shrink, default 0") {
			continue
		}
		w := &traffic{eligible: 1, rate: 0.1, gain: 0.01, units: 12_000, delay: time.Minute}
		runs, sum, hours := testsize.Of(40, 10), 0, []int{1}
		for seed := range runs {
			if seed == 0 && !testsize.Short() {
				hours = []int{1, 24}
			}
			got, err := w.play(f, uint64(seed), hours)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > 1 && got[1] > 583 {
				t.Errorf("%s: %v units by hours %v, want a tenth of 5,833 at most", f.name, got, hours)
			}
			sum, hours = sum+got[0], hours[:1]
		}
		// A run's number scatters by 155 about 340.
		if mean, most := sum/runs, testsize.Of(2983/8, 2983/6); mean > most {
			t.Errorf("%s: %d units in the first hour, want at most %d", f.name, mean, most)
		}
	}
}

// TestCrashOfAllArms checks that arms which differ in nothing from the control are stopped in at
// most a fraction alpha of the runs, although the limit is the control's own rate: with no crash,
// with one of all arms from the start, and with one that begins in the middle of the second hour.
func TestCrashOfAllArms(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	runs, most := testsize.Of(500, 60), testsize.Of(25, 7) // 8 of 60 have probability .01 at alpha
	f := form{metric: ", default: 0", limit: "max_change: 0", guardrail: "hard: false, action: shrink"}
	for name, surge := range map[string]func(int) float64{
		"no crash":       nil,
		"from the start": func(int) float64 { return 30 },
		"in the second hour": func(t int) float64 {
			return map[bool]float64{false: 1, true: 30}[time.Duration(t)*step > 90*time.Minute]
		},
	} {
		stopped := 0
		for seed := range runs {
			w := &traffic{eligible: 1, rate: 0.01, units: 1440, delay: time.Minute, surge: surge}
			if _, err := w.play(f, uint64(seed), []int{3}); err != nil {
				t.Fatal(err)
			}
			if w.stopped > 0 {
				stopped++
			}
		}
		if stopped > most {
			t.Errorf("%s: an arm was stopped in %d of %d runs, want at most %d", name, stopped, runs, most)
		}
		t.Logf("%s: %d of %d", name, stopped, runs)
	}
}

// TestTable: the table has one row for each form.
func TestTable(t *testing.T) {
	t.Parallel()
	w := traffic{eligible: 1, rate: 0.5, gain: 0.01, units: 1200}
	r, err := table(t.Context(), &study.Runner{}, 1, w, forms, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	if rows := r.Tables[0].Rows; len(rows) != len(forms) || len(rows[0]) != 2 {
		t.Errorf("%v", rows)
	}
}

// TestOnlyUnknown: a name that fits nothing is refused with the names.
func TestOnlyUnknown(t *testing.T) {
	err := labtest.Run(t.Context(), Command(), []string{"--only", "nope"}, io.Discard, io.Discard)
	if want := `"nope": want one of "shrink, default 0", `; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
