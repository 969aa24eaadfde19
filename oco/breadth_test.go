package oco

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// contender is a learner with random options, and what its regret is counted on: linear losses,
// less what the losses curve.
type contender struct {
	name string
	set  convex.Set
	make func() Learner
	// Losses are ⟨g, x⟩ + (mu/2)‖x − x_t‖² + (along/2)⟨g, x − x_t⟩² + ½Σ_k⟨a_k, x −
	// x_t⟩² + kappa·‖x‖₁, with factors a_k when curved is set.
	mu, along, kappa float64
	curved           bool
	// alpha weighs the rounds of a conversion; counted is the point that its regret is counted at.
	alpha   func(t int) float64
	counted func(l Learner) []float64
	// boundary says that steps may be refused for ending on the boundary of the map's domain.
	boundary bool
	// steep says that its rate is so large that all steps may be.
	steep bool
	// signed says that the bound may be below 0: ψ_T(u) − ψ_1(x_1), for a first hint that came
	// true.
	signed bool
}

// step plays one round of a contender and reports the error of its update.
func (c *contender) step(r *random.Source, l Learner, g []float64, factors [][]float64) error {
	if u, ok := l.(interface {
		UpdateFactors(g []float64, factors ...[]float64) error
	}); ok && c.curved {
		return u.UpdateFactors(g, factors...)
	}
	if s, ok := l.(SparseLearner); ok && r.IntN(2) == 0 {
		var sp Sparse
		for i, v := range g {
			if v != 0 || r.IntN(10) == 0 {
				sp.Index, sp.Value = append(sp.Index, uint32(i)), append(sp.Value, v)
			}
		}
		return s.UpdateSparse(sp)
	}
	if u, ok := l.(Curved); ok && c.mu > 0 && r.IntN(2) == 0 {
		return u.UpdateCurved(g, c.mu)
	}
	return l.Update(g)
}

// hint gives hints in some rounds: none, the gradient itself, or noise.
func hint(t tester, r *random.Source, l Learner, g []float64) {
	t.Helper()
	noise := make([]float64, len(g))
	for i := range noise {
		noise[i] = g[i] + r.NormFloat64()*vec.MaxAbs(g)
	}
	choice := r.IntN(3)
	switch h := l.(type) {
	case *HintExperts:
		if choice > 0 {
			if err := h.Hints([][]float64{noise, g, make([]float64, len(g))}); err != nil {
				t.Fatalf("hints: %v", err)
			}
		}
	case Hinted:
		for range choice { // a second call replaces the first
			err := h.Hint([][]float64{noise, g}[r.IntN(2)])
			if _, ok := l.(*OptimisticMirrorDescent); err != nil && !(ok && noregret.CodeOf(err) == noregret.BadInput) {
				t.Fatalf("hint: %v", err) // hints that step out of the map's domain are refused
			}
		}
	}
}

// regret is that of the losses in the contender's doc comment, and the size of its terms.
func (c *contender) regret(rounds []played, u []float64) (regret, size float64) {
	var total sum
	for k, p := range rounds {
		alpha := 1.0
		if c.alpha != nil {
			alpha = c.alpha(k + 1)
		}
		var inner, square float64
		for i, g := range p.g {
			diff := p.x[i] - u[i]
			inner += g * diff
			square += diff * diff
			size += alpha * math.Abs(g) * (math.Abs(p.x[i]) + math.Abs(u[i]))
			total.add(c.kappa * (math.Abs(p.x[i]) - math.Abs(u[i])))
			size += c.kappa * (math.Abs(p.x[i]) + math.Abs(u[i]))
		}
		curve := c.mu*square + c.along*inner*inner
		for _, a := range p.factors {
			var s float64
			for i, v := range a {
				s += v * (p.x[i] - u[i])
			}
			curve += s * s
		}
		size += curve
		total.add(alpha*inner - curve/2)
	}
	return total.value(), size
}

// kinds are the sequences of the breadth test, those of [gradient] and more.
var kinds = append(slices.Clone(sequences), "blocks", "mixed")

func drawGradient(r *random.Source, kind string, t int, x []float64) []float64 {
	switch kind {
	case "blocks": // what lazy and greedy learners lose most on
		g := make([]float64, len(x))
		for i := range g {
			g[i] = math.Copysign(1, math.Sin(float64(t)/(10+float64(i))))
		}
		return g
	case "mixed":
		return gradient(r, sequences[r.IntN(5)], t, x, r.IntN(2) == 0)
	}
	return gradient(r, kind, t, x, false)
}

// tolerance is by how much a point may miss the set. Simplices and l1 balls project vectors far
// from them to within a rounding of the vector's size only.
func tolerance(set convex.Set) float64 {
	switch set.(type) {
	case *convex.Box, *convex.Space:
		return 0
	case *convex.Ball, *convex.Halfspace:
		return 1e-12
	}
	return 1e-9
}

// contest plays n rounds and checks the regret against the bound at the end.
func (c *contender) contest(t tester, r *random.Source, kind string, n int) {
	t.Helper()
	if (c.curved || c.along > 0) && (kind == "heavy" || kind == "zero then huge") {
		kind = "mixed" // their matrices lose their smallest eigenvalues to rounding, which they report as diverged
	}
	l := c.make()
	d := l.Dim()
	sum := make([]float64, d)
	var rounds []played
	refused := 0
	for round := range n {
		x := l.Predict()
		g := drawGradient(r, kind, round, x)
		hint(t, r, l, g)
		x = l.Predict()
		if !c.set.Contains(x, tolerance(c.set)) {
			t.Fatalf("%s: %s: x_%d = %v is not in the set (Σ = %v)", c.name, kind, round+1, x, vec.Sum(x))
		}
		if s, ok := l.(SparseLearner); ok {
			if i := r.IntN(d); math.Abs(s.At(i)-x[i]) > 1e-12*max(1, math.Abs(x[i])) {
				t.Fatalf("%s: At(%d) = %v, Predict has %v", c.name, i, s.At(i), x[i])
			}
		}
		if c.counted != nil {
			x = c.counted(l)
		}
		p := played{x: slices.Clone(x), g: g}
		if c.curved && r.IntN(3) > 0 {
			for range 1 + r.IntN(2) {
				p.factors = append(p.factors, gradient(r, "gaussian", round, x, true))
			}
		}
		if err := c.step(r, l, g, p.factors); err != nil {
			if refused++; !c.boundary {
				t.Fatalf("%s: round %d refused: %v", c.name, round+1, err)
			}
			continue
		}
		rounds = append(rounds, p)
		for i, v := range g {
			sum[i] += v
		}
	}
	if refused == n && n > 20 && kind == "gaussian" && !c.steep {
		t.Fatalf("%s: all rounds were refused", c.name)
	}
	us := comparators(r, c.set, sum)
	us = append(us, pointIn(r, c.set), slices.Clone(c.make().Predict()), slices.Clone(l.Predict()))
	for _, u := range us {
		if !c.set.Contains(u, 1e-9) {
			continue
		}
		b, err := l.(Bounder).Bound(u)
		if err != nil || math.IsNaN(b) {
			t.Fatalf("%s: Bound(%v) = %v, %v", c.name, u, b, err)
		}
		if s, ok := l.(SharpBounder); ok {
			sharp, err := s.SharpBound(u)
			if err != nil || !(sharp <= b) {
				t.Fatalf("%s: SharpBound(%v) = %v, %v, above %v", c.name, u, sharp, err, b)
			}
			b = sharp
		}
		if regret, size := c.regret(rounds, u); regret > b+1e-9*math.Abs(b)+1e-12+1e-13*size {
			t.Fatalf("%s: %s: T = %d: regret %v against %v is above the bound %v (sizes %v)", c.name, kind, n, regret,
				u, b, size)
		}
	}
}

// TestRegretBoundBreadth: every learner of the package, in and outside the catalogue, with random
// options, starts, centres, hints, regularizers and wrappers, near the origin and up to 1e8 from
// it.
func TestRegretBoundBreadth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		d := rapid.IntRange(1, 50).Draw(t, "d")
		n := rapid.IntRange(1, 400/d+10).Draw(t, "T")
		if rapid.IntRange(0, 30).Draw(t, "long") == 30 {
			n *= 100 / min(d, 10)
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "sequence")
		r := random.New(seed, "oco/breadth")
		all := contenders(r, d, n)
		for range min(len(all), 40) { // of some 200
			c := all[r.IntN(len(all))]
			c.contest(t, r, kind, n)
		}
	})
}

// TestRegretBoundBreadthLong plays every learner at large sizes, up to d = 50
// and T = 5,000 at once.
func TestRegretBoundBreadthLong(t *testing.T) {
	testsize.NoRace(t)
	if testing.Short() {
		t.Skip("short")
	}
	for i, size := range [][2]int{{50, 5000}, {1, 5000}, {7, 1000}} {
		seed := uint64(200 + i)
		d, n := size[0], testsize.Of(size[1], size[1]/10)
		t.Run(fmt.Sprintf("d=%d,T=%d", d, n), func(t *testing.T) {
			t.Logf("seed %d", seed)
			r := random.New(seed, "oco/breadth/long")
			seen := map[string]int{}
			for k, c := range contenders(r, d, n) {
				name, _, _ := bytes.Cut([]byte(c.name), []byte("#"))
				rounds, limit := n, 1000
				if c.curved || c.along > 0 {
					limit = 6 // O(d³) a round
				}
				if seen[string(name)]++; d == 50 && seen[string(name)] > 1+limit/1000 {
					rounds = n / 50
				}
				c.contest(t, r, kinds[k%len(kinds)], rounds)
			}
		})
	}
}

// TestRegretBoundSmooth is the bound of [GradualFTRL] on smooth losses that change little, and of
// [ExactFTRL] on strongly convex ones.
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

// TestAnytime: for one convex function F in all rounds, the last point has F(w_T) − F(u) ≤
// Bound(u)/Σα, without an expectation.
func TestAnytime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, _ := drawGame(t, 8, 200)
		set := must(convex.NewCube(d, -1, 1))
		for _, alpha := range []Alpha{UniformAlpha(), LinearAlpha(), InverseSqrtAlpha(2)} {
			l := must(NewAnytime(descent(set, nil, Adaptive(set.Diameter()*math.Sqrt2/2)), alpha))
			u := pointIn(r, set)
			F := func(x []float64) (s float64) { // Σ i·|x_i − u_i|, least at u
				for i, v := range x {
					s += float64(i+1) * math.Abs(v-u[i])
				}
				return s
			}
			var total float64
			var w []float64
			for k := range n {
				w = slices.Clone(l.Predict())
				g := make([]float64, d)
				for i, v := range w {
					g[i] = float64(i+1) * math.Copysign(1, v-u[i])
				}
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
				total += alpha.f(k + 1)
			}
			if b := must(l.Bound(u)) / total; F(w) > b+1e-9*math.Abs(b) {
				t.Fatalf("alpha %s: F(w_%d) = %v is above %v", alpha.name, n, F(w), b)
			}
		}
	})
}
