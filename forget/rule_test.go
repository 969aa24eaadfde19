package forget

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/internal/testsize"
)

func init() { testsize.Rapid(200) }

// Texts give the rules that they describe, and rules give their texts.
func TestTexts(t *testing.T) {
	for text, want := range map[string]Rule{
		"none":                      {},
		"memory=50":                 {Kind: Discount, Rate: .02},
		"memory=49":                 {Kind: Discount, Rate: 1. / 49}, // 1/(1/49) is not 49
		"memory=1000000":            {Kind: Discount, Rate: 1e-6},
		"memory=2.5":                {Kind: Discount, Rate: .4},
		"rate=5e-324":               {Kind: Discount, Rate: 5e-324},
		"restart=500":               {Kind: Restart, Rounds: 500},
		"restart=500,mode=steps":    {Kind: Restart, Rounds: 500, Mode: Steps},
		"window=7":                  {Kind: Window, Rounds: 7},
		"detector=cusum":            {Kind: Detector, Detector: "cusum"},
		"adaptive":                  {Kind: Adaptive},
		"adaptive=250":              {Kind: Adaptive, Rounds: 250},
		"detector=adwin:delta=0.01": {Kind: Detector, Detector: "adwin:delta=0.01"},
		"detector=kswin:seed=1,window=90,mode=full,warm=3": {
			Kind: Detector, Detector: "kswin:seed=1,window=90", Mode: Full, Warm: 3,
		},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
		if want.String() != text {
			t.Errorf("%+v: %s, want %s", want, want, text)
		}
	}
	for text, want := range map[string]string{ // other spellings of the same
		"rate=0.02": "memory=50", "memory=5e1": "memory=50", "restart=007": "restart=7",
		"restart=9,mode=full": "restart=9,mode=full,warm=0", "restart=9,warm=4,mode=full": "restart=9,mode=full,warm=4",
		"detector=kswin,mode=steps":                 "detector=kswin,mode=steps",
		"detector=kswin:seed=1,mode=full,window=90": "detector=kswin:seed=1,window=90,mode=full,warm=0",
	} {
		if got, err := Parse(text); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

// An error names the field, its value and what is allowed.
func TestTextErrors(t *testing.T) {
	const general = "want none, memory=M, restart=N, window=N, detector=NAME or adaptive"
	for text, want := range map[string]string{
		"":                  `forget: "": ` + general,
		"forget":            `forget: "forget": ` + general,
		"none=1":            `forget: "none=1": ` + general,
		"memory":            `forget: "memory": ` + general,
		"restart":           `forget: "restart": ` + general,
		"Memory=5":          `forget: "Memory=5": did you mean memory? ` + general,
		"restrt:interval=9": `forget: "restrt:interval=9": did you mean restart? ` + general,
		"memory=1":          `memory: "1": want a finite number of rounds above 1`,
		"memory=NaN":        `memory: "NaN": want a finite number of rounds above 1`,
		"memory=Inf":        `memory: "Inf": want a finite number of rounds above 1`,
		"memory=x":          `memory: "x" is not a number of rounds`,
		"rate=1":            `rate: 1 with kind discount: want a number above 0 and below 1`,
		"rate=0":            `rate: 0 with kind discount: want a number above 0 and below 1`,
		"restart=0":         `restart: "0": want a whole number of at least 1 rounds`,
		"window=2.5":        `window: "2.5": want a whole number of at least 1 rounds`,
		"window=2147483648": `rounds: 2147483648 with kind window: want 1 to 2147483647`,
		"detector=":         `detector: "": want one of cusum, page-hinkley, adwin, kswin`,
		"detector=kswim": `detector: "kswim": did you mean kswin? want one of cusum, page-hinkley, ` +
			`adwin, kswin`,
		"memory=5,mode=full":            `mode: "full" with kind discount: want none`,
		"none,mode=full":                `mode: "full" with kind none: want none`,
		"restart=5,mode=half":           `mode: "half": want steps or full`,
		"restart=5,mode=":               `forget: "restart=5,mode=": "mode=" is not an option of restart`,
		"restart=5,warm=2":              `warm: given in "restart=5,warm=2": want it with mode=full only`,
		"restart=5,mode=full,warm=-1":   `warm: -1: want 0 to 2147483647, above 0 with mode full only`,
		"restart=5,mode=full,warm=many": `warm: "warm=many" is not a whole number`,
		"restart=5,6":                   `forget: "restart=5,6": "6" is not an option of restart`,
	} {
		got, err := Parse(text)
		if got != (Rule{}) || err == nil || err.Error() != want {
			t.Errorf("%q: %+v, %v, want %s", text, got, err, want)
		}
		if err != nil {
			refused(t, text, err)
		}
	}
}

// rules draws a rule whose fields are any of those that a valid rule can have, and often one that
// is not valid.
func rules(t *rapid.T) Rule {
	r := Rule{Kind: rapid.SampledFrom(append(slices.Clone(kinds), None)).Draw(t, "kind")}
	if rapid.Bool().Draw(t, "rounds") {
		r.Rounds = rapid.IntRange(-1, MostRounds+1).Draw(t, "n")
	}
	if rapid.Bool().Draw(t, "rate") {
		r.Rate = rapid.Float64Range(0, 1).Draw(t, "r")
		if m := rapid.IntRange(0, 1000).Draw(t, "memory"); m > 0 {
			r.Rate = 1 / float64(m)
		}
	}
	if rapid.Bool().Draw(t, "detector") {
		settings := []string{"", ":delta=0.1", ":delta=0.1,part=3", ":,", ":warm=3", ":x,mode=full"}
		r.Detector = rapid.SampledFrom(Detectors()).Draw(t, "name") + rapid.SampledFrom(settings).Draw(t, "settings")
	}
	if rapid.Bool().Draw(t, "mode") {
		r.Mode = rapid.SampledFrom([]Mode{Steps, Full, "other"}).Draw(t, "m")
		r.Warm = rapid.IntRange(-1, 3).Draw(t, "warm")
	}
	return r
}

// The text of a valid rule reads back as the same rule.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rules(t)
		if err := r.Validate(); err != nil {
			return
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Fatalf("%+v is %q, which reads as %+v, %v", r, r, again, err)
		}
	})
	// Every rate has a text.
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.Float64Range(math.SmallestNonzeroFloat64, math.Nextafter(1, 0))
		r := Rule{Kind: Discount, Rate: rates.Draw(t, "rate")}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Fatalf("%+v is %q, which reads as %+v, %v", r, r, again, err)
		}
	})
}

// A text that is read gives a valid rule, whose text reads back.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"none", "memory=50", "rate=0.03", "restart=500,mode=full,warm=20", "window=9",
		"detector=adwin:delta=0.01,mode=steps",
		"adaptive", "adaptive=250", "detector=cusum,warm=,mode=", "memory=0x1p-3",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			if r != (Rule{}) {
				t.Errorf("%q: %+v with an error", text, r)
			}
			return
		}
		if err := r.Validate(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Errorf("%q: %q reads as %+v, %v, want %+v", text, r, again, err, r)
		}
	})
}

// The detectors are those of package changepoint.
func TestDetectorNames(t *testing.T) {
	got, want := Detectors(), changepoint.Names()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("detectors %v, want %v", got, want)
	}
}

// A rule has the trigger of its kind, whose detector has the defaults for the numbers and the
// settings that were given.
func TestRuleTriggers(t *testing.T) {
	for _, c := range []struct {
		text string
		of   Statistic
		want string
	}{
		{"none", Mistakes, "never"},
		{"memory=5", Residuals, "never"},
		{"window=5", Residuals, "never"},
		{"restart=5", Mistakes, "every(5)"},
		{
			"detector=adwin", Mistakes,
			"detect(adwin(range=[0, 1], delta=0.002, hoeffding=false, buckets=5, part=5), low=0, high=1)",
		},
		{
			"detector=adwin:delta=0.1", Residuals,
			"detect(adwin(range=[-2, 2], delta=0.1, hoeffding=false, buckets=5, part=5), low=-2, high=2)",
		},
		{
			"detector=cusum", Residuals,
			"detect(cusum(mean=0, deviation=1, drift=0.5, threshold=10, clip=4), low=-4, high=4)",
		},
		{
			"detector=page-hinkley:rounds=9", Residuals,
			"detect(page-hinkley(drift=0.5, threshold=11, rounds=9), low=-4, high=4)",
		},
		{"detector=kswin", Residuals, "detect(kswin(alpha=1e-05, window=100, recent=30, seed=0), low=-4, high=4)"},
	} {
		trigger := must(must(Parse(c.text)).Trigger(c.of))
		if got := fmt.Sprint(trigger); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"detector=cusum":              "cusum needs the mean",
		"detector=adwin:delta=3":      "delta: 3",
		"detector=kswin:delta=3":      "not an option of kswin",
		"detector=adwin:upper=0.5":    "range [0, 1]",
		"detector=cusum:mean=0.5,x=1": "x: not an option",
	} {
		if _, err := must(Parse(text)).Trigger(Mistakes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// The factor of a discount is 1 − 1/m.
func TestKeep(t *testing.T) {
	for m := 2.0; m < 1000; m++ {
		if got := must(Parse(fmt.Sprintf("memory=%v", m))).Keep(); got != 1-1/m {
			t.Errorf("memory=%v: keeps %v, want %v", m, got, 1-1/m)
		}
	}
	if got := (Rule{}).Keep(); got != 1 {
		t.Errorf("none keeps %v", got)
	}
}
