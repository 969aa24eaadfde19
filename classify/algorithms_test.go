package classify

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
)

// TestDefaultSteps checks that STAMP's steps are adaptive in Fit unless an option excludes them,
// that it tries two step scales and ends level stages early, and that the model file records all
// this.
func TestDefaultSteps(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	train := modelData(t)
	f1 := measure.FBeta{B: 1}
	for _, tc := range []struct {
		opt    Options
		want   Steps
		scales []float64
	}{
		{Options{Measure: f1}, StepsAdaptive, []float64{1, 3}},
		{Options{Measure: f1, LevelPositives: new(5)}, StepsAdaptive, []float64{1, 3}},
		{Options{Measure: f1, LevelPositives: new(0), Config: Config{Steps: StepsSqrt}}, StepsSqrt, []float64{1}},
		{Options{Measure: f1, TuneSteps: true}, StepsAdaptive, []float64{0.1, 0.3, 1, 3}},
		{Options{Measure: f1, Config: Config{Radius: 5}, LevelPositives: new(5)}, StepsSqrt, []float64{1}},
		{Options{Measure: f1, Config: Config{Step: 0.1, Steps: StepsAdaptive}}, StepsAdaptive, []float64{1}},
	} {
		tc.opt.AllEpochs = true
		r, err := Fit(t.Context(), train, tc.opt)
		if err != nil {
			t.Fatal(err)
		}
		if r.Schedule != tc.want || !slices.Equal(r.StepScales, tc.scales) {
			t.Errorf("%+v: schedule %v, step scales %v", tc.opt, r.Schedule, r.StepScales)
		}
		m, err := NewModel(r, tc.opt, train)
		if err != nil {
			t.Fatal(err)
		}
		if m.Options.Config.Steps != tc.want || m.Options.TuneSteps != (len(tc.scales) > 1) ||
			levelNumber(m.Options.LevelPositives) != levelNumber(tc.opt.LevelPositives) {
			t.Errorf("%+v: the model file has %+v", tc.opt, m.Options)
		}
	}
	epochs := map[int]int{}
	for _, level := range []int{-1, 0, 5} {
		positives, err := levelOf(level)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Fit(t.Context(), train, Options{
			Measure: f1, LevelPositives: positives, Growth: 1.1, FirstEpoch: 2000,
			AllEpochs: true, Config: Config{Steps: StepsSqrt},
		})
		if err != nil {
			t.Fatal(err)
		}
		epochs[level] = len(r.History)
	}
	if !(epochs[-1] < epochs[0] && epochs[0] < epochs[5]) {
		t.Errorf("epochs by the positives that end a level stage: %v", epochs)
	}
	for name, opt := range map[string]Options{
		"a batch algorithm with steps": {Algorithm: "logistic", Config: Config{Steps: StepsAdaptive}},
		"level positives of -2":        {LevelPositives: new(-2)},
	} {
		opt.Measure = f1
		if _, err := Fit(t.Context(), train, opt); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s: got %v, want an error of code usage", name, err)
		}
	}
	for _, tc := range []struct {
		algorithm string
		config    Config
		want      Steps
	}{
		{"stamp", Config{}, StepsAdaptive},
		{"stamp", Config{Steps: StepsSqrt}, StepsSqrt},
		{"stamp", Config{Radius: 1}, StepsSqrt},
		{"stamp", Config{Radius: math.Inf(1)}, StepsAdaptive},
		{"stamp", Config{Lambda: 1}, StepsSqrt},
		{"stamp", Config{Step: 1}, StepsSqrt},
		{"spade", Config{}, StepsSqrt},
		{"sgd-logistic", Config{Steps: StepsAdaptive}, StepsAdaptive},
	} {
		if got := DefaultSteps(tc.algorithm, tc.config); got != tc.want {
			t.Errorf("DefaultSteps(%s, %+v) = %v, want %v", tc.algorithm, tc.config, got, tc.want)
		}
	}
}
