package regret_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/regret"
)

// TestSummaries compares each with direct sums, and the best points with searches.
func TestSummaries(t *testing.T) {
	r := random.New(10, "summaries")
	for _, c := range []struct {
		s    regret.Summary
		set  convex.Set
		next func() loss.Function
	}{
		{regret.NewAbsoluteSummary(), must(convex.NewCube(1, 0, 1)), func() loss.Function {
			return must(loss.NewExample([]float64{1}, 3*r.Float64()-1, loss.Absolute{}))
		}},
		{regret.NewDistanceSummary(2), must(convex.NewBall([]float64{1, 0}, .5)), func() loss.Function {
			return must(loss.NewSquaredDistance([]float64{1e3 + r.Float64(), r.Float64()}))
		}},
		{regret.NewCompositeSummary(2), must(convex.NewCenteredBall(2, 2)), func() loss.Function {
			return must(loss.NewComposite(must(loss.NewLinear([]float64{r.Float64() - .2, r.Float64() - .5})), .1))
		}},
		{regret.NewCompositeSummary(2), must(convex.NewBox([]float64{-1, .5}, []float64{2, 1})), func() loss.Function {
			return must(loss.NewComposite(must(loss.NewLinear([]float64{r.Float64() - .3, r.Float64() - .5})), .1))
		}},
		{regret.NewLinearSummary(2), must(convex.NewL1Ball(2, 1)), func() loss.Function {
			return must(loss.NewLinear([]float64{r.Float64() - .2, r.Float64() - .5}))
		}},
	} {
		c.s.Add(c.next())
		c.s.Reset()
		var fs []loss.Function
		for range 31 {
			f := c.next()
			fs = append(fs, f)
			if err := c.s.Add(f); err != nil {
				t.Fatal(err)
			}
		}
		total := func(u []float64) (v float64) {
			for _, f := range fs {
				v += f.Value(u)
			}
			return v
		}
		u := make([]float64, c.set.Dim())
		least, gap, err := c.s.Best(u, c.set)
		if err != nil || gap != 0 || math.Abs(least-total(u)) > 1e-13*(1+math.Abs(least)) || !c.set.Contains(u, 1e-12) {
			t.Errorf("%T: least %v, recomputed %v, %v", c.s, least, total(u), err)
		}
		for range 2000 {
			v := make([]float64, len(u))
			for i := range v {
				v[i] = u[i] + r.NormFloat64()*math.Pow(10, -4*r.Float64())
			}
			c.set.Project(v, v)
			w := total(v)
			if math.Abs(w-c.s.Loss(v)) > 1e-13*(1+math.Abs(w)) || w < least-1e-12*(1+math.Abs(least)) {
				t.Fatalf("%T: loss %v at %v, by the summary %v, least %v", c.s, w, v, c.s.Loss(v), least)
			}
		}
		if err := c.s.Add(must(loss.NewExample([]float64{1}, 1, loss.HingeLoss{}))); err == nil {
			t.Errorf("%T accepted hinge losses", c.s)
		}
	}
	s := regret.NewCompositeSummary(1)
	must(0, s.Add(must(loss.NewComposite(must(loss.NewLinear([]float64{1})), .5))))
	for _, set := range []convex.Set{must(convex.NewSpace(1)), must(convex.NewOrthant(1))} {
		least, _, err := s.Best(make([]float64, 1), set)
		if want := map[bool]float64{true: math.Inf(-1), false: 0}[set.Contains([]float64{-1}, 0)]; err != nil ||
			least != want {
			t.Errorf("%v: least %v, %v", set, least, err)
		}
	}
	if _, _, err := s.Best(make([]float64, 1), must(convex.NewSimplex(1))); err == nil {
		t.Error("composite losses on a simplex were accepted")
	}
}

// TestDistanceSummaryFarFromZero: targets that are near each other and far from 0 have the loss and
// the gap of exact arithmetic. The mean is no float64 there, and the best point that is one loses
// more than it: the gap says how much.
func TestDistanceSummaryFarFromZero(t *testing.T) {
	r := random.New(1, "far")
	for _, level := range []float64{0, 1, 1e6, 1e12, -1e12, 1e15} {
		s := regret.NewDistanceSummary(2)
		var targets [][]float64
		for range 1000 {
			c := []float64{level + .25*r.Float64(), 3*level - .5*r.Float64()}
			if err := s.Add(must(loss.NewSquaredDistance(c))); err != nil {
				t.Fatal(err)
			}
			targets = append(targets, c)
		}
		exact := func(u []*big.Float) *big.Float {
			sum := new(big.Float).SetPrec(400)
			for _, c := range targets {
				for i := range c {
					d := new(big.Float).SetPrec(400).Sub(u[i], big.NewFloat(c[i]))
					sum.Add(sum, d.Mul(d, d))
				}
			}
			return sum
		}
		mean := []*big.Float{new(big.Float).SetPrec(400), new(big.Float).SetPrec(400)}
		for i := range mean {
			for _, c := range targets {
				mean[i].Add(mean[i], big.NewFloat(c[i]))
			}
			mean[i].Quo(mean[i], big.NewFloat(float64(len(targets))))
		}
		best := make([]float64, 2)
		least, gap, err := s.Best(best, must(convex.NewSpace(2)))
		if err != nil {
			t.Fatal(err)
		}
		at := exact([]*big.Float{big.NewFloat(best[0]), big.NewFloat(best[1])})
		value, _ := at.Float64()
		excess, _ := new(big.Float).Sub(at, exact(mean)).Float64()
		if !(math.Abs(least-value) <= 1e-14*value) {
			t.Errorf("level %v: the least loss is %v, want %v", level, least, value)
		}
		if !(excess <= gap+1e-13*value) || gap > 2*excess {
			t.Errorf("level %v: the gap is %v, the best point loses %v more than the mean", level, gap, excess)
		}
		box := must(convex.NewBox([]float64{level - 1, 3*level - 1}, []float64{level + .0625, 3*level + 1}))
		least, gap, err = s.Best(best, box)
		if err != nil || !(gap >= 0) || level < 1e15 && gap > 1e-3*least || least < value {
			t.Errorf("level %v: in a box the loss is %v, the gap %v, %v", level, least, gap, err)
		}
	}
}
