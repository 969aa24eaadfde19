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
	"pgregory.net/rapid"
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

// Every algorithm, for a measure of each family that it can train for: well above plain logistic's
// starting point, twice the same.
func TestFitEveryAlgorithm(t *testing.T) {
	t.Parallel()
	train, test := asData(t, stream(31, testsize.Of(4000, 2000))), asData(t, stream(32, testsize.Of(4000, 2000)))
	ctx := context.Background()
	for _, alg := range Algorithms() {
		for _, m := range []measure.Measure{measure.FBeta{B: 1}, measure.GMean{}, measure.Kappa{}, measure.Min{}} {
			if !alg.Trains(m) {
				continue
			}
			t.Run(alg.Name+" "+m.Name(), func(t *testing.T) {
				opt := Options{Algorithm: alg.Name, Measure: m, Passes: 8, Seed: 5}
				r, err := Fit(ctx, train, opt)
				if err != nil {
					t.Fatal(err)
				}
				c, err := Evaluate(ctx, test, &r.Model)
				if err != nil {
					t.Fatal(err)
				}
				least := map[string]float64{"f1": 0.66, "gmean": 0.84, "kappa": 0.58, "min": 0.8}[m.Name()]
				if strings.HasPrefix(alg.Name, "sgd-") || strings.HasPrefix(alg.Name, "logistic") {
					least -= 0.35
				}
				if v := m.Value(c); v < least {
					t.Errorf("%s = %.3f on fresh data, want at least %.2f", m.Name(), v, least)
				}
				again, err := Fit(ctx, train, opt)
				if err != nil {
					t.Fatal(err)
				}
				if !sameModel(r.Model, again.Model) {
					t.Error("the same fit gave another model")
				}
				if r.History[r.Chosen].Threshold != r.Model.Threshold {
					t.Error("the chosen entry's threshold is not the model's")
				}
			})
		}
	}
}

// Without tuning, on columns from 1e-6 to 1e6, SPADE and STAMP are level with the batch baselines;
// without standardisation they are not.
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
		c, err := Evaluate(ctx, test, &r.Model)
		if err != nil {
			t.Fatal(err)
		}
		return opt.Measure.Value(c)
	}
	for _, m := range []measure.Measure{measure.FBeta{B: 1}, measure.GMean{}} {
		own, plugin := value(Options{Measure: m, Folds: testsize.Of(0, 1)}),
			value(Options{Measure: m, Algorithm: "plugin"})
		if own < plugin-0.015 {
			t.Errorf("%s: %.4f, plug-in %.4f", m.Name(), own, plugin)
		}
		if raw := value(Options{Measure: m, Unscaled: true, Folds: 1}); raw > own-0.02 {
			t.Errorf("%s: %.4f unscaled, %.4f scaled: the columns are no test", m.Name(), raw, own)
		}
	}
}

// Data sorted by label ruin unshuffled passes but do no harm to Fit, which shuffles every pass.
func TestSortedDataAreShuffled(t *testing.T) {
	xs := stream(35, 5000)
	test := asData(t, stream(36, 5000))
	value := func(xs []Example) float64 {
		r, err := Fit(context.Background(), asData(t, xs), Options{Measure: measure.QMean{}, Passes: 2})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Evaluate(context.Background(), test, &r.Model)
		if err != nil {
			t.Fatal(err)
		}
		return measure.QMean{}.Value(c)
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
	c, err := Evaluate(context.Background(), test, &m)
	if err != nil {
		t.Fatal(err)
	}
	if v := (measure.QMean{}).Value(c); v > mixed-0.03 {
		t.Errorf("unshuffled sorted data reach %.3f, mixed %.3f: the test shows nothing", v, mixed)
	}
}

// The last iterate is worse than the average, and STAMP warns when nothing is held out.
func TestAverageAndWarnings(t *testing.T) {
	t.Parallel()
	r, err := Fit(context.Background(), asData(t, stream(37, 2000)),
		Options{Measure: measure.FBeta{B: 1}, NoHoldout: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "nothing is held out") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if r.Model.Threshold != 0 || len(r.History) != 1 {
		t.Errorf("threshold %v, %d candidates; want 0 and the last one only", r.Model.Threshold, len(r.History))
	}
	few := stream(38, 400)
	r, err = Fit(context.Background(), asData(t, few), Options{Measure: measure.FBeta{B: 1}, Holdout: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "positives are held out") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if r.Holdout.Rows()+r.Train.Rows() != 400 {
		t.Errorf("%d + %d rows, want 400", r.Holdout.Rows(), r.Train.Rows())
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
		"algorithm":  {ok, Options{Measure: f1, Algorithm: "svm"}, noregret.Usage, `no algorithm is named "svm"`},
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
		"mcc":        {ok, Options{Measure: measure.MCC{}}, noregret.Usage, "neither concave nor pseudo-linear"},
		"passes":     {ok, Options{Measure: f1, Passes: -1}, noregret.Usage, "passes is -1"},
		"holdout":    {ok, Options{Measure: f1, Holdout: 1}, noregret.Usage, "holdout is 1"},
		"both holdouts": {
			ok,
			Options{Measure: f1, Holdout: 0.1, NoHoldout: true},
			noregret.Usage,
			"exclude each other",
		},
		"tuned, none": {
			ok,
			Options{Measure: f1, NoHoldout: true, Threshold: ThresholdTuned},
			noregret.Usage,
			"needs held-out data",
		},
		"plugin, none": {
			ok,
			Options{Measure: f1, NoHoldout: true, Algorithm: "plugin"},
			noregret.Usage,
			"needs held-out data",
		},
		"patience":  {ok, Options{Measure: f1, Patience: -1}, noregret.Usage, "patience is -1"},
		"prior":     {ok, Options{Measure: f1, PriorPositives: 1}, noregret.Usage, "prior share"},
		"one class": {asData(t, onlyNo), Options{Measure: f1}, noregret.BadInput, "there is no positive example"},
		"no weight": {asData(t, weightless), Options{Measure: f1}, noregret.BadInput, "add up to 0"},
		"no held-out one": {
			asData(t, stream(40, 12)),
			Options{Measure: f1, Holdout: 0.05},
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
	for _, alg := range Algorithms() {
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

// TuneThreshold equals brute force over all cuts, for every measure, with ties and weights.
func TestTuneThresholdIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		xs := make([]Scored, n)
		for i := range xs {
			xs[i] = Scored{
				Score:    float64(rapid.IntRange(-3, 3).Draw(t, "score")),
				Weight:   float64(rapid.IntRange(1, 3).Draw(t, "weight")),
				Positive: rapid.Bool().Draw(t, "positive"),
			}
		}
		for _, name := range []string{"f1", "gmean", "mcc", "min", "precision", "kappa"} {
			m, _ := measure.Parse(name)
			best := math.NaN()
			for cut := -4.5; cut <= 3.5; cut++ {
				var c measure.Confusion
				for _, x := range xs {
					c.Add(x.Positive, x.Score > cut, x.Weight)
				}
				if v := m.Value(c); !math.IsNaN(v) && !(v <= best) {
					best = v
				}
			}
			threshold, value := TuneThreshold(slices.Clone(xs), m)
			var c measure.Confusion
			for _, x := range xs {
				c.Add(x.Positive, x.Score > threshold, x.Weight)
			}
			if got := m.Value(c); !(math.Abs(got-value) < 1e-12) && !(math.IsNaN(got) && math.IsNaN(value)) {
				t.Fatalf("%s: at its threshold %v the measure is %v, not %v", name, threshold, got, value)
			}
			if !(math.Abs(value-best) < 1e-12) && !(math.IsNaN(value) && math.IsNaN(best)) {
				t.Fatalf("%s: tuned to %v, brute force finds %v", name, value, best)
			}
		}
	})
}

// A score equal to the threshold is negative, and the highest of equally good thresholds wins.
func TestThresholdConventions(t *testing.T) {
	m := Linear{Weights: []float64{1}, Threshold: 2}
	if m.Predict([]uint32{0}, []float32{2}) {
		t.Error("a score equal to the threshold was called positive")
	}
	xs := []Scored{{3, 1, true}, {1, 1, false}, {0, 1, true}, {-1, 1, false}}
	// Cuts: none 0, {3} P=.5 N=1, ...: balanced accuracy .75 at {3} and at {3,1,0}; the higher cut
	// wins.
	if th, v := TuneThreshold(xs, measure.BalancedAccuracy()); th != 2 || v != 0.75 {
		t.Errorf("threshold %v, value %v; want 2, 0.75", th, v)
	}
	if th, v := TuneThreshold([]Scored{{5, 1, false}, {5, 1, true}}, measure.BalancedAccuracy()); th != 5 || v != 0.5 {
		t.Errorf("all equal: threshold %v, value %v; want 5, 0.5", th, v)
	}
}

func TestTuneThresholdAdjacentScores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for range 1000 {
		a := r.NormFloat64() * math.Exp(r.NormFloat64()*10)
		b := math.Nextafter(a, math.Inf(1))
		th, v := TuneThreshold([]Scored{{a, 1, false}, {b, 1, true}}, measure.FBeta{B: 1})
		if v != 1 || !(b > th) || a > th {
			t.Fatalf("scores %v and %v: threshold %v, value %v", a, b, th, v)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	rows := int64(testsize.Of(3000, 800))
	c, err := Compare(context.Background(), asData(t, stream(42, int(rows))), CompareOptions{
		Measures:   []measure.Measure{measure.FBeta{B: 1}, measure.QMean{}},
		Algorithms: []string{"stamp", "spade", "plugin", "logistic"}, Splits: 2, TrainShare: 0.7, Seed: 9,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Cells) != 6 {
		t.Fatalf("%d cells, want 6 (stamp not for qmean, spade not for f1)", len(c.Cells))
	}
	if c.Train.Rows() != rows*7/10 || c.Test.Rows() != rows*3/10 {
		t.Errorf("split %d/%d of %d rows, want 7 to 3", c.Train.Rows(), c.Test.Rows(), rows)
	}
	for _, x := range c.Cells {
		if len(x.Values) != 2 || x.Mean < 0.3 || x.Mean > 1 {
			t.Errorf("%+v", x)
		}
	}
	if best := c.Best("f1", func(a string) bool {
		return a != "logistic"
	}); best == nil || best.Algorithm == "logistic" {
		t.Errorf("best %+v", best)
	}
	if _, err := Compare(context.Background(), asData(t, stream(42, 100)),
		CompareOptions{
			Measures:   []measure.Measure{measure.QMean{}},
			Algorithms: []string{"nope"}, Splits: 1, TrainShare: 0.7,
		}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("unknown algorithm: %v", err)
	}
}

// The plug-in's threshold for a second measure, tuned on a shared model, is that of a fit of its
// own.
func TestCompareSharesModelsRightly(t *testing.T) {
	data := asData(t, stream(43, 3000))
	opt := CompareOptions{
		Measures:   []measure.Measure{measure.FBeta{B: 1}, measure.QMean{}},
		Algorithms: []string{"plugin"}, Splits: 1, TrainShare: 0.7, Seed: 4,
	}
	both, err := Compare(context.Background(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Measures = opt.Measures[1:]
	alone, err := Compare(context.Background(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if both.Cells[1].Mean != alone.Cells[0].Mean {
		t.Errorf("Q-mean %v beside F1, %v alone", both.Cells[1].Mean, alone.Cells[0].Mean)
	}
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
