package classify

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/optimize"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// gonumLBFGS minimises p by gonum's own arithmetic and line search: the oracle.
func gonumLBFGS(p optimize.Problem, start []float64, threshold float64) (*optimize.Result, error) {
	return optimize.Minimize(p, start, &optimize.Settings{
		GradientThreshold: threshold, MajorIterations: 2000, Converger: optimize.NeverTerminate{},
	}, &optimize.LBFGS{Store: 10, Linesearcher: &optimize.MoreThuente{}})
}

// On logistic regressions of random conditioning the minimum is gonum's, and takes as many passes.
func TestLBFGSOnLogisticRegression(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	src := random.New(8, "lbfgs")
	var ours, theirs int
	for round := range testsize.Of(24, 12) {
		n, d := 60+src.IntN(300), 2+src.IntN(12)
		stretch := math.Exp(4 * src.Float64())
		weight := make([]float64, d)
		for i := range weight {
			weight[i] = 2 * src.NormFloat64()
		}
		xs := make([]Example, n)
		for k := range xs {
			x := Example{Weight: 1 + float64(src.IntN(3))}
			z := src.NormFloat64() - 1
			for i := range d {
				v := src.NormFloat64() * math.Pow(stretch, float64(i)/float64(d))
				x.Index, x.Value = append(x.Index, uint32(i)), append(x.Value, float32(v))
				z += v * weight[i] / stretch
			}
			x.Positive = k == 0 || (k > 1 && z > 0)
			xs[k] = x
		}
		lin := newDescent(&Config{Dim: d, BiasFeature: 1, Radius: math.Inf(1)})
		problem := func() *batch {
			return (&logisticProblem{
				ctx: context.Background(), data: asData(t, xs), lin: lin, kPos: 3, kNeg: 1,
				lambda: 1e-4,
			}).batch()
		}
		p := problem()
		got, err := p.solve(make([]float64, d+1), 2000, 1e-9)
		if err != nil || !got.converged {
			t.Fatalf("round %d: %+v, %v", round, got, err)
		}
		q := problem()
		want, err := gonumLBFGS(q.asProblem(math.MaxInt), make([]float64, d+1), 1e-9)
		if err != nil {
			t.Logf("round %d: gonum: %v", round, err)
		}
		p.evaluate(got.w)
		if math.Abs(p.value-want.F) > 1e-13 {
			t.Errorf("round %d: ended at %v, gonum at %v", round, p.value, want.F)
		}
		for i := range got.w {
			if math.Abs(got.w[i]-want.X[i]) > 1e-4*max(1, math.Abs(want.X[i])) {
				t.Errorf("round %d: weight %d is %v, with gonum %v", round, i, got.w[i], want.X[i])
			}
		}
		// Passes are compared at the precision that Fit asks for, which gonum reaches too.
		p, q = problem(), problem()
		if _, err := p.solve(make([]float64, d+1), 2000, 1e-6); err != nil {
			t.Fatal(err)
		}
		if _, err := gonumLBFGS(q.asProblem(math.MaxInt), make([]float64, d+1), 1e-6); err != nil {
			t.Logf("round %d: gonum: %v", round, err)
		}
		ours, theirs = ours+p.passes, theirs+q.passes
	}
	t.Logf("%d passes, gonum %d", ours, theirs)
	if float64(ours) > 1.1*float64(theirs) {
		t.Errorf("%d passes in all, gonum %d: want no more than a tenth more", ours, theirs)
	}
}
