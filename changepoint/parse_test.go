package changepoint

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

// Texts give the detectors that they describe. Every name has a detector with its defaults.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"adwin": "adwin(range=[0, 1], delta=0.002, hoeffding=false, buckets=5, part=5)",
		"adwin:delta=0.01,upper=7,hoeffding=true,buckets=3": "adwin(range=[0, 7], delta=0.01, hoeffding=true, " +
			"buckets=3, part=5)",
		"kswin":                    "kswin(alpha=0.005, window=100, recent=30, seed=0)",
		"kswin:seed=7,alpha=0.01":  "kswin(alpha=0.01, window=100, recent=30, seed=7)",
		"page-hinkley:threshold=9": "page-hinkley(drift=0.02, threshold=9, rounds=30)",
		"cusum:mean=0.2":           "cusum(mean=0.2, deviation=0.4, drift=0.25, threshold=20, clip=+Inf)",
		"cusum:mean=2,deviation=3": "cusum(mean=2, deviation=3, drift=0.25, threshold=20, clip=+Inf)",
	} {
		d, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := d.(fmt.Stringer).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, name := range Names() {
		if name == "cusum" {
			name += ":mean=0.5"
		}
		if d, err := Parse(name); err != nil || !strings.HasPrefix(d.(fmt.Stringer).String(), name[:5]) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if !slices.Equal(Names(), []string{"adwin", "kswin", "page-hinkley", "cusum"}) {
		t.Errorf("names: %v", Names())
	}
}

// Errors name the option and say what is allowed.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                  `detector: "": want one of adwin, kswin, page-hinkley, cusum`,
		"Adwin":             `detector: "Adwin": did you mean adwin? want one of adwin, kswin, page-hinkley, cusum`,
		"adwin:":            `adwin: "": want an option as name=value`,
		"adwin:delta":       `adwin: "delta": want an option as name=value`,
		"adwin:delta=x":     `delta: "x" is not a value of this option`,
		"adwin:delta=2":     `delta: 2: want a number in (0, 1)`,
		"kswin:delta=1":     `delta: not an option of kswin, which has alpha, window, recent, seed`,
		"kswin:window=1.5":  `window: "1.5" is not a value of this option`,
		"kswin:window=50":   `window: 50: want 60 (twice the 30 recent numbers) to 100000`,
		"cusum":             `mean: not given: cusum needs the mean before the change`,
		"cusum:mean=1":      `deviation: 0: want a number above 0, at most 1e+100`,
		"cusum:mean=NaN":    `mean: not given: cusum needs the mean before the change`,
		"adwin:hoeffding=2": `hoeffding: "2" is not a value of this option`,
	} {
		d, err := Parse(text)
		code := noregret.CodeOf(err)
		if d != nil || err == nil || err.Error() != want || code != noregret.BadInput && code != noregret.Usage {
			t.Errorf("%q: %v (%v), want %s", text, err, code, want)
		}
	}
	if _, err := Parse(fmt.Sprintf("cusum:mean=%v", math.Inf(1))); err == nil {
		t.Error("an infinite mean was not refused")
	}
}
