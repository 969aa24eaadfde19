package classify

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/testsize"
)

func asData(t testing.TB, xs []Example) Data {
	t.Helper()
	b, err := dataset.NewBuilder(13, "no", "yes")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range xs {
		class := 0
		if x.Positive {
			class = 1
		}
		if err := b.Add(x.Index, x.Value, class, x.Weight); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	return Data{Set: s, Positive: 1}
}

// Every algorithm, for a measure of each family that it can train for, does well above plain
// logistic's starting point and gives the same result twice.
func TestFitEveryAlgorithm(t *testing.T) {
	t.Parallel()
	train, test := asData(t, stream(31, testsize.Of(4000, 2000))), asData(t, stream(32, testsize.Of(4000, 2000)))
	ctx := context.Background()
	for _, alg := range Algorithms(Binary) {
		for _, m := range []measure.Measure{
			measure.FBeta{B: 1}, measure.GMean{}, measure.Kappa{}, measure.Min{}, measure.MCC{},
		} {
			if !alg.Trains(m) {
				continue
			}
			t.Run(alg.Name+" "+m.Name(), func(t *testing.T) {
				opt := Options{Algorithm: alg.Name, Measure: m, Passes: new(8), Seed: 5}
				r, err := Fit(ctx, train, opt)
				if err != nil {
					t.Fatal(err)
				}
				c, err := Evaluate(ctx, test, r.Classifier())
				if err != nil {
					t.Fatal(err)
				}
				least := map[string]float64{"f1": 0.66, "gmean": 0.84, "kappa": 0.58, "min": 0.8, "mcc": 0.58}[m.Name()]
				if strings.HasPrefix(alg.Name, "sgd-") || strings.HasPrefix(alg.Name, "logistic") {
					least -= 0.35
				}
				if v := c.Value(m); v < least {
					t.Errorf("%s = %.3f on fresh data, want at least %.2f", m.Name(), v, least)
				}
				again, err := Fit(ctx, train, opt)
				if err != nil {
					t.Fatal(err)
				}
				if !sameModel(r.Models[0], again.Models[0]) {
					t.Error("the same fit gave another model")
				}
				if r.History[r.Chosen].Threshold != r.Models[0].Threshold {
					t.Error("the chosen entry's threshold is not the model's")
				}
			})
		}
	}
}

// Without tuning, on columns from 1e-6 to 1e6, SPADE and STAMP do as well as the batch baselines;
// without standardisation they do not.
func TestDefaultsOnRawUnits(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t)
	train, test := asData(t, stream(33, 6000)), asData(t, stream(34, 6000))
	ctx := context.Background()
	value := func(opt Options) float64 {
		r, err := Fit(ctx, train, opt)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Evaluate(ctx, test, r.Classifier())
		if err != nil {
			t.Fatal(err)
		}
		return c.Value(opt.Measure)
	}
	for _, m := range []measure.Measure{measure.FBeta{B: 1}, measure.GMean{}} {
		own, plugin := value(Options{Measure: m, Folds: openOption(testsize.Of(0, 1))}),
			value(Options{Measure: m, Algorithm: "plugin"})
		if own < plugin-0.015 {
			t.Errorf("%s: %.4f, plug-in %.4f", m.Name(), own, plugin)
		}
		if raw := value(Options{Measure: m, Unscaled: true, Folds: new(1)}); raw > own-0.02 {
			t.Errorf("%s: %.4f unscaled, %.4f scaled: the columns are no test", m.Name(), raw, own)
		}
	}
}

// Data sorted by label spoil an unshuffled pass, but not Fit, which shuffles every pass.
func TestSortedDataAreShuffled(t *testing.T) {
	xs := stream(35, 5000)
	test := asData(t, stream(36, 5000))
	value := func(xs []Example) float64 {
		r, err := Fit(context.Background(), asData(t, xs), Options{Measure: measure.QMean{}, Passes: new(2)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Evaluate(context.Background(), test, r.Classifier())
		if err != nil {
			t.Fatal(err)
		}
		return c.Value(measure.QMean{})
	}
	mixed := value(xs)
	slices.SortStableFunc(xs, func(a, b Example) int {
		switch {
		case a.Positive == b.Positive:
			return 0
		case a.Positive:
			return 1
		default:
			return -1
		}
	})
	if sorted := value(xs); sorted < mixed-0.02 {
		t.Errorf("Q-mean %.3f on sorted data, %.3f on mixed", sorted, mixed)
	}
	l, err := NewSPADE(SPADEConfig{Measure: measure.QMean{}, Config: Config{Positives: 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	feed(t, l, xs) // negatives first, one pass, not shuffled
	m := l.Model()
	c, err := Evaluate(context.Background(), test, m.Classifier())
	if err != nil {
		t.Fatal(err)
	}
	if v := c.Value(measure.QMean{}); v > mixed-0.03 {
		t.Errorf("unshuffled sorted data reach %.3f, mixed %.3f: the test shows nothing", v, mixed)
	}
}

// The last iterate is worse than the average, and STAMP warns when nothing is held out.
func TestAverageAndWarnings(t *testing.T) {
	t.Parallel()
	r, err := Fit(context.Background(), asData(t, stream(37, 2000)),
		Options{Measure: measure.FBeta{B: 1}, Holdout: new(0.0)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "nothing is held out") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if r.Models[0].Threshold != 0 || len(r.History) != 1 {
		t.Errorf("threshold %v, %d candidates; want 0 and the last one only", r.Models[0].Threshold, len(r.History))
	}
	few := stream(38, 400)
	r, err = Fit(context.Background(), asData(t, few), Options{Measure: measure.FBeta{B: 1}, Holdout: new(0.1)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "positives are held out") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if r.Holdout.Rows+r.Train.Rows != 400 {
		t.Errorf("%d + %d rows, want 400", r.Holdout.Rows, r.Train.Rows)
	}
}

func TestFitRefuses(t *testing.T) {
	ok := asData(t, stream(39, 500))
	onlyNo := stream(39, 500)
	for i := range onlyNo {
		onlyNo[i].Positive = false
	}
	weightless := stream(39, 500)
	for i := range weightless {
		weightless[i].Weight = 0
	}
	f1 := measure.FBeta{B: 1}
	for name, tc := range map[string]struct {
		data Data
		opt  Options
		code noregret.Code
		want string
	}{
		"no measure": {ok, Options{}, noregret.Usage, "no measure is given"},
		"algorithm": {
			ok, Options{Measure: f1, Algorithm: "svm"}, noregret.Usage, `no algorithm for binary data is named "svm"`,
		},
		"family": {
			ok,
			Options{Measure: f1, Algorithm: "spade"},
			noregret.Usage,
			"algorithm spade cannot maximize f1",
		},
		"other family": {
			ok,
			Options{Measure: measure.GMean{}, Algorithm: "stamp"},
			noregret.Usage,
			"algorithm stamp cannot maximize gmean",
		},
		"degenerate": {ok, Options{Measure: measure.Precision{}}, noregret.Usage, "degenerate maximiser"},
		"mcc": {
			ok,
			Options{Measure: measure.MCC{}, Algorithm: "stamp"},
			noregret.Usage,
			"algorithm stamp cannot maximize mcc: it needs a pseudo-linear measure (f1, fbeta:B, jaccard, " +
				"tversky:S,T, kappa, accuracy, ...); try sgd-logistic",
		},
		"passes":  {ok, Options{Measure: f1, Passes: new(-1)}, noregret.Usage, "passes is -1"},
		"holdout": {ok, Options{Measure: f1, Holdout: new(1.0)}, noregret.Usage, "holdout is 1"},
		"separate data and a share": {
			ok,
			Options{Measure: f1, Holdout: new(0.0), Valid: &ok},
			noregret.Usage,
			"exclude the other holdout options",
		},
		"no passes": {ok, Options{Measure: f1, Passes: new(0)}, noregret.Usage, "passes is 0, want at least 1"},
		"no folds":  {ok, Options{Measure: f1, Folds: new(0)}, noregret.Usage, "folds is 0, want at least 1"},
		"tuned, none": {
			ok,
			Options{Measure: f1, Holdout: new(0.0), Threshold: ThresholdTuned},
			noregret.Usage,
			"needs held-out data",
		},
		"plugin, none": {
			ok,
			Options{Measure: f1, Holdout: new(0.0), Algorithm: "plugin"},
			noregret.Usage,
			"needs held-out data",
		},
		"patience":  {ok, Options{Measure: f1, Patience: -1}, noregret.Usage, "patience is -1"},
		"prior":     {ok, Options{Measure: f1, PriorPositives: 1}, noregret.Usage, "prior share"},
		"one class": {asData(t, onlyNo), Options{Measure: f1}, noregret.BadInput, "there is no positive example"},
		"no weight": {asData(t, weightless), Options{Measure: f1}, noregret.BadInput, "add up to 0"},
		"no held-out one": {
			asData(t, stream(40, 12)),
			Options{Measure: f1, Holdout: new(0.05)},
			noregret.BadInput,
			"leaves no example of one class",
		},
	} {
		_, err := Fit(context.Background(), tc.data, tc.opt)
		if noregret.CodeOf(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v (code %s), want %s ... %q", name, err, noregret.CodeOf(err), tc.code, tc.want)
		}
	}
}

func TestFitStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	data := asData(t, stream(41, 20_000))
	for _, alg := range Algorithms(Binary) {
		if !alg.Trains(measure.FBeta{B: 1}) {
			continue
		}
		opt := Options{Algorithm: alg.Name, Measure: measure.FBeta{B: 1}, Progress: func(Progress) { cancel() }}
		if strings.HasPrefix(alg.Name, "logistic") || alg.Name == "plugin" {
			cancel() // these report nothing before they end
		}
		if _, err := Fit(ctx, data, opt); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the context's error", alg.Name, err)
		}
		ctx, cancel = context.WithCancel(context.Background())
	}
	cancel()
}

func TestDefaultPasses(t *testing.T) {
	for n, want := range map[int64]int{
		1: 100, 1000: 100, 5000: 100, 10_000: 50, 35_000: 15, 100_000: 10, 345_000: 10, 1_000_000: 5, 2_000_000: 2,
		5_000_000: 1, 1e12: 1,
	} {
		if got := defaultPasses(n, 1); got != want {
			t.Errorf("%d rows: %d passes, want %d", n, got, want)
		}
	}
}

// subsample is a population with the given share of positives, and a balanced subsample of it.
func subsample(seed uint64, n int, p float64) (population, balanced []Example) {
	r := rand.New(rand.NewPCG(seed, 5))
	for range n {
		x := Example{Index: []uint32{0, 1}, Value: make([]float32, 2), Weight: 1, Positive: r.Float64() < p}
		for j := range x.Value {
			v := r.NormFloat64()
			if x.Positive {
				v += 1.6
			}
			x.Value[j] = float32(v)
		}
		population = append(population, x)
		if x.Positive || r.Float64() < p/(1-p) {
			balanced = append(balanced, x)
		}
	}
	return population, balanced
}

// θ comes from the prior and class shares from the stream. A model trained on a balanced subsample
// with the prior is as good as one trained on all data, for every algorithm that uses θ; without
// the prior it is not.
func TestPriorPositives(t *testing.T) {
	testsize.NoRace(t)
	const p = 0.02
	population, balanced := subsample(1, 60_000, p)
	test, _ := subsample(2, 60_000, p)
	ctx := context.Background()
	f1 := measure.FBeta{B: 1}
	value := func(xs []Example, algorithm string, prior float64) float64 {
		opt := Options{Measure: f1, Algorithm: algorithm, PriorPositives: prior, Folds: new(1)}
		r, err := Fit(ctx, asData(t, xs), opt)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Evaluate(ctx, asData(t, test), r.Classifier())
		if err != nil {
			t.Fatal(err)
		}
		return c.Value(f1)
	}
	whole := value(population, "stamp", 0)
	for _, algorithm := range []string{"stamp", "amp", "plugin", "cost-search"} {
		with, without := value(balanced, algorithm, p), value(balanced, algorithm, 0)
		if with < whole-0.05 || without > whole-0.1 {
			t.Errorf("%s on the subsample: F1 %.3f with the prior, %.3f without, %.3f on the whole", algorithm, with,
				without, whole)
		}
	}
	l := newSTAMP(t, STAMPConfig{Measure: f1, PriorPositives: p, Config: Config{BurnIn: 100}})
	for range 20 {
		feed(t, l, balanced)
	}
	m := l.Model()
	c, err := Evaluate(ctx, asData(t, test), m.Classifier())
	if err != nil {
		t.Fatal(err)
	}
	if v := c.Value(f1); v < whole-0.1 {
		t.Errorf("online: F1 %.3f, %.3f on the whole", v, whole)
	}
}

// Measures made without their constructors are checked where they are used.
func TestInvalidMeasures(t *testing.T) {
	for _, m := range []measure.Measure{
		measure.FBeta{},
		measure.FBeta{B: math.NaN()},
		measure.GowerLegendre{},
		measure.Tversky{},
		measure.WeightedRecall{},
	} {
		if _, err := Fit(context.Background(), asData(t, stream(57, 200)),
			Options{Measure: m}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%#v: %v", m, err)
		}
	}
	if _, err := NewSPADE(SPADEConfig{Measure: measure.TPR()}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("tpr alone: %v", err)
	}
}

// The average of the last half is better than that of all when the start was bad, and each step
// scale has its own patience.
func TestLastHalfAndPatience(t *testing.T) {
	train := asData(t, stream(58, 3000))
	opt := Options{Measure: measure.GMean{}, Passes: new(4), Config: Config{Averaging: AverageLastHalf}}
	r, err := Fit(context.Background(), train, opt)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewSPADE(SPADEConfig{Measure: measure.GMean{}, Config: Config{
		Dim: 13, Scaling: r.Scaling, Positives: r.Train.Labels[0].Weight / float64(r.Train.Rows), MeanWeight: 1,
		MeanSquare: func() float64 {
			m, err := train.moments(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return m.meanSquare(r.Scaling, 1)
		}(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for pass := range 4 {
		if pass == 2 {
			l.ResetAverage()
		}
		if err := train.shuffled(context.Background(), 0, pass, train.examples(l.Observe)); err != nil {
			t.Fatal(err)
		}
		l.NextPass()
	}
	if !sameModel(l.Model(), r.Models[0]) {
		t.Error("the model is not the average of the last half")
	}
	r,
		err = Fit(context.Background(), train, Options{
		Measure: measure.GMean{}, Passes: new(12), TuneSteps: true,
		Holdout: new(0.2), Patience: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	passes := map[float64]int{}
	for _, e := range r.History {
		passes[e.StepScale]++
	}
	for _, s := range []float64{0.1, 0.3, 1, 3} {
		if passes[s] < 4 && passes[s] < 12 {
			t.Errorf("step scale %v: ended after %d passes, before its own patience of 3 could", s, passes[s])
		}
	}
	if _, err := Fit(context.Background(), train,
		Options{
			Measure: measure.GMean{}, TuneSteps: true,
			Config: Config{Step: 1},
		}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("an absolute step with TuneSteps: %v", err)
	}
}
