package classify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

// learners makes one of each online learner with the shared options.
var learners = map[string]func(c Config) (Learner, error){
	"spade qmean": func(c Config) (Learner, error) {
		return NewSPADE(SPADEConfig{Config: c, Measure: measure.QMean{}})
	},
	"spade gmean": func(c Config) (Learner, error) {
		return NewSPADE(SPADEConfig{Config: c, Measure: measure.GMean{}})
	},
	"spade min, fixed dual": func(c Config) (Learner, error) {
		return NewSPADE(SPADEConfig{Config: c, Measure: measure.Min{}, FixedDual: true})
	},
	"stamp f1": func(c Config) (Learner, error) {
		return NewSTAMP(STAMPConfig{Config: c, Measure: measure.FBeta{B: 1}, FirstEpoch: 20})
	},
	"stamp kappa": func(c Config) (Learner, error) {
		return NewSTAMP(STAMPConfig{Config: c, Measure: measure.Kappa{}, Growth: 1.5})
	},
	"stamp f1, adaptive": func(c Config) (Learner, error) {
		c = adaptive(c)
		return NewSTAMP(STAMPConfig{Config: c, Measure: measure.FBeta{B: 1}, FirstEpoch: 20, LevelPositives: 3})
	},
	"spade min, adaptive": func(c Config) (Learner, error) {
		c = adaptive(c)
		return NewSPADE(SPADEConfig{Config: c, Measure: measure.Min{}})
	},
	"sgd":          func(c Config) (Learner, error) { return NewSGD(SGDConfig{Config: c}) },
	"sgd balanced": func(c Config) (Learner, error) { return NewSGD(SGDConfig{Config: c, Balanced: true}) },
}

// adaptive is c with adaptive steps; the options that these exclude become others, so that
// different options stay so.
func adaptive(c Config) Config {
	if c.Radius > 0 || c.Lambda > 0 {
		c.MaxExampleWeight = 1000*c.Radius + 20_000*c.Lambda
	}
	c.Steps, c.Radius, c.Lambda = StepsAdaptive, 0, 0
	return c
}

func eachLearner(t *testing.T, c Config, f func(t *testing.T, make func() Learner)) {
	for name, build := range learners {
		t.Run(name, func(t *testing.T) {
			f(t, func() Learner {
				l, err := build(c)
				if err != nil {
					t.Fatal(err)
				}
				return l
			})
		})
	}
}

// stream is a seeded imbalanced stream with sparse, dense, tiny and large columns.
func stream(seed uint64, n int) []Example {
	r := rand.New(rand.NewPCG(seed, 77))
	out := make([]Example, n)
	for i := range out {
		positive := r.Float64() < 0.2
		shift := 0.0
		if positive {
			shift = 1
		}
		x := Example{Positive: positive, Weight: 1}
		add := func(j uint32, v float64) {
			x.Index = append(x.Index, j)
			x.Value = append(x.Value, float32(v))
		}
		add(0, 1e6+1e3*(r.NormFloat64()+shift))
		add(1, 1e-6*(r.NormFloat64()+shift))
		for j := uint32(2); j < 12; j++ {
			if r.Float64() < 0.15+0.2*shift*float64(j%2) {
				add(j, 1)
			}
		}
		add(12, math.Exp(r.NormFloat64()+shift))
		out[i] = x
	}
	return out
}

func feed(t *testing.T, l Learner, xs []Example) {
	t.Helper()
	for i, x := range xs {
		if err := l.Observe(x); err != nil {
			t.Fatalf("example %d: %v", i, err)
		}
	}
}

func sameModel(a, b Linear) bool {
	return reflect.DeepEqual(a, b)
}

// Every learner learns: its model is far better than chance on fresh examples of the stream, for
// raw columns from 1e-6 to 1e6.
func TestLearnersLearn(t *testing.T) {
	test := stream(2, 4000)
	eachLearner(t, Config{}, func(t *testing.T, build func() Learner) {
		l := build()
		feed(t, l, stream(1, 8000))
		m := l.Model()
		scores := make([]Scored, len(test))
		for i, x := range test {
			scores[i] = Scored{m.Score(x.Index, x.Value), 1, x.Positive}
		}
		if _, v := TuneThreshold(scores, measure.BalancedAccuracy()); v < 0.8 {
			t.Errorf("balanced accuracy %.3f at the best threshold, want at least 0.8", v)
		}
	})
}

// A snapshot restored into a fresh learner continues bit for bit, at any moment: in the burn-in, at
// its end, later.
func TestRestoreContinues(t *testing.T) {
	t.Parallel()
	xs := stream(3, 3000)
	for _, c := range []Config{{}, {Radius: 2}, {Lambda: 0.01, Averaging: AverageLastPass}} {
		eachLearner(t, c, func(t *testing.T, build func() Learner) {
			cuts := []int{0, 50, 199, 200, 777, 1500}
			for _, cut := range cuts[testsize.Of(0, 2):] {
				a := build()
				feed(t, a, xs[:cut])
				state, err := a.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				b := build()
				if err := b.UnmarshalBinary(state); err != nil {
					t.Fatal(err)
				}
				feed(t, a, xs[cut:])
				feed(t, b, xs[cut:])
				if !sameModel(a.Model(), b.Model()) {
					t.Errorf("cut at %d: the restored learner ends elsewhere", cut)
				}
			}
		})
	}
}

func TestSnapshotRefused(t *testing.T) {
	eachLearner(t, Config{}, func(t *testing.T, build func() Learner) {
		a := build()
		feed(t, a, stream(4, 500))
		state, err := a.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		before := a.Model()
		other, err := NewSGD(SGDConfig{PositiveWeight: 3, NegativeWeight: 1})
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{
			"empty": nil, "cut": state[:len(state)/2], "newer": append([]byte("noregret-learner-3\n"), state[19:]...),
			"garbage": []byte("hello"),
		} {
			if err := a.UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%s: got %v, want an error of code bad_input", name, err)
			}
		}
		if err := other.UnmarshalBinary(state); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("other options: got %v", err)
		}
		if !sameModel(a.Model(), before) {
			t.Error("a refused snapshot changed the learner")
		}
	})
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
		{Example{[]uint32{0, 1}, []float32{1}, true, 1}, "2 indices and 1 values, want as many of each"},
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

// Unsorted entries are allowed and mean the same; explicit zeros mean nothing; empty rows are
// valid.
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

// The unit of a column does not matter: scaling columns by powers of two, which is exact in
// floating point, changes no score at all.
func TestUnitsDoNotMatter(t *testing.T) {
	t.Parallel()
	xs := stream(7, testsize.Of(3000, 1500))
	probe := stream(8, 50)
	rapid.Check(t, func(rt *rapid.T) {
		var exp [13]int
		for j := range exp {
			exp[j] = rapid.IntRange(-20, 20).Draw(rt, "exponent")
		}
		scaled := func(x Example) Example {
			v := append([]float32(nil), x.Value...)
			for k, j := range x.Index {
				v[k] = float32(math.Ldexp(float64(v[k]), exp[j]))
			}
			x.Value = v
			return x
		}
		for _, name := range []string{"spade qmean", "stamp f1"} {
			a, err := learners[name](Config{})
			if err != nil {
				rt.Fatal(err)
			}
			b, _ := learners[name](Config{})
			for _, x := range xs {
				if a.Observe(x) != nil || b.Observe(scaled(x)) != nil {
					rt.Fatal("refused")
				}
			}
			ma, mb := a.Model(), b.Model()
			for _, x := range probe {
				y := scaled(x)
				sa, sb := ma.Score(x.Index, x.Value), mb.Score(y.Index, y.Value)
				if math.Abs(sa-sb) > 1e-9*(1+math.Abs(sa)) {
					rt.Fatalf("%s: score %v, with other units %v", name, sa, sb)
				}
			}
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
				if _, stamp := l.(*STAMP); stamp {
					m = l.(*STAMP).current
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

// Scoring takes entries in any order and passes over features never seen, at any moment, and
// changes nothing.
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

// Observe allocates nothing once its vectors have their size.
func TestObserveDoesNotAllocate(t *testing.T) {
	xs := stream(10, 4000)
	eachLearner(t, Config{Dim: 13, Radius: 3, Lambda: 1e-4}, func(t *testing.T, build func() Learner) {
		if strings.Contains(t.Name(), "stamp") {
			build = func() Learner { // one epoch longer than the run
				l,
					err := NewSTAMP(STAMPConfig{
					Config: Config{Dim: 13}, Measure: measure.FBeta{B: 1},
					FirstEpoch: 100_000,
				})
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
		}
		l := build()
		feed(t, l, xs)
		i := 0
		if n := testing.AllocsPerRun(3000, func() {
			if err := l.Observe(xs[i%len(xs)]); err != nil {
				t.Fatal(err)
			}
			i++
		}); n != 0 {
			t.Errorf("%v allocations per example", n)
		}
		if n := testing.AllocsPerRun(100, func() { l.Score(xs[0].Index, xs[0].Value) }); n != 0 {
			t.Errorf("%v allocations per score", n)
		}
	})
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
		if p, n := l.Seen(); p != 0 || n != 300 {
			t.Errorf("saw %v positives and %v negatives", p, n)
		}
		for _, w := range l.Model().Weights {
			if math.IsNaN(w) {
				t.Fatal("NaN in the model")
			}
		}
	})
}

// Integer weights on m-fold duplicated data: the same class shares, class ratio and scaling.
func TestWeightsAsDuplicates(t *testing.T) {
	a, b := new(moments), new(moments)
	la, err := NewSGD(SGDConfig{})
	if err != nil {
		t.Fatal(err)
	}
	lb, err := NewSGD(SGDConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var ca, cb measure.Confusion
	for i, x := range stream(13, 400) {
		k := i%3 + 1
		x.Weight = float64(k)
		feed(t, la, []Example{x})
		a.observe(x.Index, x.Value, x.Weight)
		ca.Add(x.Positive, i%2 == 0, x.Weight)
		x.Weight = 1
		for range k {
			feed(t, lb, []Example{x})
			b.observe(x.Index, x.Value, 1)
			cb.Add(x.Positive, i%2 == 0, 1)
		}
	}
	pa, na := la.Seen()
	pb, nb := lb.Seen()
	if pa != pb || na != nb || ca != cb {
		t.Errorf("class weights %v/%v and %v/%v, confusions %v and %v", pa, na, pb, nb, ca, cb)
	}
	sa, sb := a.scaling(13, true), b.scaling(13, true)
	for i := range sa.Inverse {
		near(t, "scale", sa.Inverse[i]/sb.Inverse[i], 1, 1e-9)
		near(t, "centre", (sa.Center[i]-sb.Center[i])*sa.Inverse[i], 0, 1e-9)
	}
}

func TestConstructorsRefuse(t *testing.T) {
	q, f := measure.QMean{}, measure.FBeta{B: 1}
	for name, build := range map[string]func() (any, error){
		"no measure":  func() (any, error) { return NewSPADE(SPADEConfig{}) },
		"no ratio":    func() (any, error) { return NewSTAMP(STAMPConfig{}) },
		"dual scale":  func() (any, error) { return NewSPADE(SPADEConfig{Measure: q, DualScale: -1}) },
		"eps":         func() (any, error) { return NewSPADE(SPADEConfig{Measure: q, EpsExponent: 1}) },
		"dual reward": func() (any, error) { return NewSPADE(SPADEConfig{Measure: q, DualReward: 9}) },
		"step scale": func() (any, error) {
			return NewSPADE(SPADEConfig{Measure: q, Config: Config{StepScale: -1}})
		},
		"step NaN": func() (any, error) {
			return NewSPADE(SPADEConfig{Measure: q, Config: Config{Step: math.NaN()}})
		},
		"radius":        func() (any, error) { return NewSGD(SGDConfig{Config: Config{Radius: -1}}) },
		"lambda":        func() (any, error) { return NewSGD(SGDConfig{Config: Config{Lambda: -1}}) },
		"p":             func() (any, error) { return NewSGD(SGDConfig{Config: Config{Positives: 1}}) },
		"reward":        func() (any, error) { return NewSGD(SGDConfig{Config: Config{Reward: loss.ZeroOne{}}}) },
		"class weights": func() (any, error) { return NewSGD(SGDConfig{PositiveWeight: -1, NegativeWeight: 1}) },
		"averaging":     func() (any, error) { return NewSGD(SGDConfig{Config: Config{Averaging: 7}}) },
		"burn-in":       func() (any, error) { return NewSGD(SGDConfig{Config: Config{BurnIn: -1}}) },
		"dimension":     func() (any, error) { return NewSGD(SGDConfig{Config: Config{Dim: -1}}) },
		"scaling too large": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Dim: 1, Scaling: Identity(2)}})
		},
		"growth":          func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, Growth: 0.5}) },
		"first epoch":     func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, FirstEpoch: -1}) },
		"min positives":   func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, MinPositives: -1}) },
		"level positives": func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, LevelPositives: -1}) },
		"steps":           func() (any, error) { return NewSGD(SGDConfig{Config: Config{Steps: 3}}) },
		"adaptive, ball": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Steps: StepsAdaptive, Radius: 1}})
		},
		"adaptive, lambda": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Steps: StepsAdaptive, Lambda: 1}})
		},
		"adaptive, classes": func() (any, error) {
			return NewMulticlassSPADE(MulticlassConfig{
				Config:  Config{Steps: StepsAdaptive},
				Measure: measure.MulticlassMin{}, Classes: 3,
			})
		},
		"adaptive, micro": func() (any, error) {
			return NewMultilabel(MultilabelConfig{
				STAMPConfig: STAMPConfig{Measure: f, Config: Config{Steps: StepsAdaptive}}, Labels: 3,
				Average: MicroAverage,
			})
		},
		"prior":      func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, PriorPositives: 1}) },
		"warm start": func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, WarmStart: 2}) },
		"degenerate": func() (any, error) { return NewSTAMP(STAMPConfig{Measure: measure.Precision{}}) },
	} {
		if _, err := build(); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s: got %v, want an error of code usage", name, err)
		}
	}
	if _, err := NewSTAMP(STAMPConfig{Measure: measure.Precision{}, AllowDegenerate: true}); err != nil {
		t.Error(err)
	}
}
