package classify

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
)

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
// with the prior is level with one trained on the whole, for every algorithm that looks at θ;
// without the prior it is not.
func TestPriorPositives(t *testing.T) {
	testsize.NoRace(t)
	const p = 0.02
	population, balanced := subsample(1, 60_000, p)
	test, _ := subsample(2, 60_000, p)
	ctx := context.Background()
	f1 := measure.FBeta{B: 1}
	value := func(xs []Example, algorithm string, prior float64) float64 {
		r, err := Fit(ctx, asData(t, xs), Options{Measure: f1, Algorithm: algorithm, PriorPositives: prior, Folds: 1})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Evaluate(ctx, asData(t, test), &r.Model)
		if err != nil {
			t.Fatal(err)
		}
		return f1.Value(c)
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
	c, err := Evaluate(ctx, asData(t, test), &m)
	if err != nil {
		t.Fatal(err)
	}
	if v := f1.Value(c); v < whole-0.1 {
		t.Errorf("online: F1 %.3f, %.3f on the whole", v, whole)
	}
}

// θ and the class weights follow the whole stream, not its first examples, which here are all
// negative.
func TestRunningClassShares(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	stamp := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 500})
	sgd, err := NewSGD(SGDConfig{Balanced: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40_000 {
		x := Example{
			Index: []uint32{0}, Value: []float32{float32(r.NormFloat64())}, Weight: 1,
			Positive: i >= 1000 && r.Float64() < 0.3,
		}
		if x.Positive {
			x.Value[0] += 2
		}
		feed(t, stamp, []Example{x})
		feed(t, sgd, []Example{x})
	}
	p, n := sgd.Seen()
	near(t, "θ", stamp.coef.Theta, n/p, 1e-9)
	near(t, "k₊/k₋", sgd.kPos/sgd.kNeg, n/p, 1e-9)
	if stamp.Level() < 0.6 {
		t.Errorf("level %.3f, want about 0.7", stamp.Level())
	}
}

// The cap holds for the factor of one example's gradient and leaves plain SGD, whose factors are 1,
// alone.
func TestMaxExampleWeight(t *testing.T) {
	build := func(limit float64, balanced bool) *SGD {
		l, err := NewSGD(SGDConfig{Balanced: balanced, Config: Config{
			Positives: 0.01, Scaling: Identity(1), MeanSquare: 1, MaxExampleWeight: limit, NoIntercept: true,
		}})
		if err != nil {
			t.Fatal(err)
		}
		feed(t, l, []Example{{[]uint32{0}, []float32{1}, true, 1}})
		return l
	}
	weight := func(l *SGD) float64 { w, _ := l.lin.Average(); return w[0] + l.lin.Weight(0) }
	near(t, "plain step", weight(build(3, false)), weight(build(0, false)), 0)
	free, capped := weight(build(0, true)), weight(build(3, true))
	if k := build(0, true).kPos; k < 4 {
		t.Fatalf("k₊ is %v: the test shows nothing", k)
	}
	near(t, "balanced step, capped", capped, free*3/build(0, true).kPos, 1e-12)
}

// Without an intercept an empty row scores 0, whatever the columns' means.
func TestNoInterceptMeansNone(t *testing.T) {
	eachLearner(t, Config{NoIntercept: true}, func(t *testing.T, build func() Learner) {
		l := build()
		feed(t, l, stream(51, 3000))
		if m := l.Model(); m.Intercept != 0 {
			t.Errorf("intercept %v", m.Intercept)
		}
		if z := l.Score(nil, nil); z != 0 {
			t.Errorf("an empty row scores %v", z)
		}
	})
	r, err := Fit(context.Background(), asData(t, stream(51, 1000)),
		Options{Measure: measure.GMean{}, Algorithm: "logistic", Config: Config{NoIntercept: true}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Model.Intercept != 0 {
		t.Errorf("logistic: intercept %v", r.Model.Intercept)
	}
}

// Weighted recalls of the same ratio have the same optimiser and take the same path.
func TestRecallsAreScaleFree(t *testing.T) {
	path := func(m measure.WeightedRecall) Linear {
		l, err := NewSPADE(SPADEConfig{Measure: m})
		if err != nil {
			t.Fatal(err)
		}
		feed(t, l, stream(52, 2000))
		return l.Model()
	}
	want := path(measure.BalancedAccuracy())
	for _, c := range []float64{1, 0.0078125, 64} {
		if got := path(measure.WeightedRecall{C1: c, C2: c}); !sameModel(got, want) {
			t.Errorf("recalls:%v,%v took another path than balanced accuracy", c, c)
		}
	}
}

// A given scaling may be shorter than the data, whose further features then stay as they are; a
// broken one is refused.
func TestGivenScaling(t *testing.T) {
	eachLearner(t, Config{Scaling: Identity(0)}, func(t *testing.T, build func() Learner) {
		l := build()
		for _, x := range stream(53, 1500) {
			x.Index, x.Value = x.Index[2:], x.Value[2:] // leave the column of a million out
			feed(t, l, []Example{x})
		}
		for _, w := range l.Model().Weights {
			if math.IsNaN(w) {
				t.Fatal("NaN in the model")
			}
		}
	})
	for name, s := range map[string]*Scaling{
		"no centres": {Inverse: []float64{1}},
		"NaN":        {Center: []float64{0}, Inverse: []float64{math.NaN()}},
		"zero":       {Center: []float64{0}, Inverse: []float64{0}},
		"infinite":   {Center: []float64{math.Inf(1)}, Inverse: []float64{1}},
	} {
		if _, err := NewSGD(SGDConfig{Config: Config{Scaling: s}}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s: got %v, want an error of code usage", name, err)
		}
	}
}

// Absurd examples are refused or end the learner with an error; none brings a NaN model or takes
// all memory.
func TestAbsurdExamples(t *testing.T) {
	eachLearner(t, Config{}, func(t *testing.T, build func() Learner) {
		l := build()
		if err := l.Observe(Example{[]uint32{4294967295}, []float32{1}, true, 1}); noregret.CodeOf(
			err) != noregret.BadInput || !strings.Contains(err.Error(), "largest dimension") {
			t.Errorf("a huge index: %v", err)
		}
		if err := l.Observe(Example{[]uint32{0}, []float32{1}, true, 1e308}); noregret.CodeOf(
			err) != noregret.BadInput {
			t.Errorf("a huge weight: %v", err)
		}
	})
	for name, c := range map[string]Config{
		"step":   {Step: 1e300, Scaling: Identity(1), MeanSquare: 1},
		"weight": {Positives: 0.5, Scaling: Identity(1), MeanSquare: 1, MeanWeight: 1e-60},
	} {
		l, err := NewSPADE(SPADEConfig{Measure: measure.QMean{}, Config: c})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if err = l.Observe(Example{[]uint32{0}, []float32{1e30}, true, 1e99}); err != nil {
				break
			}
		}
		if noregret.CodeOf(err) != noregret.Diverged {
			t.Errorf("%s: got %v, want an error of code diverged", name, err)
		}
	}
	l, err := NewSPADE(SPADEConfig{Measure: measure.QMean{}, Config: Config{BurnIn: 1}})
	if err != nil {
		t.Fatal(err)
	}
	feed(t, l, []Example{{[]uint32{0}, []float32{1}, true, 1e17}, {[]uint32{0}, []float32{1}, false, 1}})
	for _, w := range l.Model().Weights {
		if math.IsNaN(w) {
			t.Error("weights of 1e17 and 1 make a NaN model")
		}
	}
}

// A stream of nothing but weight 0 is an error at its end.
func TestAllWeightsZero(t *testing.T) {
	eachLearner(t, Config{}, func(t *testing.T, build func() Learner) {
		l := build()
		feed(t, l, []Example{{Index: []uint32{0}, Value: []float32{1}}, {Index: []uint32{1}, Value: []float32{1}}})
		if err := l.Finish(); noregret.CodeOf(err) != noregret.BadInput ||
			!strings.Contains(err.Error(), "all 2 examples have weight 0") {
			t.Errorf("got %v", err)
		}
	})
}

// STAMP's score is that of its model at every moment, and its models are copies.
func TestSTAMPScoreIsModelScore(t *testing.T) {
	l := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 100})
	xs := stream(54, 3000)
	for i, x := range xs {
		feed(t, l, []Example{x})
		if i%37 == 0 && i > 300 {
			m := l.Model()
			near(t, "score", l.Score(x.Index, x.Value), m.Score(x.Index, x.Value), 1e-6)
			for j := range m.Weights {
				m.Weights[j] = 1e9
			}
			for _, c := range l.Checkpoints() {
				clear(c.Model.Weights)
			}
			clear(l.Current().Weights)
		}
	}
	again := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 100})
	feed(t, again, xs)
	if !sameModel(l.Model(), again.Model()) {
		t.Error("writing to returned models changed the learner")
	}
}

// Stages grow by at least one example, and the number of checkpoints is bounded.
func TestStagesGrow(t *testing.T) {
	l := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 1, Growth: 1.5, Config: Config{BurnIn: 10}})
	feed(t, l, stream(55, 20_000))
	if n := len(l.Checkpoints()); n > 40 {
		t.Errorf("growth 1.5 from 1: %d checkpoints", n)
	}
	l = newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 10, Growth: 1, Config: Config{BurnIn: 10}})
	feed(t, l, stream(55, 20_000))
	if n := len(l.Checkpoints()); n > maxCheckpoints+1 {
		t.Errorf("growth 1: %d checkpoints kept", n)
	}
	newSTAMP(t, STAMPConfig{
		Measure: measure.FBeta{B: 1},
		Config:  Config{Positives: 1e-300, Scaling: Identity(1), MeanSquare: 1},
	})
}

func TestTuneThresholdRefusesNonFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		th, v := TuneThreshold([]Scored{{bad, 1, true}, {1, 1, false}}, measure.FBeta{B: 1})
		if th != 0 || !math.IsNaN(v) {
			t.Errorf("score %v: threshold %v, value %v; want 0, NaN", bad, th, v)
		}
	}
}

func TestDataIsChecked(t *testing.T) {
	ctx := context.Background()
	good := asData(t, stream(56, 100))
	m := Linear{Weights: make([]float64, 13)}
	for name, d := range map[string]Data{
		"no set": {}, "no such label": {Set: good.Set, Positive: 7},
		"negative label": {Set: good.Set, Positive: -1},
	} {
		if _, err := Evaluate(ctx, d, &m); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("Evaluate, %s: %v", name, err)
		}
		if _, _, err := Tune(ctx, d, &m, measure.GMean{}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("Tune, %s: %v", name, err)
		}
		if _, err := Fit(ctx, d, Options{Measure: measure.GMean{}}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("Fit, %s: %v", name, err)
		}
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
	opt := Options{Measure: measure.GMean{}, Passes: 4, Config: Config{Averaging: AverageLastHalf}}
	r, err := Fit(context.Background(), train, opt)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewSPADE(SPADEConfig{Measure: measure.GMean{}, Config: Config{
		Dim: 13, Scaling: r.Scaling, Positives: r.Train.Share(), MeanWeight: 1,
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
		if err := train.shuffled(context.Background(), 0, pass, l.Observe); err != nil {
			t.Fatal(err)
		}
		l.NextPass()
	}
	if !sameModel(l.Model(), r.Model) {
		t.Error("the model is not the average of the last half")
	}
	r,
		err = Fit(context.Background(), train, Options{
		Measure: measure.GMean{}, Passes: 12, TuneSteps: true,
		Holdout: 0.2, Patience: 3,
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

// The prior steadies the estimate of p, and decay follows a changing share.
func TestPriorAndDecay(t *testing.T) {
	build := func(c Config) *SGD {
		c.Reward = loss.Logistic{}
		l, err := NewSGD(SGDConfig{Config: c})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	xs := stream(59, 500)
	l := build(Config{PriorWeight: 500, PriorShare: 0.5})
	feed(t, l, xs)
	pos, _ := l.Seen()
	p, n := l.shares()
	near(t, "p̂ with a prior", p, (pos+250)/1000, 1e-12)
	near(t, "p̂ + q̂", p+n, 1, 1e-12)
	l = build(Config{Decay: 0.01})
	for i := range 4000 {
		x := xs[i%len(xs)]
		x.Positive = i < 2000
		feed(t, l, []Example{x})
	}
	if p, n := l.shares(); p != minDecayedShare || n < 0.99 {
		t.Errorf("2000 examples after the last positive: shares %v and %v", p, n)
	}
}
