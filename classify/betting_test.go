package classify

import (
	"bytes"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
)

// auto is a configuration with coin betting.
var auto = Config{Steps: StepsBetting}

// Coin betting trains every linear trainer of two classes without a choice of step sizes, in one
// run, and as well as the step scale that is best on held-out data, within a few hundredths. The
// result is the same twice.
func TestFitBetting(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	data, test := asData(t, stream(71, 4000)), asData(t, stream(72, 4000))
	for name, m := range map[string]measure.Measure{
		"sgd-logistic": measure.FBeta{B: 1}, "sgd-hinge": measure.FBeta{B: 1}, "sgd-balanced": measure.GMean{},
		"spade": measure.QMean{}, "stamp": measure.FBeta{B: 1}, "cost-search": measure.FBeta{B: 1},
	} {
		value := func(c Config, tune bool) (float64, *Model) {
			o := Options{Algorithm: name, Measure: m, Config: c, TuneSteps: tune, Passes: new(3)}
			r, err := Fit(t.Context(), data, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !tune && (r.Schedule != StepsBetting || len(r.StepScales) != 1) {
				t.Errorf("%s: schedule %d, step scales %v", name, r.Schedule, r.StepScales)
			}
			counts, err := Evaluate(t.Context(), test, r.Classifier())
			if err != nil {
				t.Fatal(err)
			}
			model, err := NewModel(r, o, data)
			if err != nil {
				t.Fatal(err)
			}
			return counts.Value(m), model
		}
		tuned, _ := value(Config{Steps: StepsSqrt}, true)
		got, model := value(auto, false)
		_, again := value(auto, false)
		t.Logf("%s: %.3f, tuned %.3f", name, got, tuned)
		if !(got >= tuned-0.03) {
			t.Errorf("%s: %.3f by coin betting, %.3f with the tuned step size", name, got, tuned)
		}
		var a, b bytes.Buffer
		if err := WriteModel(&a, model); err != nil {
			t.Fatal(err)
		}
		if err := WriteModel(&b, again); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: the same fit gave another file, %v", name, err)
		}
		if got, err := ReadModel(&a, "model"); err != nil || got.Options.Config.Steps != StepsBetting {
			t.Errorf("%s: %v, steps %v in the model file", name, err, model.Options.Config.Steps)
		}
	}
}

// Coin betting trains the learners of several classes and labels too.
func TestFitMultiBetting(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		train, test Data
		measures    map[string]float64
	}{
		{
			classSet(t, 1, 3000), classSet(t, 2, 2000),
			map[string]float64{"min": 0.5, "qmean": 0.58, "macro_f1": 0.49},
		},
		{labelSet(t, 1, 3000), labelSet(t, 2, 2000), map[string]float64{"macro_f1": 0.55, "micro_f1": 0.55}},
	} {
		for name, least := range tc.measures {
			m := multiMeasures(t, tc.train.Task == Multilabel, name)[0]
			opt := Options{Measure: m, Passes: new(3), Config: auto}
			r, err := Fit(t.Context(), tc.train, opt)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c, err := Evaluate(t.Context(), tc.test, r.Classifier())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %s: %.3f", r.Algorithm, name, c.Value(m))
			if v := c.Value(m); !(v >= least) || r.Schedule != StepsBetting {
				t.Errorf("%s: %.3f on fresh data, want at least %.2f; schedule %d", name, v, least, r.Schedule)
			}
			checkMultiFile(t, tc.train, opt, r)
		}
	}
}

// Where a rate has no meaning, it is refused with words.
func TestRateRefusals(t *testing.T) {
	f1 := measure.FBeta{B: 1}
	for want, o := range map[string]Options{
		"algorithm plugin takes no steps of its own": {Algorithm: "plugin", Measure: f1, Config: auto},
		"algorithm logistic takes no steps of its own": {
			Algorithm: "logistic", Measure: f1,
			Config: Config{Step: 1},
		},
		"there is no step scale to choose": {Measure: f1, TuneSteps: true, Config: auto},
		"it takes no step scale of 3": {
			Measure: f1,
			Config:  Config{Steps: StepsBetting, StepScale: 3},
		},
		"it takes no absolute step of 0.5": {
			Measure: f1,
			Config:  Config{Steps: StepsBetting, Step: 0.5},
		},
		"coin betting and a ball of radius 2 exclude": {
			Measure: f1,
			Config:  Config{Steps: StepsBetting, Radius: 2},
		},
		"coin betting and regularisation of strength 0.25": {
			Measure: f1,
			Config:  Config{Steps: StepsBetting, Lambda: 0.25},
		},
	} {
		if err := o.Validate(Binary); noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	macro := multiMeasures(t, false, "macro_f1")[0]
	for want, o := range map[string]Options{
		"of its own: steps is a setting of spade, one-vs-rest, sgd-balanced": {
			Measure: macro, Algorithm: "plugin", Config: auto,
		},
		"there is no step scale to choose": {Measure: macro, TuneSteps: true, Config: auto},
	} {
		if err := o.Validate(Multiclass); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
