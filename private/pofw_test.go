package private

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
)

// TestIdentityT4: without noise DP-TOFW on the l1 ball is DP-POFW, for all weightings and batches.
func TestIdentityT4(t *testing.T) {
	r := random.New(11, "test")
	for w := PaperWeights; w <= RecursiveWeights; w++ {
		for _, batch := range []int{1, 7} {
			p := NewProblem(must(NewBall(5, 1, 1)), Squared(), 1, 1, 2000)
			p.Weighting, p.Batch, p.Clip, p.Spacing = w, batch, 8, 0x1p-30
			a, b := must(NewNonPrivateTOFW(p)), must(NewNonPrivatePOFW(p))
			for i := range 2000 {
				x, y := record(r, 5)
				if err := errors.Join(a.Step(x, y), b.Step(x, y)); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a.Theta(), b.Theta()) {
					t.Fatalf("%v, batch %d, record %d: %v and %v", w, batch, i, a.Theta(), b.Theta())
				}
			}
			if want := int64(2000/batch) + min(1, int64(2000%batch)); a.Steps() != want || b.Steps() != want {
				t.Errorf("batch %d: %d and %d steps, want %d", batch, a.Steps(), b.Steps(), want)
			}
		}
	}
}

// TestPolytope: the l1 ball as a list of vertices is the l1 ball, up to rounding of scores; and a
// polytope far from 0 works.
func TestPolytope(t *testing.T) {
	r := random.New(12, "test")
	ball := must(NewBall(3, 1, 2))
	var list [][]float64
	for k := range ball.Vertices() {
		v := make([]float64, 3)
		ball.writeVertex(v, k)
		list = append(list, v)
	}
	polytope := must(NewPolytope(list, 1))
	p := NewProblem(ball, Squared(), 1, 1, 1000)
	p.Clip = 20
	q := p
	q.Domain = polytope
	a, b, c := must(NewNonPrivatePOFW(p)), must(NewNonPrivatePOFW(q)), must(NewNonPrivateTOFW(q))
	for i := range 1000 {
		x, y := record(r, 3)
		if err := errors.Join(a.Step(x, y), b.Step(x, y), c.Step(x, y)); err != nil {
			t.Fatal(err)
		}
		for j, v := range a.Theta() {
			if math.Abs(b.Theta()[j]-v) > 1e-9 || math.Abs(c.Theta()[j]-v) > 1e-9 {
				t.Fatalf("step %d: %v, as a polytope %v and %v", i, a.Theta(), b.Theta(), c.Theta())
			}
		}
	}
	far := must(NewPolytope([][]float64{{100, 0}, {101, 0}, {100, 1}}, 2))
	l := must(NewPOFW(NewProblem(far, Squared(), 1, 1, 100), selection(3)))
	for range 100 {
		x, y := record(r, 2)
		if err := l.Step(x, y); err != nil {
			t.Fatal(err)
		}
		if th := l.Theta(); th[0] < 100 || th[1] < 0 || th[0]+th[1] > 101+1e-9 {
			t.Fatalf("θ = %v is outside the triangle", th)
		}
	}
}

// TestFixedDot compares the products in 128 bits with big integers.
func TestFixedDot(t *testing.T) {
	r := random.New(13, "test")
	for range 10000 {
		n := 1 + r.IntN(5)
		a, b := make([]int64, n), make([]int64, n)
		want := big.NewInt(1 << (fixedBits - 1))
		shift := r.IntN(62)
		for j := range a {
			a[j] = (r.Int64N(1<<61) >> shift) * int64(1-2*r.IntN(2))
			b[j] = r.Int64N(1<<30+1) * int64(1-2*r.IntN(2))
			want.Add(want, new(big.Int).Mul(big.NewInt(a[j]), big.NewInt(b[j])))
		}
		want.Rsh(want, fixedBits)
		got := fixedDot(a, b)
		if want.IsInt64() && got != want.Int64() || !want.IsInt64() && got != math.MaxInt64 {
			t.Fatalf("%v·%v = %d, want %v", a, b, got, want)
		}
	}
}

// selection is the exponential mechanism for (1, 1e-4) from a seed.
func selection(seed uint64) Noise {
	return Noise{
		Protection: dp.PerRecord(), Budget: must(dp.ZCDPBudget(1, 1e-4)),
		Options: []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(seed)},
	}
}

// TestOracleO7POFW compares the vertices that the learner chooses with the law of the exponential
// mechanism for its exact scores, by a chi-square test over many first steps.
func TestOracleO7POFW(t *testing.T) {
	testsize.NoRace(t)
	const runs = 20000
	p := NewProblem(must(NewBall(2, 1, 3)), Squared(), 1, 1, 2)
	p.Clip = 2
	x, y := []float64{1, -0.5}, -1.0 // g_1 = 2·(0 + 1)·x = (2, −1)
	noise := selection(1)
	noise.Budget = must(dp.ZCDPBudget(20, 1e-2))
	counts := map[[2]float64]float64{}
	var temperature float64
	for seed := range uint64(runs) {
		noise.Options = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(seed)}
		l := must(NewPOFW(p, noise))
		if err := l.Step(x, y); err != nil {
			t.Fatal(err)
		}
		m := l.mechanism.(*choiceMechanism)
		temperature = m.selector.Temperature(1) * m.lattice.Spacing()
		counts[[2]float64{math.Round(l.vertex[0]), math.Round(l.vertex[1])}]++
	}
	// In the scale of the scores the sensitivity is 2C·2, and the domain's radius cancels.
	if want := 4 * p.Clip * math.Sqrt(dp.Harmonic(2)/(8*noise.Budget.Rho())); math.Abs(temperature/want-1) > 1e-5 {
		t.Errorf("temperature %v, want %v", temperature, want)
	}
	total, chi := 0.0, 0.0
	law := map[[2]float64]float64{{3, 0}: 2, {-3, 0}: -2, {0, 3}: -1, {0, -3}: 1}
	for v, score := range law {
		law[v] = math.Exp(-score / temperature)
		total += law[v]
	}
	for v, weight := range law {
		expected := runs * weight / total
		chi += (counts[v] - expected) * (counts[v] - expected) / expected
	}
	if chi > 16.3 { // 3 degrees of freedom, 0.001
		t.Errorf("chi-square %v: counts %v, law %v", chi, counts, law)
	}
}

// TestPOFWCharges: the costs of the steps add up to the budget, of both mechanisms, with and
// without a horizon; a pure budget is allowed, one of Gaussian differential privacy is not.
func TestPOFWCharges(t *testing.T) {
	r := random.New(14, "test")
	p := NewProblem(must(NewBall(3, 1, 1)), Squared(), 1, 1, 300)
	for _, n := range []Noise{
		selection(1),
		{Protection: dp.PerRecord(), Budget: must(dp.PureBudget(1))},
		{Protection: dp.PerRecord(), Budget: must(dp.ZCDPBudget(1, 1e-4)), Selection: dp.Laplace},
		{Protection: dp.PerRecord(), Budget: must(dp.ZCDPBudget(1, 1e-4)), Unbounded: true},
	} {
		l := must(NewPOFW(p, n))
		before := l.Spent()
		for i := range 300 {
			x, y := record(r, 3)
			if err := l.Step(x, y); err != nil {
				t.Fatal(err)
			}
			if s := l.Spent(); s < before || i < 299 && s >= l.Charge().Rho {
				t.Fatalf("%v: spent %v after %v at step %d", n, s, before, i)
			} else {
				before = s
			}
		}
		if before > l.Charge().Rho || n.Budget.Accounting() == dp.ZCDP && !n.Unbounded &&
			before < l.Charge().Rho*0.999999 {
			t.Errorf("%v: spent %v of %v", n, before, l.Charge().Rho)
		}
		if l.Sum() != nil || !math.IsNaN(l.Deviation(1)) {
			t.Error("the secret sums are shown")
		}
	}
	n := selection(1)
	n.Budget = must(dp.GDPBudget(1, 1e-4))
	if _, err := NewPOFW(p, n); !errors.Is(err, dp.ErrUnitMismatch) {
		t.Errorf("a Gaussian budget: %v", err)
	}
	p.Domain = must(NewBall(3, 2, 1))
	if _, err := NewPOFW(p, selection(1)); !errors.Is(err, dp.ErrNorm) {
		t.Errorf("a Euclidean ball: %v", err)
	}
	p.Domain = must(NewPolytope([][]float64{{1, 0, 0}, {0, 1, 0}}, 3))
	if _, err := NewPOFW(p, selection(1)); !errors.Is(err, dp.ErrNorm) {
		t.Errorf("a polytope with p = 3: %v", err)
	}
}

// TestPOFWLearns: with a large budget the private learner finds the signal.
func TestPOFWLearns(t *testing.T) {
	r := random.New(15, "test")
	p := NewProblem(must(NewBall(5, 1, 1)), HalfSquared(), 1, 1, 20000)
	p.Clip = 1
	n := selection(2)
	n.Budget = must(dp.ZCDPBudget(8, 1e-5))
	l := must(NewPOFW(p, n))
	for range 20000 {
		x := normals(r, 5)
		vec.Scale(x, 1/vec.MaxAbs(x))
		if err := l.Step(x, 0.6*x[3]); err != nil {
			t.Fatal(err)
		}
	}
	if th := l.Theta()[3]; th < 0.35 || th > 0.7 {
		t.Errorf("θ = %v", l.Theta())
	}
}
