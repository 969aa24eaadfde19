package classify

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
)

func init() { testsize.Rapid(25) }

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
	"spade qmean, betting": func(c Config) (Learner, error) {
		return NewSPADE(SPADEConfig{Config: betting(c), Measure: measure.QMean{}})
	},
	"stamp f1, betting": func(c Config) (Learner, error) {
		return NewSTAMP(STAMPConfig{Config: betting(c), Measure: measure.FBeta{B: 1}, FirstEpoch: 20})
	},
	"sgd, betting": func(c Config) (Learner, error) { return NewSGD(SGDConfig{Config: betting(c)}) },
	"sgd":          func(c Config) (Learner, error) { return NewSGD(SGDConfig{Config: c}) },
	"sgd, window":  func(c Config) (Learner, error) { return NewSGD(SGDConfig{Config: windowed(c)}) },
	"spade min, window": func(c Config) (Learner, error) {
		return NewSPADE(SPADEConfig{Config: windowed(c), Measure: measure.Min{}})
	},
	"stamp f1, adaptive, window": func(c Config) (Learner, error) {
		return NewSTAMP(STAMPConfig{Config: adaptive(windowed(c)), Measure: measure.FBeta{B: 1}, FirstEpoch: 20})
	},
	"sgd balanced": func(c Config) (Learner, error) { return NewSGD(SGDConfig{Config: c, Balanced: true}) },
}

// windowed returns c with a window of 200 examples.
func windowed(c Config) Config {
	c.Window = 200
	return c
}

// adaptive returns c with adaptive steps. It replaces the options that these exclude by others, so
// that different options stay different.
func adaptive(c Config) Config {
	if c.Radius > 0 || c.Lambda > 0 {
		c.MaxExampleWeight = 1000*c.Radius + 20_000*c.Lambda
	}
	c.Steps, c.Radius, c.Lambda = StepsAdaptive, 0, 0
	return c
}

// betting returns c with coin betting, as adaptive does.
func betting(c Config) Config {
	if c.StepScale > 0 || c.Step > 0 {
		c.MaxExampleWeight += 100*c.StepScale + 3000*c.Step
	}
	c = adaptive(c)
	c.Steps, c.StepScale, c.Step = StepsBetting, 0, 0
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
			scores[i] = Scored{Score: m.Score(x.Index, x.Value), Weight: 1, Positive: x.Positive}
		}
		if _, v := TuneThreshold(scores, measure.BalancedAccuracy()); v < 0.8 {
			t.Errorf("balanced accuracy %.3f at the best threshold, want at least 0.8", v)
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

// Observe allocates nothing once its vectors have grown to their size.
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
