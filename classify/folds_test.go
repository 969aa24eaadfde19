package classify

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
)

// With folds the model is the mean of the folds' models, and its threshold is the best one on the
// scores that every example gets from the model that did not see it. The test computes both from
// single fits.
func TestCrossFitByHand(t *testing.T) {
	ctx, data := context.Background(), asData(t, stream(71, 900))
	for _, alg := range []string{"plugin", "stamp", "cost-search"} {
		opt := Options{Algorithm: alg, Measure: measure.FBeta{B: 1}, Passes: new(6), Seed: 3, Folds: new(3)}
		got, err := Fit(ctx, data, opt)
		if err != nil {
			t.Fatal(alg, err)
		}
		folds, err := data.Set.Folds(opt.Seed, "crossfit", 3)
		if err != nil {
			t.Fatal(err)
		}
		var mean Linear
		var pooled []Scored
		chosen := got.History[got.Chosen]
		for _, f := range folds {
			m := trainedCandidate(t, Data{Set: f.Rest, Positive: data.Positive},
				Data{Set: f.Part, Positive: data.Positive}, opt, got, chosen)
			if mean.Weights == nil {
				mean.Weights = make([]float64, len(m.Weights))
			}
			for i, w := range m.Weights {
				mean.Weights[i] += w / 3
			}
			mean.Intercept += m.Intercept / 3
			part := Data{Set: f.Part, Positive: data.Positive}
			scores, err := part.scores(ctx, []*Linear{&m}, nil)
			if err != nil {
				t.Fatal(err)
			}
			pooled = append(pooled, scores[0]...)
		}
		if len(pooled) != 900 {
			t.Fatalf("%s: %d held-out scores, want one for each of 900 examples", alg, len(pooled))
		}
		threshold, value := TuneThreshold(pooled, opt.Measure.(measure.Measure))
		for i, w := range mean.Weights {
			if math.Abs(got.Models[0].Weights[i]-w) > 1e-12*(1+math.Abs(w)) {
				t.Fatalf("%s: weight %d is %v, the mean of the folds is %v", alg, i, got.Models[0].Weights[i], w)
			}
		}
		if math.Abs(got.Models[0].Intercept-mean.Intercept) > 1e-12*(1+math.Abs(mean.Intercept)) ||
			math.Abs(got.Models[0].Threshold-threshold) > 1e-12*(1+math.Abs(mean.Intercept)) ||
			*chosen.Holdout != value {
			t.Errorf("%s: intercept %v, threshold %v, value %v, want %v, %v, %v", alg,
				got.Models[0].Intercept, got.Models[0].Threshold, *chosen.Holdout, mean.Intercept, threshold, value)
		}
		for _, e := range got.History {
			if *e.Holdout > value {
				t.Errorf("%s: %q has %v, the chosen one %v", alg, e.Candidate, *e.Holdout, value)
			}
		}
		if got.Folds != 3 || got.Train.Rows != 900 || got.Holdout.Rows != 0 {
			t.Errorf("%s: folds %d, classes %+v and %+v", alg, got.Folds, got.Train, got.Holdout)
		}
	}
}

// trainedCandidate trains on one fold alone and returns the candidate of the name and step scale.
func trainedCandidate(t *testing.T, train, part Data, opt Options, whole *Result, want HistoryEntry) Linear {
	t.Helper()
	opt.Folds, opt.Valid, opt.Config.Scaling = new(1), &part, whole.Scaling
	r, err := opt.resolve(Binary)
	if err != nil {
		t.Fatal(err)
	}
	one, err := newTraining(context.Background(), train, r)
	if err != nil {
		t.Fatal(err)
	}
	one.config.MeanSquare = wholeMeanSquare(t, train, part, whole.Scaling)
	one.pool = new(pool)
	if err := one.run(); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(one.pool.slots, func(s slot) bool {
		return s.entry.Candidate == want.Candidate && s.entry.StepScale == want.StepScale
	})
	if i < 0 {
		t.Fatalf("a fold has no candidate %q", want.Candidate)
	}
	return one.pool.slots[i].model
}

// wholeMeanSquare is m̄₂ of both parts together.
func wholeMeanSquare(t *testing.T, a, b Data, s *Scaling) float64 {
	t.Helper()
	all := new(moments)
	for _, d := range []Data{a, b} {
		if err := d.read(context.Background(), func(index []uint32, value []float32, _ uint16, weight float64) error {
			all.observe(index, value, weight)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all.meanSquare(s, 1)
}

// The result has the same bits with one core and with several.
func TestCrossFitAnyCores(t *testing.T) {
	data := asData(t, stream(72, 2000))
	opt := Options{Algorithm: "stamp", Measure: measure.FBeta{B: 1}, Seed: 9, Passes: new(5), Folds: new(5)}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var models []Linear
	for _, cores := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(cores)
		r, err := Fit(context.Background(), data, opt)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, r.Models[0])
	}
	for _, m := range models[1:] {
		if !sameModel(m, models[0]) || m.Threshold != models[0].Threshold {
			t.Error("the model depends on the number of cores")
		}
	}
}

func TestFoldsFor(t *testing.T) {
	few, many := asData(t, stream(73, 1000)), asData(t, stream(74, 12000))
	if c, _ := many.Classes(); c.Positives < fewPositives {
		t.Fatalf("the large set has %d positives, want at least %d", c.Positives, fewPositives)
	}
	f1 := measure.FBeta{B: 1}
	for _, c := range []struct {
		name string
		data Data
		opt  Options
		want int
		err  string
	}{
		{"few positives", few, Options{Measure: f1}, 5, ""},
		{"many positives", many, Options{Measure: f1}, 1, ""},
		{"asked for", many, Options{Measure: f1, Folds: new(4)}, 4, ""},
		{"one", few, Options{Measure: f1, Folds: new(1)}, 1, ""},
		{"own share", few, Options{Measure: f1, Holdout: new(0.2)}, 1, ""},
		{"nothing held out", few, Options{Measure: f1, Holdout: new(0.0)}, 1, ""},
		{"given apart", few, Options{Measure: f1, Valid: &many}, 1, ""},
		{"threshold 0", few, Options{Measure: f1, Threshold: ThresholdZero}, 1, ""},
		{"the paper's steps", few, Options{Measure: f1, Config: Config{Steps: StepsSqrt}}, 1, ""},
		{"another algorithm", few, Options{Measure: f1, Algorithm: "plugin"}, 1, ""},
		{"another algorithm asked", few, Options{Measure: f1, Algorithm: "plugin", Folds: new(2)}, 2, ""},
		{"negative", few, Options{Measure: f1, Folds: new(-1)}, 0, "folds is -1, want at least 1"},
		{"and a share", few, Options{Measure: f1, Folds: new(3), Holdout: new(0.1)}, 0, "exclude each other"},
		{"and none", few, Options{Measure: f1, Folds: new(3), Holdout: new(0.0)}, 0, "exclude each other"},
		{"and separate data", few, Options{Measure: f1, Folds: new(3), Valid: &many}, 0, "exclude each other"},
		{
			"nothing to choose", few,
			Options{Measure: f1, Algorithm: "logistic", Folds: new(3)},
			0,
			"logistic holds nothing out",
		},
		{"too many", few, Options{Measure: f1, Folds: new(5000)}, 0, "want at most the"},
	} {
		got := 0
		r, err := c.opt.resolve(Binary)
		if err == nil {
			got, err = r.foldsFor(c.data)
		}
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s: %d folds, %v, want %d", c.name, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.err)
		}
	}
}

// With a handful of positives there are at most as many folds, and the report says so.
func TestCrossFitThreePositives(t *testing.T) {
	xs := stream(75, 400)
	kept := 0
	xs = slices.DeleteFunc(xs, func(x Example) bool {
		if !x.Positive {
			return false
		}
		kept++
		return kept > 3
	})
	r, err := Fit(context.Background(), asData(t, xs), Options{Measure: measure.FBeta{B: 1}, Passes: new(5)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Folds != 3 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "only 3 positives") {
		t.Errorf("%d folds, warnings %q", r.Folds, r.Warnings)
	}
}

// An error of one fold ends the fit and names the fold; so does a context that ends.
func TestCrossFitFails(t *testing.T) {
	data := asData(t, stream(76, 600))
	_,
		err := Fit(context.Background(), data, Options{
		Measure: measure.FBeta{B: 1}, Folds: new(2),
		Config: Config{StepScale: 1e300, Steps: StepsSqrt},
	})
	if noregret.CodeOf(err) != noregret.Diverged || !strings.Contains(err.Error(), "of 2: ") {
		t.Errorf("error %v, want one of code diverged that names the fold", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fit(ctx, data, Options{Measure: measure.FBeta{B: 1}, Folds: new(2)}); err == nil {
		t.Error("no error from a context that has ended")
	}
}

// Progress counts the examples of all folds and never goes back.
func TestCrossFitProgress(t *testing.T) {
	var last int64
	calls := 0
	opt := Options{Measure: measure.FBeta{B: 1}, Folds: new(3), Passes: new(10), Progress: func(p Progress) {
		calls++
		if p.Examples < last {
			t.Errorf("progress went back from %d to %d", last, p.Examples)
		}
		last = p.Examples
	}}
	r, err := Fit(context.Background(), asData(t, stream(77, 3000)), opt)
	if err != nil {
		t.Fatal(err)
	}
	if calls == 0 || last > r.Steps || last < r.Steps/2 {
		t.Errorf("%d reports, the last of %d of %d steps", calls, last, r.Steps)
	}
}
