package regret_test

import (
	"math"
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
