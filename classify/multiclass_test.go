package classify

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
)

// gaussianClasses draws n examples of classes with the given shares, centres and one common spread
// per class.
func gaussianClasses(seed uint64, n int, shares []float64, centre [][]float64, spread []float64) []LabelsExample {
	r := random.New(seed, "classes")
	rows := make([]LabelsExample, n)
	for i := range rows {
		u, k := r.Float64(), 0
		for u >= shares[k] && k < len(shares)-1 {
			u -= shares[k]
			k++
		}
		x := LabelsExample{Labels: []int{k}, Weight: 1}
		for j, c := range centre[k] {
			x.Index = append(x.Index, uint32(j))
			x.Value = append(x.Value, float32(c+spread[k]*r.NormFloat64()))
		}
		rows[i] = x
	}
	return rows
}

func twoClasses(seed uint64, n int) []LabelsExample {
	return gaussianClasses(seed, n, []float64{.75, .25}, [][]float64{{0, 0, 0}, {1, .5, 0}}, []float64{1, 1.5})
}

// binarySPADE is a SPADE that has learned from the rows, with the second class as the positive one.
func binarySPADE(t *testing.T, opt SPADEConfig, rows []LabelsExample) *SPADE {
	t.Helper()
	s, err := NewSPADE(opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range rows {
		if err := s.Observe(Example{x.Index, x.Value, x.Labels[0] == 1, x.Weight}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func multiSPADE(t *testing.T, opt MulticlassConfig, rows []LabelsExample) *MulticlassSPADE {
	t.Helper()
	s, err := NewMulticlassSPADE(opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range rows {
		if err := s.Observe(x); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// With two classes, w₁ = -w₀ exactly, z₁ - z₀ is the score of SPADE with twice the step and half
// the λ (the default η₀ is half of SPADE's), and the dual is SPADE's. With a fixed dual and known
// shares this holds bit for bit, with and without averaging; with a moving dual, whose projections
// round differently, to 1e-9.
func TestMulticlassOfTwoIsSPADE(t *testing.T) {
	rows, fresh := twoClasses(1, 3000), twoClasses(2, 2000)
	for _, tc := range []struct {
		multi measure.MulticlassConcave
		two   measure.Concave
		tol   float64
		more  func(*Config)
	}{
		{measure.MacroRecall{}, measure.BalancedAccuracy(), 0, func(*Config) {}},
		{measure.MacroRecall{}, measure.BalancedAccuracy(), 0, func(c *Config) { c.Averaging = AverageNone }},
		{measure.MacroRecall{}, measure.BalancedAccuracy(), 0, func(c *Config) { c.Lambda = 0.125 }},
		{measure.MulticlassMin{}, measure.Min{}, 1e-9, func(*Config) {}},
		{measure.MulticlassQMean{}, measure.QMean{}, 1e-9, func(*Config) {}},
		{measure.MulticlassHMean{}, measure.HMean{}, 1e-9, func(c *Config) { c.Reward = loss.Logistic{} }},
		{measure.MulticlassGMean{}, measure.GMean{}, 1e-9, func(c *Config) { c.Averaging = AverageLastPass }},
		{measure.MulticlassMin{}, measure.Min{}, 1e-9, func(c *Config) { c.MaxExampleWeight = 2 }},
	} {
		two := SPADEConfig{Config: Config{Positives: 0.25}, Measure: tc.two}
		if tc.more(&two.Config); tc.tol == 0 {
			two.Step = 0.25
		}
		multi := MulticlassConfig{Config: two.Config, Classes: 2, Measure: tc.multi, Shares: []float64{.75, .25}}
		multi.Positives, multi.Step, multi.Lambda = 0, two.Step/2, 2*two.Lambda
		a, b := binarySPADE(t, two, rows), multiSPADE(t, multi, rows)
		for _, x := range fresh {
			z := b.Scores(nil, x.Index, x.Value)
			if z[0] != -z[1] {
				t.Fatalf("%s: scores %v are not opposite", tc.multi.Name(), z)
			}
			want := a.Score(x.Index, x.Value)
			if !(math.Abs(z[1]-z[0]-want) <= tc.tol) {
				t.Fatalf("%s: score %v, want %v", tc.multi.Name(), z[1]-z[0], want)
			}
			if got := b.Predict(x.Index, x.Value) == 1; got != (want > 0) {
				t.Fatalf("%s: decision %v at score %v", tc.multi.Name(), got, want)
			}
		}
		near(t, "step", b.eta0, a.eta0/2, 1e-15)
		near(t, "dual step", b.dual0, a.dual0, 1e-15)
		dual := b.Dual(nil)
		be, al := a.Dual()
		if !(math.Abs(dual[0]-al) <= tc.tol && math.Abs(dual[1]-be) <= tc.tol) {
			t.Errorf("%s: dual %v, want (%v, %v)", tc.multi.Name(), dual, al, be)
		}
		// The confusion before each step: the ties z = 0 of the first steps go to class 0, as to
		// SPADE's negative.
		if got, want := b.Progressive().OneVsRest(nil)[1], a.Progressive(); got != want {
			t.Errorf("%s: progressive %v, want %v", tc.multi.Name(), got, want)
		}
	}
}

// The same holds with running shares, and with a ball: each class's radius is half that of SPADE.
func TestMulticlassOfTwoRunningAndBall(t *testing.T) {
	rows := twoClasses(3, 3000)
	two := SPADEConfig{Config: Config{Radius: 1}, Measure: measure.QMean{}}
	multi := MulticlassConfig{Config: Config{Radius: 0.5}, Classes: 2, Measure: measure.MulticlassQMean{}}
	a, b := binarySPADE(t, two, rows), multiSPADE(t, multi, rows)
	for _, x := range rows[:200] {
		z := b.Scores(nil, x.Index, x.Value)
		near(t, "score", z[1]-z[0], a.Score(x.Index, x.Value), 1e-9)
	}
	if n := b.lins[1].Norm(); !(n <= 0.5+1e-12) {
		t.Errorf("norm %v is outside the ball", n)
	}
}

var threeShares = []float64{.8, .15, .05}

// threeClasses is imbalanced and misspecified: the rare classes differ in spread, so that balanced
// training sacrifices one of them.
func threeClasses(seed uint64, n int) []LabelsExample {
	return gaussianClasses(seed, n, threeShares, [][]float64{{0, 0, 0, 0}, {1.5, 0, .5, 0}, {.5, 1.2, 0, 0}},
		[]float64{1, 2, .6})
}

// On an imbalanced problem of three classes the moving dual beats the fixed one on the recall of
// the worst class, and its training reaches equal mean rewards where the dual mass is.
func TestMulticlassSPADEBeatsFixedDualOnMin(t *testing.T) {
	t.Parallel()
	test := threeClasses(12, testsize.Of(40_000, 10_000))
	seeds := uint64(testsize.Of(3, 1))
	var value [2]float64
	for i, fixed := range []bool{true, false} {
		for seed := uint64(20); seed < 20+seeds; seed++ {
			s,
				err := NewMulticlassSPADE(MulticlassConfig{
				Classes: 3, Measure: measure.MulticlassMin{},
				FixedDual: fixed,
			})
			if err != nil {
				t.Fatal(err)
			}
			rows := threeClasses(seed, 20_000)
			for range 5 {
				for _, x := range rows {
					if err := s.Observe(x); err != nil {
						t.Fatal(err)
					}
				}
				s.NextPass()
			}
			m := s.Model()
			c, err := ofClasses(&m, test)
			if err != nil {
				t.Fatal(err)
			}
			recalls := c.Recalls(nil)
			value[i] += measure.MulticlassMin{}.Of(recalls) / float64(seeds)
			t.Logf("fixed %v: recalls %.4f, dual %.3f", fixed, recalls, s.AverageDual(nil))
		}
	}
	t.Logf("min recall: fixed %.4f, moving %.4f", value[0], value[1])
	if value[1] < value[0]+0.02 {
		t.Errorf("min recall is %.4f with the dual moving, %.4f with it fixed", value[1], value[0])
	}
}

// Three steps by hand: x ∈ ℝ, no intercept, hinge, η = η' = 1/√t, shares (½, ¼, ¼), min.
//
//	t=1: x=1, class 2, z = 0: rival 0, m=0, r=0: c = 1·(1/3)/(1/4) = 4/3: w = (-4/3, 0, 4/3); the dual stays.
//	t=2: x=1, class 1: z = (-4/3, 0, 4/3): rival 2, m = -4/3 = r: c = (1/√2)·(4/3); w₁ = +c, w₂ = 4/3 - c;
//	     dual - η'·r/q = +(1/√2)·16/3 on class 1: the projection is (0, 1, 0).
//	t=3: x=2, class 0: α₀ = 0: no move of w; m = 2(-4/3) - 2·max(c, 4/3-c), rival 1 since c = .943 > .391.
//	     r/q = 2m, so α₀ = 0 - 2m/√3 > 1: all mass goes to class 0.
func TestMulticlassTrace(t *testing.T) {
	s, err := NewMulticlassSPADE(MulticlassConfig{
		Config:  Config{NoIntercept: true, Step: 1, Scaling: Identity(1), MeanSquare: 1, MeanWeight: 1},
		Classes: 3, Measure: measure.MulticlassMin{}, Shares: []float64{.5, .25, .25}, DualStep: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := 4 / (3 * math.Sqrt2)
	for i, step := range []struct {
		value float32
		class int
		w     [3]float64
		dual  [3]float64
	}{
		{1, 2, [3]float64{-4. / 3, 0, 4. / 3}, [3]float64{1. / 3, 1. / 3, 1. / 3}},
		{1, 1, [3]float64{-4. / 3, c, 4./3 - c}, [3]float64{0, 1, 0}},
		{2, 0, [3]float64{-4. / 3, c, 4./3 - c}, [3]float64{1, 0, 0}},
	} {
		if err := s.Observe(LabelsExample{[]uint32{0}, []float32{step.value}, []int{step.class}, 1}); err != nil {
			t.Fatal(err)
		}
		dual := s.Dual(nil)
		for k, l := range s.lins {
			near(t, fmt.Sprintf("step %d, w%d", i+1, k), l.Weight(0), step.w[k], 1e-15)
			near(t, fmt.Sprintf("step %d, α%d", i+1, k), dual[k], step.dual[k], 1e-15)
		}
	}
	// Averages are over the iterates and duals before each step.
	near(t, "w̄₁", s.Model().Models[1].Weights[0], c/3, 1e-15)
	near(t, "ᾱ₁", s.AverageDual(nil)[1], (2./3+1)/3, 1e-15)
	p := s.Progressive()
	// Predictions: a tie, class 0; class 2; class 1.
	if p.Count(2, 0) != 1 || p.Count(1, 2) != 1 || p.Count(0, 1) != 1 {
		t.Errorf("progressive confusion %v", p)
	}
}

// The rival of a class is the best of the others, the lowest on ties; so is the decision.
func TestRival(t *testing.T) {
	for _, tc := range []struct {
		z       []float64
		k, want int
		best    int
	}{
		{[]float64{1, 2, 3}, 2, 1, 2},
		{[]float64{3, 2, 3}, 0, 2, 0},
		{[]float64{3, 2, 3}, 1, 0, 0},
		{[]float64{0, 0, 0}, 0, 1, 0},
		{[]float64{-1, -2, -2}, 0, 1, 0},
	} {
		if got := rival(tc.z, tc.k); got != tc.want {
			t.Errorf("rival of %d in %v is %d, want %d", tc.k, tc.z, got, tc.want)
		}
		if got := argmax(tc.z); got != tc.best {
			t.Errorf("argmax of %v is %d, want %d", tc.z, got, tc.best)
		}
	}
	m := Classifier{Task: Multiclass, Models: []Linear{
		{Intercept: 1, Threshold: 1},
		{Intercept: 2, Threshold: 2},
		{Intercept: 3, Threshold: 4},
	}}
	if got := m.Predict(nil, nil, nil); got[0] != 0 {
		t.Errorf("decision %d, want 0", got)
	}
}

func TestMulticlassRefusals(t *testing.T) {
	ok := MulticlassConfig{Classes: 3, Measure: measure.MulticlassMin{}}
	for name, change := range map[string]func(*MulticlassConfig){
		"number of classes is 1":  func(c *MulticlassConfig) { c.Classes = 1 },
		"needs a concave measure": func(c *MulticlassConfig) { c.Measure = nil },
		"share of positives":      func(c *MulticlassConfig) { c.Positives = .5 },
		"one for each of the 3":   func(c *MulticlassConfig) { c.Shares = []float64{.5, .5} },
		"share of class 2 is 0":   func(c *MulticlassConfig) { c.Shares = []float64{.5, .5, 0} },
		"add up to 1.1":           func(c *MulticlassConfig) { c.Shares = []float64{.5, .5, .1} },
		"dual scale is -1":        func(c *MulticlassConfig) { c.DualScale = -1 },
		"dual step is NaN":        func(c *MulticlassConfig) { c.DualStep = math.NaN() },
		"exponent of ε is 1":      func(c *MulticlassConfig) { c.EpsExponent = 1 },
		"dual reward is 9":        func(c *MulticlassConfig) { c.DualReward = 9 },
		"step scale is -1":        func(c *MulticlassConfig) { c.StepScale = -1 },
	} {
		opt := ok
		change(&opt)
		if _, err := NewMulticlassSPADE(opt); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
	rows := threeClasses(1, 600)
	a, b := multiSPADE(t, ok, rows), multiSPADE(t, ok, rows)
	for want, x := range map[string]LabelsExample{
		"example 601: class is 3, want one in 0..2": {Labels: []int{3}, Weight: 1},
		"class is -1":                   {Labels: []int{-1}, Weight: 1},
		"weight is NaN":                 {Weight: math.NaN()},
		"example 601, entry 1":          {Index: []uint32{0, 1}, Value: []float32{1, float32(math.NaN())}, Weight: 1},
		"index 4 appears twice":         {Index: []uint32{4, 1, 4}, Value: []float32{1, 2, 3}, Weight: 1},
		"1 indices and 2 values":        {Index: []uint32{0}, Value: []float32{1, 2}, Weight: 1},
		"value is +Inf, want a finite":  {Index: []uint32{0}, Value: []float32{float32(math.Inf(1))}, Weight: 1},
		"weight is -1, want a finite n": {Weight: -1},
	} {
		if x.Labels == nil {
			x.Labels = []int{0}
		}
		if err := a.Observe(x); noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if err := a.Observe(LabelsExample{Labels: []int{1}}); err != nil { // of weight 0: skipped
		t.Error(err)
	}
	if fmt.Sprint(a.Model()) != fmt.Sprint(b.Model()) ||
		fmt.Sprint(a.Dual(nil), a.Seen(nil)) != fmt.Sprint(b.Dual(nil), b.Seen(nil)) {
		t.Error("refused examples must not change the learner")
	}
}

// With surrogate rewards the dual of the H-mean of three classes runs to the end of its region at
// large steps; the default clips them, but not for two classes, where it is SPADE's.
func TestMulticlassDualRewardDefault(t *testing.T) {
	for _, tc := range []struct {
		m       measure.MulticlassConcave
		classes int
		want    DualReward
	}{
		{measure.MulticlassHMean{}, 2, DualSurrogate},
		{measure.MulticlassHMean{}, 3, DualClipped},
		{measure.MulticlassGMean{}, 2, DualClipped},
		{measure.MulticlassQMean{}, 9, DualSurrogate},
		{measure.MulticlassMin{}, 9, DualSurrogate},
	} {
		s := multiSPADE(t, MulticlassConfig{Classes: tc.classes, Measure: tc.m}, nil)
		if s.opt.DualReward != tc.want {
			t.Errorf("%s of %d classes: dual reward %d, want %d", tc.m.Name(), tc.classes, s.opt.DualReward, tc.want)
		}
	}
	var value [2]float64
	test := threeClasses(12, 20_000)
	for i, reward := range []DualReward{DualSurrogate, DualDefault} {
		opt := MulticlassConfig{Classes: 3, Measure: measure.MulticlassHMean{}, DualReward: reward}
		opt.StepScale = 3
		m := multiSPADE(t, opt, threeClasses(20, 20_000)).Model()
		c, err := ofClasses(&m, test)
		if err != nil {
			t.Fatal(err)
		}
		value[i] = measure.MulticlassHMean{}.Of(c.Recalls(nil))
	}
	t.Logf("H-mean: surrogate %.4f, clipped %.4f", value[0], value[1])
	if value[1] < value[0]+0.02 {
		t.Errorf("H-mean is %.4f with surrogate, %.4f with the default rewards for the dual", value[0], value[1])
	}
}

func TestMulticlassDiverges(t *testing.T) {
	opt := MulticlassConfig{Classes: 3, Measure: measure.MulticlassMin{}}
	opt.Step = 1e160
	s, err := NewMulticlassSPADE(opt)
	if err != nil {
		t.Fatal(err)
	}
	var failure error
	for _, x := range threeClasses(1, 2000) {
		if failure = s.Observe(x); failure != nil {
			break
		}
	}
	if noregret.CodeOf(failure) != noregret.Diverged {
		t.Fatalf("got %v, want an error of code diverged", failure)
	}
	if again := s.Observe(LabelsExample{Weight: 1}); again != failure {
		t.Errorf("a failed learner answers %v", again)
	}
}

// The learner is deterministic, Finish learns from a short stream, unseen features count as absent,
// and unsorted rows give the same as sorted ones.
func TestMulticlassStream(t *testing.T) {
	opt := MulticlassConfig{Classes: 3, Measure: measure.MulticlassHMean{}}
	rows := threeClasses(5, 100)
	a, b := multiSPADE(t, opt, rows), multiSPADE(t, opt, nil)
	for _, x := range rows {
		y := LabelsExample{Labels: []int{x.Labels[0]}, Weight: x.Weight}
		for j := len(x.Index) - 1; j >= 0; j-- {
			y.Index, y.Value = append(y.Index, x.Index[j]), append(y.Value, x.Value[j])
		}
		if err := b.Observe(y); err != nil {
			t.Fatal(err)
		}
	}
	if z := a.Scores(nil, rows[0].Index, rows[0].Value); z[0] != 0 || z[1] != 0 || z[2] != 0 {
		t.Errorf("scores in the burn-in are %v", z)
	}
	for _, s := range []*MulticlassSPADE{a, b} {
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(a.Model()) != fmt.Sprint(b.Model()) {
		t.Error("models differ")
	}
	if seen := a.Seen(nil); seen[0]+seen[1]+seen[2] != 100 {
		t.Errorf("seen %v", seen)
	}
	x := rows[7]
	want := a.Scores(nil, x.Index, x.Value)
	m := a.Model()
	raw := m.Scores(nil, x.Index, x.Value)
	got := a.Scores(nil, append([]uint32{999}, x.Index...), append([]float32{5}, x.Value...))
	for k := range want {
		near(t, "score with an unseen feature", got[k], want[k], 0)
		near(t, "score of the model", raw[k], want[k], 1e-12)
	}
}

func TestMulticlassAllocations(t *testing.T) {
	for _, name := range measure.MulticlassNames() {
		m, err := measure.ParseMulticlass(name)
		if err != nil {
			t.Fatal(err)
		}
		rows := threeClasses(1, 3000)
		s := multiSPADE(t, MulticlassConfig{Classes: 3, Measure: m}, rows)
		i := 0
		if n := testing.AllocsPerRun(500, func() {
			if err := s.Observe(rows[i]); err != nil {
				t.Fatal(err)
			}
			if s.Predict(rows[i].Index, rows[i].Value) < 0 {
				t.Fatal("no class")
			}
			i++
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// ofClasses counts the confusion matrix of a classifier on rows in memory.
func ofClasses(m *Classifier, rows []LabelsExample) (measure.MulticlassConfusion, error) {
	c, err := NewCounter(m)
	if err != nil {
		return measure.MulticlassConfusion{}, err
	}
	for _, x := range rows {
		c.Add(x.Index, x.Value, []int{x.Labels[0]}, x.Weight)
	}
	return c.Confusion().Classes, nil
}
