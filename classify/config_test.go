package classify

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/loss"
)

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
		"radius": func() (any, error) { return NewSGD(SGDConfig{Config: Config{Radius: -1}}) },
		"lambda": func() (any, error) { return NewSGD(SGDConfig{Config: Config{Lambda: -1}}) },
		"p":      func() (any, error) { return NewSGD(SGDConfig{Config: Config{Positives: 1}}) },
		"reward": func() (any, error) { return NewSGD(SGDConfig{Config: Config{Reward: loss.ZeroOne{}}}) },
		"class weights": func() (any, error) {
			return NewSGD(SGDConfig{Weights: &ClassWeights{Positive: -1, Negative: 1}})
		},
		"no class weight": func() (any, error) { return NewSGD(SGDConfig{Weights: &ClassWeights{}}) },
		"averaging":       func() (any, error) { return NewSGD(SGDConfig{Config: Config{Averaging: 7}}) },
		"burn-in":         func() (any, error) { return NewSGD(SGDConfig{Config: Config{BurnIn: -1}}) },
		"dimension":       func() (any, error) { return NewSGD(SGDConfig{Config: Config{Dim: -1}}) },
		"scaling too large": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Dim: 1, Scaling: Identity(2)}})
		},
		"growth":          func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, Growth: 0.5}) },
		"first epoch":     func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, FirstEpoch: -1}) },
		"min positives":   func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, MinPositives: -1}) },
		"level positives": func() (any, error) { return NewSTAMP(STAMPConfig{Measure: f, LevelPositives: -1}) },
		"steps":           func() (any, error) { return NewSGD(SGDConfig{Config: Config{Steps: 4}}) },
		"adaptive, ball": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Steps: StepsAdaptive, Radius: 1}})
		},
		"betting, ball": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Steps: StepsBetting, Radius: 1}})
		},
		"betting, lambda": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Steps: StepsBetting, Lambda: 1}})
		},
		"betting, step": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Steps: StepsBetting, Step: 1}})
		},
		"betting, step scale": func() (any, error) {
			return NewSGD(SGDConfig{Config: Config{Steps: StepsBetting, StepScale: 2}})
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

// The cap limits the factor of one example's gradient. It does not change plain SGD, whose factors
// are 1.
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
	if r.Models[0].Intercept != 0 {
		t.Errorf("logistic: intercept %v", r.Models[0].Intercept)
	}
}
