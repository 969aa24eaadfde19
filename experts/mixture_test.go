package experts_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
)

// steps are subgradient descents on the unit ball with steps from too small to too large, and
// AdaHedge for their weights.
func steps(d int) *experts.Mixture {
	ball := must(convex.NewCenteredBall(d, 1))
	var models []experts.Learner
	for _, eta := range []float64{1e-4, 1e-2, 1, 100} {
		models = append(models, must(oco.NewSubgradientDescent(ball, nil, oco.Constant(eta))))
	}
	return must(experts.NewMixture(adaHedge(len(models)), models...))
}

// TestMixtureRegret: with subgradients and with whole losses the regret is within the bound, at
// most SelectionBound above that of each model, and the best step size gets the weight.
func TestMixtureRegret(t *testing.T) {
	const d, rounds = 3, 400
	r := random.New(1, "mixture")
	for _, whole := range []bool{false, true} {
		m := steps(d)
		var alone []*oco.SubgradientDescent
		ball := must(convex.NewCenteredBall(d, 1))
		for _, eta := range []float64{1e-4, 1e-2, 1, 100} {
			alone = append(alone, must(oco.NewSubgradientDescent(ball, nil, oco.Constant(eta))))
		}
		us := [][]float64{{0, 0, 0}, {.6, 0, -.8}, {1, 0, 0}}
		paid, best, separate := 0.0, make([]float64, len(us)), make([]float64, len(alone))
		for range rounds {
			z := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			y := .6*z[0] - .8*z[2] + .1*r.NormFloat64()
			var f loss.Function = must(loss.NewExample(z, y, loss.Absolute{}))
			g, x := make([]float64, d), m.Predict()
			if f.Subgradient(g, x); !whole {
				f = must(loss.NewLinear(g))
			}
			paid += f.Value(x)
			for k, u := range us {
				best[k] += f.Value(u)
			}
			for k, l := range alone {
				separate[k] += f.Value(l.Predict())
				h := slices.Clone(g)
				f.Subgradient(h, l.Predict())
				if err := l.Update(h); err != nil {
					t.Fatal(err)
				}
			}
			update := func() error { return m.Update(g) }
			if whole {
				update = func() error { return m.UpdateLoss(f) }
			}
			if err := update(); err != nil {
				t.Fatal(err)
			}
		}
		for k, u := range us {
			if b := must(m.Bound(u)); paid-best[k] > b {
				t.Errorf("whole=%v: regret %v at %v above %v", whole, paid-best[k], u, b)
			}
		}
		for k, v := range separate {
			if b := must(m.SelectionBound(k)); paid-v > b+1e-9 {
				t.Errorf("whole=%v: %v more than model %d, the bound is %v", whole, paid-v, k, b)
			}
		}
		least, _ := vec.ArgMin(separate)
		if whole && m.Best() != least {
			t.Errorf("the largest weight has model %d, the least loss model %d: %v", m.Best(), least, m.Weights())
		}
	}
}

// TestMixtureOfOne is the model itself.
func TestMixtureOfOne(t *testing.T) {
	r := random.New(2, "one")
	a, b := must(oco.NewFreeGrad(2, 1)), must(experts.NewMixture(adaHedge(1), must(oco.NewFreeGrad(2, 1))))
	for range 50 {
		if !slices.Equal(a.Predict(), b.Predict()) {
			t.Fatalf("%v and %v", a.Predict(), b.Predict())
		}
		g := []float64{r.NormFloat64(), r.NormFloat64()}
		if a.Update(g) != nil || b.Update(g) != nil {
			t.Fatal("refused")
		}
	}
}

func TestMixtureRefuses(t *testing.T) {
	m := steps(2)
	if err := m.Update([]float64{1, -1}); err != nil {
		t.Fatal(err)
	}
	before := must(m.MarshalBinary())
	for _, g := range [][]float64{nil, {1}, {1, math.NaN()}, {math.Inf(1), 0}} {
		if err := m.Update(g); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: %v", g, err)
		}
		if _, err := m.Bound(g); err == nil {
			t.Errorf("a bound at %v", g)
		}
	}
	if m.UpdateLoss(nil) == nil || m.UpdateLoss(must(loss.NewLinear([]float64{1, 2, 3}))) == nil {
		t.Error("no loss, or one of another dimension, was taken")
	}
	if !bytes.Equal(before, must(m.MarshalBinary())) {
		t.Error("a refused round changed it")
	}
	for _, k := range []int{-1, 4} {
		if _, err := m.SelectionBound(k); err == nil {
			t.Errorf("a bound for model %d", k)
		}
	}
	one := must(oco.NewFreeGrad(1, 1))
	for what, make := range map[string]func() (*experts.Mixture, error){
		"no models":          func() (*experts.Mixture, error) { return experts.NewMixture(adaHedge(1)) },
		"no weights":         func() (*experts.Mixture, error) { return experts.NewMixture(nil, one) },
		"weights of another": func() (*experts.Mixture, error) { return experts.NewMixture(adaHedge(2), one) },
		"two dimensions": func() (*experts.Mixture, error) {
			return experts.NewMixture(adaHedge(2), one, must(oco.NewFreeGrad(2, 1)))
		},
	} {
		if _, err := make(); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestMixtureFails: a refusal by a later model ends the use of the mixture, until a snapshot is
// restored.
func TestMixtureFails(t *testing.T) {
	m := must(experts.NewMixture(adaHedge(2), must(oco.NewFreeGrad(1, 1)), must(oco.NewKT(1, 1))))
	if err := m.Update([]float64{1}); err != nil {
		t.Fatal(err)
	}
	before := must(m.MarshalBinary())
	if m.Update([]float64{2}) == nil || m.Update([]float64{1}) == nil {
		t.Error("it goes on after a model has refused a subgradient above its Lipschitz constant")
	}
	if _, err := m.MarshalBinary(); err == nil {
		t.Error("it was saved after a failure")
	}
	if err := m.UnmarshalBinary(before); err != nil {
		t.Fatal(err)
	}
	if err := m.Update([]float64{1}); err != nil || m.Rounds() != 2 {
		t.Errorf("after a restore: %v, %d rounds", err, m.Rounds())
	}
}

func TestMixtureSnapshot(t *testing.T) {
	r := random.New(3, "snapshot")
	a, b := steps(2), steps(2)
	for range 30 {
		if err := a.Update([]float64{r.NormFloat64(), r.NormFloat64()}); err != nil {
			t.Fatal(err)
		}
	}
	data := must(a.MarshalBinary())
	if err := b.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if !slices.Equal(a.Predict(), b.Predict()) {
			t.Fatalf("%v, restored %v", a.Predict(), b.Predict())
		}
		g := []float64{r.NormFloat64(), r.NormFloat64()}
		if a.Update(g) != nil || b.Update(g) != nil {
			t.Fatal("refused")
		}
	}
	data[len(data)/2] ^= 1
	if b.UnmarshalBinary(data) == nil {
		t.Error("a damaged snapshot was taken")
	}
	g := []float64{.1, .2}
	if n := testing.AllocsPerRun(50, func() { _, _ = a.Predict(), a.Update(g) }); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
