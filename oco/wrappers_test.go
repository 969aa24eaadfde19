package oco

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
)

// TestWrapperSnapshots restores every wrapper in the middle of a run and goes on beside the
// original.
func TestWrapperSnapshots(t *testing.T) {
	base := func() Learner { return descent(must(convex.NewCenteredBall(3, 1)), nil, Adaptive(math.Sqrt2)) }
	hinted := func() Hinted {
		return must(NewOptimisticFTRL(euclidean(must(convex.NewCenteredBall(3, 1))), ConstantWeight(2)))
	}
	one := func() Learner { return descent(must(convex.NewCube(1, -1, 1)), nil, Adaptive(1)) }
	for name, make := range map[string]func() Learner{
		"averaging":      func() Learner { return must(NewAveraging(base(), LinearAlpha())) },
		"random iterate": func() Learner { return must(NewRandomIterate(base(), UniformAlpha(), 7)) },
		"anytime":        func() Learner { return must(NewAnytime(base(), LinearAlpha())) },
		"linearized":     func() Learner { return must(NewLinearized(base())) },
		"split":          func() Learner { return must(NewSplit(one(), one(), one())) },
		"mini-batch":     func() Learner { return must(NewMiniBatch(base(), 4)) },
		"importance":     func() Learner { return must(NewImportance(base())) },
		"doubling": func() Learner {
			return must(NewDoubling("base", func(int) (Learner, error) { return base(), nil }))
		},
		"hint experts": func() Learner { return must(NewHintExperts(hinted(), 2, convex.L2)) },
	} {
		a, r := make(), random.New(1, name)
		step := func(ls ...Learner) {
			g := gradient(r, "gaussian", 1, a.Predict(), true)
			for _, l := range ls {
				if h, ok := l.(*HintExperts); ok {
					if err := h.Hints([][]float64{{g[0], 0, 0}, {0, g[1], 1}}); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 10 {
			step(a)
		}
		data := must(a.(Snapshotter).MarshalBinary())
		b := make()
		if err := b.(Snapshotter).UnmarshalBinary(data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 10 {
			step(a, b)
		}
		if !slices.Equal(a.Predict(), b.Predict()) {
			t.Errorf("%s: after a restore the point is %v, without one %v", name, b.Predict(), a.Predict())
		}
		if x, y := must(a.(Snapshotter).MarshalBinary()), must(b.(Snapshotter).MarshalBinary()); !bytes.Equal(x, y) {
			t.Errorf("%s: the states differ after a restore", name)
		}
		if err := b.(Snapshotter).UnmarshalBinary(flip(data, len(data)/2)); err == nil {
			t.Errorf("%s took a damaged snapshot", name)
		}
		before := must(a.(Snapshotter).MarshalBinary())
		if a.Update([]float64{1, math.NaN(), 0}) == nil || a.Update(nil) == nil {
			t.Errorf("%s took a bad subgradient", name)
		}
		if !bytes.Equal(before, must(a.(Snapshotter).MarshalBinary())) {
			t.Errorf("%s: a refused round changed it", name)
		}
		if _, err := a.(Bounder).Bound(make().Predict()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRandomIterate counts which round's point is kept.
func TestRandomIterate(t *testing.T) {
	const rounds, runs = 5, 20000
	var count [rounds]int
	for seed := range uint64(runs) {
		l := must(NewRandomIterate(descent(space(1), nil, Constant(1)), LinearAlpha(), seed))
		for k := range rounds {
			// The point played in round k is −Σ_{i<k} α_i, all different.
			if err := l.Update([]float64{1}); err != nil {
				t.Fatal(err)
			}
			_ = k
		}
		x := -must(l.Iterate())[0]
		k := 0
		for sum := 0.0; sum < x; k++ {
			sum += float64(k + 1)
		}
		count[k]++
	}
	var chi float64
	for k, n := range count {
		want := float64(runs) * float64(k+1) / 15
		chi += (float64(n) - want) * (float64(n) - want) / want
	}
	if chi > 18.47 { // 4 degrees of freedom, p = .001
		t.Errorf("rounds %v are not kept in proportion to 1..5 (χ² = %v)", count, chi)
	}
}

func TestNothingToAverage(t *testing.T) {
	a := must(NewAveraging(descent(space(1), nil, Constant(1)), UniformAlpha()))
	if _, err := a.Average(); err == nil {
		t.Error("an average of no points")
	}
	i := must(NewRandomIterate(descent(space(1), nil, Constant(1)), UniformAlpha(), 1))
	if _, err := i.Iterate(); err == nil {
		t.Error("an iterate of no points")
	}
}

// TestConstructorsRefuse is the table of options that make no sense.
func TestConstructorsRefuse(t *testing.T) {
	whole, unit := space(2), must(convex.NewCube(2, -1, 1))
	reg := euclidean(unit)
	nan, inf := math.NaN(), math.Inf(1)
	var errs []error
	check := func(what string, l any, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s was taken", what)
			return
		}
		errs = append(errs, err)
	}
	for _, v := range []float64{0, -1, nan, inf} {
		l1, err := NewSubgradientDescent(unit, nil, Constant(v))
		check("constant rate", l1, err)
		l2, err := NewFTRL(reg, nil, ConstantWeight(v))
		check("constant weight", l2, err)
		l3, err := NewExponentiatedGradient(2, nil, v)
		check("eta", l3, err)
		l4, err := NewOnlineNewtonStep(unit, v, 1)
		check("mu", l4, err)
		l5, err := NewOnlineNewtonStep(unit, 1, v)
		check("lambda", l5, err)
		l6, err := NewVovkAzouryWarmuth(2, v)
		check("lambda", l6, err)
		l7, err := NewCompositeFTRL(unit, v, 0)
		check("lipschitz", l7, err)
		l8, err := NewFTRLProximal(2, FTRLProximalOptions{A: v, Beta: 1})
		check("A", l8, err)
		l9, err := NewGradualFTRL(reg, 1, v)
		check("lipschitz", l9, err)
		l10, err := NewAdaFTRL(reg, v)
		check("alpha", l10, err)
		l11, err := NewEntropicFTRL(2, v, 0)
		check("lipschitz", l11, err)
		l12, err := NewPNorm(2, 1.5, v)
		check("eta", l12, err)
	}
	l1, err := NewSubgradientDescent(whole, nil, InverseSqrt(1, 1))
	check("a decreasing rate on the whole space", l1, err)
	l2, err := NewSubgradientDescent(whole, nil, Adaptive(1))
	check("an adaptive rate on the whole space", l2, err)
	l3, err := NewSubgradientDescent(unit, []float64{2, 0}, Constant(1))
	check("a start outside", l3, err)
	l4, err := NewSubgradientDescent(unit, []float64{nan, 0}, Constant(1))
	check("a start of NaN", l4, err)
	l5, err := NewSubgradientDescent(unit, []float64{0}, Constant(1))
	check("a start of another dimension", l5, err)
	l6, err := NewSubgradientDescent(unit, nil, Rate{})
	check("the zero rate", l6, err)
	l7, err := NewSubgradientDescent(nil, nil, Constant(1))
	check("no set", l7, err)
	box, err := convex.NewBox([]float64{0, math.Inf(-1)}, []float64{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	l8, err := NewAdaGrad(box, nil)
	check("a box with an infinite side", l8, err)
	l9, err := NewScaleFreeHedge(3, 2)
	check("alpha below 4", l9, err)
	l10, err := NewExponentiatedGradient(2, []float64{.5, .6}, 1)
	check("a prior that sums to 1.1", l10, err)
	l11, err := NewExponentiatedGradient(2, []float64{1.5, -.5}, 1)
	check("a negative prior", l11, err)
	entropy := must(entropyOnSimplex(2))
	l12, err := NewMirrorDescent(entropy, []float64{1, 0}, Constant(1), 0)
	check("a start on the boundary of the domain", l12, err)
	l13, err := NewLinearLeader(whole, nil)
	check("follow-the-leader on the whole space", l13, err)
	l14, err := NewAveraging(nil, UniformAlpha())
	check("no learner", l14, err)
	l15, err := NewAveraging(descent(unit, nil, Constant(1)), Alpha{})
	check("the zero alpha", l15, err)
	l16, err := NewSplit(descent(unit, nil, Constant(1)))
	check("a part of two dimensions", l16, err)
	for _, err := range errs {
		if err.Error() == "" {
			t.Error("an error without words")
		}
	}
	if _, err := Find("nobody"); err == nil {
		t.Error("a learner of no name was found")
	}
	e := must(Find("adagrad"))
	if _, err := e.New(Problem{Set: unit}, map[string]float64{"eta": 1}); err == nil {
		t.Error("an option that AdaGrad does not have was taken")
	}
}

// TestZeroGradients: on zero subgradients no learner moves, and bounds are nonnegative.
func TestZeroGradients(t *testing.T) {
	forEach(random.New(9, "zero"), 3, 20, "gaussian", func(e Entry, a arena, l Learner) {
		if a.problem.Features {
			return
		}
		x := slices.Clone(l.Predict())
		for range 20 {
			if err := l.Update([]float64{0, 0, 0}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(x, l.Predict()) && e.Name != "mean-leader" {
			t.Errorf("%s on %v moved from %v to %v on zero subgradients", e.Name, a.problem.Set, x, l.Predict())
		}
		u := make([]float64, 3)
		a.problem.Set.Project(u, u)
		if b := bound(t, l, u); b < 0 {
			t.Errorf("%s: bound %v", e.Name, b)
		}
	})
}

// TestTrainValidate: the point chosen is the best of those played on the validation half, found
// by hand.
func TestTrainValidate(t *testing.T) {
	r := random.New(5, "validate")
	sample := func() loss.Function {
		return must(loss.NewExample([]float64{1}, r.Float64(), loss.Squared{}))
	}
	var train, validate []loss.Function
	for range 40 {
		train, validate = append(train, sample()), append(validate, sample())
	}
	box := must(convex.NewCube(1, 0, 1))
	x, risk, err := TrainValidate(descent(box, nil, InverseSqrt(1, 1)), train, validate)
	if err != nil {
		t.Fatal(err)
	}
	again := must(NewLinearized(descent(box, nil, InverseSqrt(1, 1))))
	best, at := math.Inf(1), 0.0
	for _, f := range train {
		p := again.Predict()[0]
		var s float64
		for _, v := range validate {
			s += v.Value([]float64{p}) / 40
		}
		if s < best {
			best, at = s, p
		}
		if err := again.UpdateLoss(f); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "point", x[0], at)
	near(t, "risk", risk, best)
	if _, _, err := TrainValidate(descent(box, nil, Constant(1)), train, nil); err == nil {
		t.Error("no samples to validate on were taken")
	}
	if _, _, err := TrainValidate(descent(box, nil, Constant(1)), nil, validate); err == nil {
		t.Error("no samples to train on were taken")
	}
}

// plainLearner is a user's learner without a String method, with a pointer and weights in it.
type plainLearner struct {
	x    []float64
	last *float64
}

func (l *plainLearner) Dim() int           { return len(l.x) }
func (l *plainLearner) Predict() []float64 { return l.x }
func (l *plainLearner) Update(g []float64) error {
	for i, v := range g {
		l.x[i] -= .1 * v
		l.last = &g[i]
	}
	return nil
}

func (l *plainLearner) MarshalBinary() ([]byte, error) {
	return fmt.Append(nil, l.x[0]), nil
}

func (l *plainLearner) UnmarshalBinary(data []byte) error {
	_, err := fmt.Sscan(string(data), &l.x[0])
	return err
}

// TestKindsAreStable restores wrappers of learners without a description of their own into wrappers
// made anew: the kind of a snapshot holds neither addresses nor weights.
func TestKindsAreStable(t *testing.T) {
	user := func() Learner { return &plainLearner{x: make([]float64, 1)} }
	linearized := func() Learner {
		return must(NewLinearized(descent(must(convex.NewCube(1, -1, 1)), nil, Adaptive(1))))
	}
	for name, make := range map[string]func() Learner{
		"averaging of a user's learner": func() Learner { return must(NewAveraging(user(), UniformAlpha())) },
		"anytime of a user's learner":   func() Learner { return must(NewAnytime(user(), UniformAlpha())) },
		"random iterate of a user's learner": func() Learner {
			return must(NewRandomIterate(user(), UniformAlpha(), 1))
		},
		"split of users' learners":          func() Learner { return must(NewSplit(user(), user())) },
		"split of linearized learners":      func() Learner { return must(NewSplit(linearized(), linearized())) },
		"averaging of a linearized learner": func() Learner { return must(NewAveraging(linearized(), UniformAlpha())) },
		"linearized learner":                linearized,
	} {
		a, b := make(), make()
		g := []float64{1, -2}[:a.Dim()]
		for range 3 {
			if err := a.Update(g); err != nil {
				t.Fatal(err)
			}
		}
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			t.Errorf("%s: the kind depends on the state: %s, %s", name, x, y)
		}
		if err := b.(Snapshotter).UnmarshalBinary(must(a.(Snapshotter).MarshalBinary())); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(a.Predict(), b.Predict()) {
			t.Errorf("%s: after a restore the point is %v, without one %v", name, b.Predict(), a.Predict())
		}
	}
}
