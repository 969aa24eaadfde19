package classify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/loss"
)

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

// Extreme examples are refused or end the learner with an error; none gives a NaN model or exhausts
// the memory.
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

// A stream whose examples all have weight 0 is an error at its end.
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

// The prior smooths the estimate of p, and decay follows a changing share.
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

// Bad examples are refused with their place and leave the learner as it was.
func TestBadExamplesChangeNothing(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	bad := []struct {
		x    Example
		want string
	}{
		{Example{[]uint32{0, 3}, []float32{1, nan}, true, 1}, "entry 1: value is NaN, want a finite number"},
		{Example{[]uint32{0}, []float32{inf}, true, 1}, "entry 0: value is +Inf, want a finite number"},
		{Example{[]uint32{0, 1}, []float32{1}, true, 1}, "2 indices and 1 values, want the same number"},
		{Example{[]uint32{0, 20}, []float32{1, 1}, true, 1}, "entry 1: index is 20, want one below the dimension 13"},
		{Example{[]uint32{2, 2}, []float32{1, 1}, true, 1}, "entry 1: index 2 appears twice, want each at most once"},
		{
			Example{[]uint32{3, 2, 3}, []float32{1, 1, 1}, true, 1},
			"entry 2: index 3 appears twice, want each at most once",
		},
		{Example{[]uint32{1}, []float32{1}, true, -1}, "weight is -1, want a finite number ≥ 0"},
		{Example{[]uint32{1}, []float32{1}, true, math.NaN()}, "weight is NaN, want a finite number ≥ 0"},
		{Example{[]uint32{1}, []float32{1}, true, math.Inf(1)}, "weight is +Inf, want a finite number ≥ 0"},
	}
	eachLearner(t, Config{Dim: 13}, func(t *testing.T, build func() Learner) {
		for _, warm := range []int{0, 100, 600} {
			l := build()
			feed(t, l, stream(5, warm))
			before, err := l.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			for _, tc := range bad {
				err := l.Observe(tc.x)
				want := fmt.Sprintf("example %d", warm+1)
				if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), tc.want) ||
					noregret.CodeOf(err) != noregret.BadInput {
					t.Errorf("got %v, want %s ... %s", err, want, tc.want)
				}
			}
			after, err := l.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if string(before) != string(after) {
				t.Errorf("after %d examples: a refused example changed the state", warm)
			}
			// Weight 0 is skipped entirely: t does not advance.
			if err := l.Observe(Example{[]uint32{1}, []float32{1}, true, 0}); err != nil {
				t.Error(err)
			}
			twin := build()
			feed(t, twin, stream(5, warm))
			feed(t, l, stream(6, 300))
			feed(t, twin, stream(6, 300))
			if !sameModel(l.Model(), twin.Model()) {
				t.Errorf("after %d examples: an example of weight 0 changed the model", warm)
			}
		}
	})
}

// Unsorted entries are allowed and change nothing, nor do explicit zeros; empty rows are valid.
func TestRowForms(t *testing.T) {
	eachLearner(t, Config{}, func(t *testing.T, build func() Learner) {
		a, b := build(), build()
		xs := stream(6, 2000)
		r := rand.New(rand.NewPCG(1, 1))
		for i, x := range xs {
			if i%100 == 0 {
				x.Index, x.Value = nil, nil
			}
			if err := a.Observe(x); err != nil {
				t.Fatal(err)
			}
			y := Example{append([]uint32(nil), x.Index...), append([]float32(nil), x.Value...), x.Positive, x.Weight}
			y.Index, y.Value = append(y.Index, 13), append(y.Value, 0)
			r.Shuffle(len(y.Index), func(i, j int) {
				y.Index[i], y.Index[j] = y.Index[j], y.Index[i]
				y.Value[i], y.Value[j] = y.Value[j], y.Value[i]
			})
			if err := b.Observe(y); err != nil {
				t.Fatal(err)
			}
		}
		ma, mb := a.Model(), b.Model()
		if len(mb.Weights) != 14 || mb.Weights[13] != 0 {
			t.Fatalf("weights of the zero feature: %v", mb.Weights[len(ma.Weights):])
		}
		mb.Weights = mb.Weights[:len(ma.Weights)]
		if !sameModel(ma, mb) {
			t.Error("order of entries or explicit zeros changed the model")
		}
	})
}

// The averaged score of the learner is the score of its model, also while features keep appearing
// and being rescaled.
func TestScoreIsModelScore(t *testing.T) {
	for _, c := range []Config{
		{},
		{Averaging: AverageNone},
		{Averaging: AverageLastPass, Lambda: 0.1},
		{NoIntercept: true, Radius: 1},
	} {
		eachLearner(t, c, func(t *testing.T, build func() Learner) {
			l := build()
			xs := stream(9, 1500)
			for i := range xs { // new sparse features late in the stream
				if i > 700 && i%3 == 0 {
					xs[i].Index = append(xs[i].Index, uint32(20+i%50))
					xs[i].Value = append(xs[i].Value, float32(100*(i%7+1)))
				}
			}
			for i := 0; i < len(xs); i += 500 {
				feed(t, l, xs[i:i+500])
				m := l.Model()
				if s, stamp := l.(*STAMP); stamp && s.cfg.Window == 0 {
					m = s.current
					if m.Weights == nil {
						continue
					}
				}
				// Centring costs digits: ‖μ/σ‖² is 1e6 here, for a column 1000 standard deviations
				// away from 0.
				for _, x := range xs[:20] {
					near(t, "score", l.Score(x.Index, x.Value), m.Score(x.Index, x.Value), 1e-12*1e6)
				}
				l.NextPass()
			}
		})
	}
}

// Scoring accepts entries in any order, ignores features never seen, works at any time and changes
// no state.
func TestScoreUnseen(t *testing.T) {
	for _, c := range []Config{{}, {Averaging: AverageNone}} {
		eachLearner(t, c, func(t *testing.T, build func() Learner) {
			l := build()
			for _, n := range []int{0, 100, 1000} {
				feed(t, l, stream(14, n))
				before, err := l.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				want := l.Score([]uint32{2, 3}, []float32{1, 1})
				if got := l.Score([]uint32{900, 3, 2}, []float32{5, 1, 1}); got-want > 1e-9 || want-got > 1e-9 {
					t.Errorf("after %d: score %v with an unseen feature, %v without", n, got, want)
				}
				after, err := l.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				if string(before) != string(after) {
					t.Error("scoring changed the learner")
				}
			}
		})
	}
}

// A step size that is far too large is an error, not a NaN model.
func TestDivergence(t *testing.T) {
	l,
		err := NewSGD(SGDConfig{Config: Config{
		Step: 1e80, Reward: loss.SquaredHinge{}, Scaling: Identity(13),
		MeanSquare: 1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range stream(11, 100) {
		if err = l.Observe(x); err != nil {
			break
		}
	}
	if noregret.CodeOf(err) != noregret.Diverged || !strings.Contains(err.Error(), "lower the step scale") {
		t.Fatalf("got %v, want an error of code diverged", err)
	}
	if again := l.Observe(stream(11, 1)[0]); again == nil {
		t.Error("the learner went on after it had diverged")
	}
}

// A stream may start with one class only and be short: the learner reports what it saw.
func TestOneClassStream(t *testing.T) {
	eachLearner(t, Config{}, func(t *testing.T, build func() Learner) {
		l := build()
		for _, x := range stream(12, 300) {
			x.Positive = false
			if err := l.Observe(x); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Finish(); err != nil {
			t.Fatal(err)
		}
		all := 300.0
		if o := onlineOf(l); o.cfg.Decay > 0 {
			all = (1 - math.Pow(1-o.cfg.Decay, 300)) / o.cfg.Decay
		}
		if p, n := l.Seen(); p != 0 || math.Abs(n-all) > 1e-9 {
			t.Errorf("saw %v positives and %v negatives", p, n)
		}
		for _, w := range l.Model().Weights {
			if math.IsNaN(w) {
				t.Fatal("NaN in the model")
			}
		}
	})
}
