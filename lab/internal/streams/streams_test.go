package streams

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/lab/internal/labtest"
)

// The statements of lab/docs/changepoint.md about the tables.
func TestStandardStreams(t *testing.T) {
	testsize.NoRace(t) // no goroutines
	runs := testsize.Of(30, 8)
	results := map[string]map[string]result{}
	for i := range streams {
		s := &streams[i]
		name, _, _ := strings.Cut(s.name, ",")
		results[name] = map[string]result{}
		for _, text := range detectors {
			r, err := measure(text, s, runs)
			if err != nil {
				t.Fatal(err)
			}
			detector, _, _ := strings.Cut(text, ":mean")
			results[name][detector] = r
			mean, se := r.meanDelay()
			t.Logf("%-32s %-42s %3d of %d, %.1f ± %.1f, %.2f", name, detector, r.found, runs, mean, se, r.perMany())
			if r.perMany() > 50 {
				t.Errorf("%s, %s: %v false alarms in 10,000 numbers", name, detector, r.perMany())
			}
			if detector != "kswin" && r.perMany() > 2 {
				t.Errorf("%s, %s: %v false alarms in 10,000 numbers, want at most 2", name, detector, r.perMany())
			}
		}
	}
	const abrupt, variance, errors = "abrupt: mean 0.3 to 0.5", "variance: deviation 0.05 to 0.15",
		"errors: rate 0.2 to 0.4"
	for detector, r := range results[abrupt] {
		if r.found != runs {
			t.Errorf("the abrupt change: %s finds it in %d of %d runs", detector, r.found, runs)
		}
	}
	delay := func(stream, detector string) float64 {
		r, ok := results[stream][detector]
		if !ok {
			t.Fatalf("no result of %s on %s", detector, stream)
		}
		mean, _ := r.meanDelay()
		return mean
	}
	if a, b := delay(abrupt, "cusum"), delay(abrupt, "adwin"); a > b {
		t.Errorf("abrupt: CUSUM, which knows the mean, needs %v, ADWIN %v", a, b)
	}
	if a, b := delay(errors, "adwin"), delay(errors, "adwin:hoeffding=true"); a > b {
		t.Errorf("errors: ADWIN needs %v, with Hoeffding's bound %v", a, b)
	}
	// Detectors of the mean do not see a change of the variance; KSWIN with large windows does.
	if r := results[variance]["kswin:alpha=0.0001,window=1000,recent=300"]; r.found != runs {
		t.Errorf("variance: KSWIN finds it in %d of %d runs", r.found, runs)
	}
	for _, detector := range []string{"page-hinkley", "adwin"} {
		if r := results[variance][detector]; r.found > runs/10 {
			t.Errorf("variance: %s finds it in %d of %d runs", detector, r.found, runs)
		}
	}
}

// On the stream of the examples of other libraries, all detectors alarm within 40 numbers of the
// change, in every draw.
func TestDocumentedExamples(t *testing.T) {
	for _, x := range documented {
		low, high, mean, _, err := firstAlarms(x.text, testsize.Of(100, 20))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v, %d to %d; %s %d", x.text, mean, low, high, x.library, x.index)
		if low < 1000 || high > 1040 || x.index > 1040 {
			t.Errorf("%s: alarms from %d to %d", x.text, low, high)
		}
	}
}

// The tables have a row for each detector.
func TestCommand(t *testing.T) {
	var b bytes.Buffer
	if err := labtest.Run(t.Context(), Command(), []string{"--runs", "1"}, &b, io.Discard); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n| `"); n != len(streams)*len(detectors)+len(documented) {
		t.Errorf("%d rows in\n%s", n, b.String())
	}
}
