package oco

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

// TestRegretBoundSmooth checks the bound of [GradualFTRL] on smooth losses that change little, and
// that of [ExactFTRL] on strongly convex ones.
func TestRegretBoundSmooth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 6, 80)
		smooth := logUniform(r, 30)
		for _, set := range wideSets(r, d)[:8] {
			d := set.Dim()
			if math.IsInf(set.Diameter(), 1) {
				continue
			}
			centre := pointIn(r, set)
			L := smooth*set.Diameter() + smooth*10
			l := must(NewGradualFTRL(euclidean(set), smooth, L))
			exact := leader(must(convex.NewSpace(d)), make([]float64, d))
			var fs []loss.Function
			var paid, exactPaid float64
			for round := range n {
				c := slices.Clone(centre)
				for i, v := range gradient(r, kind, round, make([]float64, d), true) {
					c[i] += v
				}
				f := scaledDistance{must(loss.NewSquaredDistance(c)), smooth / 2}
				fs = append(fs, f)
				paid += f.Value(l.Predict())
				exactPaid += f.SquaredDistance.Value(exact.Predict())
				if err := l.UpdateLoss(f); err != nil {
					t.Fatal(err)
				}
				if err := exact.UpdateLoss(f.SquaredDistance); err != nil {
					t.Fatal(err)
				}
			}
			for _, u := range append(comparators(r, set, make([]float64, d)), centre) {
				var best, exactBest float64
				for _, f := range fs {
					best += f.Value(u)
					exactBest += f.(scaledDistance).SquaredDistance.Value(u)
				}
				far := vec.MaxAbs(u) * vec.MaxAbs(u) * 1e-15 * float64(n) * smooth
				if b := must(l.Bound(u)); paid-best > b+1e-9*math.Abs(b)+1e-12*(paid+best)+far {
					t.Fatalf("gradual on %v: regret %v against %v is above the bound %v", set, paid-best, u, b)
				}
				rounding := 1e-12*(exactPaid+exactBest) + far/smooth
				if b := must(exact.Bound(u)); exactPaid-exactBest > b+1e-9*math.Abs(b)+rounding {
					t.Fatalf("exact: regret %v against %v is above the bound %v", exactPaid-exactBest, u, b)
				}
			}
		}
	})
}

// scaledDistance is c·‖x − y‖².
type scaledDistance struct {
	*loss.SquaredDistance
	scale float64
}

func (s scaledDistance) Value(x []float64) float64 { return s.scale * s.SquaredDistance.Value(x) }

func (s scaledDistance) Subgradient(dst, x []float64) {
	s.SquaredDistance.Subgradient(dst, x)
	for i := range dst {
		dst[i] *= s.scale
	}
}

// TestGradualConstants: the constant of Corollary 7.30 is L/2 and not the printed ¼, which a single
// round refutes; the weights start at √max(8M², 4L²).
func TestGradualConstants(t *testing.T) {
	const L, M = 8., 100.
	set := must(convex.NewCube(1, -1, 1))
	l := must(NewGradualFTRL(euclidean(set), 0, L))
	regret := L * (l.Predict()[0] + .5)
	if err := l.Update([]float64{L}); err != nil {
		t.Fatal(err)
	}
	u := []float64{-.5}
	psi := .125 * 2 * L // λ_1 = 2L
	near(t, "bound", bound(t, l, u), psi+L/2)
	if regret > bound(t, l, u) {
		t.Errorf("regret %v is above %v", regret, bound(t, l, u))
	}
	if regret <= psi+.25 {
		t.Errorf("regret %v does not refute the printed %v", regret, psi+.25)
	}
	near(t, "λ_1²", math.Pow(must(NewGradualFTRL(euclidean(set), M, L)).Lambda(), 2), 8*M*M)
	near(t, "λ_1² for L² above 2M²", math.Pow(must(NewGradualFTRL(euclidean(set), 1, L)).Lambda(), 2), 4*L*L)
}

func TestGradual(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	l := must(NewGradualFTRL(euclidean(set), 1, 2))
	var total float64
	for i, a := range []float64{.5, .6, .4, .5} {
		near(t, "λ", l.Lambda(), []float64{4, 4, 4.0012498047, 4.0062451248}[i])
		near(t, "x", l.Predict()[0], []float64{0, .25, .2999062939, .2621375826}[i])
		f := must(loss.NewExample([]float64{1}, a, loss.Squared{}))
		total += f.Value(l.Predict())
		if err := l.UpdateLoss(f); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "loss", total, .2195486398)
	near(t, "Σv", l.state.Change.value(), .06)

	for _, rounds := range []int{4, 1000} {
		l := must(NewGradualFTRL(euclidean(set), 1, 2))
		var regret float64
		for range rounds {
			x := l.Predict()[0]
			regret += (x - .5) * (x - .5)
			if err := l.UpdateLoss(must(loss.NewExample([]float64{1}, .5, loss.Squared{}))); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "linear regret", regret, map[int]float64{4: .41015625, 1000: .48}[rounds])
		// λψ(u) + ‖g_1‖²/λ = .5 + .0625; the a-priori form is λψ(u) + L/2 = 1.5.
		near(t, "bound", bound(t, l, []float64{.5}), .5625)
	}
}

// TestGradualWeights: λ_1 = √max(8M², 4L²), and λ_t·λ_{t−1} ≥ 8M², on both sides of the maximum.
func TestGradualWeights(t *testing.T) {
	set := must(convex.NewCube(1, -1, 1))
	for _, c := range []struct{ M, L, want float64 }{
		{10, 1, math.Sqrt(800)},
		{1, 2, 4},
		{0, .5, 1},
		{1, 1, math.Sqrt(8)},
	} {
		l := must(NewGradualFTRL(euclidean(set), c.M, c.L))
		near(t, "λ_1", l.Lambda(), c.want)
		if l.Lambda()*l.Lambda() < 8*c.M*c.M*(1-1e-15) {
			t.Errorf("M = %v: λ_1² = %v is below 8M²", c.M, l.Lambda()*l.Lambda())
		}
	}
	// The a-priori form of Corollary 7.30, L/2 included, on M-smooth losses with gradients within
	// L.
	r := random.New(1, "c14")
	for range 50 {
		M := logUniform(r, 10)
		L := 2.2 * M
		l := must(NewGradualFTRL(euclidean(set), M, L))
		u := []float64{2*r.Float64() - 1}
		var v, regret float64
		centre, last, lastCentre := 0.0, 0.0, 0.0
		for k := range 60 {
			centre = max(-1, min(1, centre+.2*r.NormFloat64()))
			x := l.Predict()[0]
			if k > 0 {
				v += M * M * (centre - lastCentre) * (centre - lastCentre) // gradients at x_{t−1}
			}
			regret += M / 2 * ((x-centre)*(x-centre) - (u[0]-centre)*(u[0]-centre))
			if err := l.UpdateBoth([]float64{M * (x - centre)}, []float64{M * (last - centre)}); err != nil {
				t.Fatal(err)
			}
			last, lastCentre = x, centre
		}
		lambda := math.Sqrt(max(8*M*M, 4*L*L) + v)
		prior := lambda*u[0]*u[0]/2 + L/2 + 4*math.Sqrt(v)
		if b := bound(t, l, u); b > prior || regret > b+1e-12 {
			t.Errorf("M = %v: regret %v, bound %v, a-priori %v", M, regret, b, prior)
		}
	}
}
