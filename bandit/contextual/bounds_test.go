package contextual

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/policy"
)

// world is a linear instance: vectors of length 1, weights of length 1, normal noise.
type world struct {
	r      *random.Source
	theta  [][]float64 // one for each arm, or one in all
	shared bool
	arms   int
	noise  float64
}

func unit(r *random.Source, dim int) []float64 {
	x := normals(r, dim)
	n := math.Sqrt(inner(x, x))
	for i := range x {
		x[i] /= n
	}
	return x
}

func newWorld(seed uint64, arms, dim int, shared bool, noise float64) *world {
	w := &world{r: random.New(seed, "world"), shared: shared, arms: arms, noise: noise}
	for range arms {
		w.theta = append(w.theta, unit(w.r, dim))
		if shared {
			break
		}
	}
	return w
}

// next draws a context and returns the expected rewards.
func (w *world) next() (Context, []float64) {
	dim, mean := len(w.theta[0]), make([]float64, w.arms)
	c := Context{X: unit(w.r, dim)}
	for k := range mean {
		if w.shared {
			c.Rows = append(c.Rows, unit(w.r, dim))
			mean[k] = inner(c.Rows[k], w.theta[0])
		} else {
			mean[k] = inner(c.X, w.theta[k])
		}
	}
	return c, mean
}

// play returns the regret of rounds with immediate rewards.
func (w *world) play(t testing.TB, p Player, rounds int) float64 {
	regret := 0.0
	for range rounds {
		c, mean := w.next()
		choice := mustDraw(t, p, w.r, c)
		best := mean[0]
		for _, m := range mean {
			best = max(best, m)
		}
		regret += best - mean[choice.Arm]
		if err := p.Update(choice.ID, mean[choice.Arm]+w.noise*stat.Normal(w.r)); err != nil {
			t.Fatal(err)
		}
	}
	return regret
}

// TestLinUCBBounds plays OFUL: the regret must be below the bound of the run, which must be below
// the one of the theorem, and far below that of uniform play in the long run.
func TestLinUCBBounds(t *testing.T) {
	rounds := testsize.Of(4000, 1000)
	for seed := range uint64(testsize.Of(10, 3)) {
		for _, shared := range []bool{false, true} {
			o := LinearOptions{
				PlayerOptions: PlayerOptions{Arms: 3, Dim: 4, Shared: shared, Pending: 100}, Ridge: 1,
				Confidence: &Confidence{Noise: 0.2, Norm: 1, Delta: 0.01},
			}
			p, err := NewLinUCB(o)
			if err != nil {
				t.Fatal(err)
			}
			regret := newWorld(seed, 3, 4, shared, 0.2).play(t, p, rounds)
			bound, theorem := p.Bound(), LinUCBBound(o, rounds, 1)
			if !(regret <= bound && bound <= theorem) {
				t.Errorf("seed %d, shared %v: regret %v, bound %v, theorem %v", seed, shared, regret, bound, theorem)
			}
			if seed == 0 {
				t.Logf("shared %v: regret %.1f, bound %.1f, theorem %.1f", shared, regret, bound, theorem)
			}
		}
	}
}

// TestRadius counts how often the confidence ellipsoid fails at any time: in at most a share δ of
// runs. A radius that is too small by a factor of two fails in most.
func TestRadius(t *testing.T) {
	runs, failed, half := testsize.Of(400, 100), 0, 0
	conf := Confidence{Noise: 1, Norm: 1, Delta: 0.1}
	for seed := range uint64(runs) {
		r := random.New(seed, "radius")
		theta := unit(r, 3)
		g, err := NewRidge(3, 1)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for range 300 {
			x := unit(r, 3)
			if err := g.Update(x, inner(x, theta)+stat.Normal(r), 1); err != nil {
				t.Fatal(err)
			}
			// The most extreme direction is A(θ̂ − θ); random ones suffice here.
			z := unit(r, 3)
			y, _ := g.Predict(z)
			w, _ := g.Width(z)
			worst = max(worst, math.Abs(y-inner(z, theta))/w/conf.Radius(1, g.LogVolume()))
		}
		if worst > 1 {
			failed++
		}
		if worst > 0.5 {
			half++
		}
	}
	t.Logf("%d of %d runs fail, %d with half the radius", failed, runs, half)
	if float64(failed) > 0.1*float64(runs) || half == 0 {
		t.Errorf("%d of %d runs fail, %d with half the radius", failed, runs, half)
	}
}

// TestSquareRegret compares with the regret of the best θ of length at most 1, over bounded
// rewards, the worst of many sequences.
func TestSquareRegret(t *testing.T) {
	for seed := range uint64(testsize.Of(200, 50)) {
		r := random.New(seed, "square")
		g, err := NewRidge(3, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		theta, loss, other := unit(r, 3), 0.0, 0.0
		flip := r.Float64()
		for range 100 {
			x := unit(r, 3)
			p, err := g.Predict(x)
			if err != nil {
				t.Fatal(err)
			}
			p = min(max(p, -1), 1)
			y := min(max(inner(x, theta)+0.5*stat.Normal(r), -1), 1)
			if r.Float64() < flip { // an adversary: far from the prediction
				y = 1
				if p > 0 {
					y = -1
				}
			}
			if err := g.Update(x, y, 1); err != nil {
				t.Fatal(err)
			}
			loss += (p - y) * (p - y)
			other += math.Pow(inner(x, theta)-y, 2)
		}
		if loss-other > g.SquareRegret(1, 2) {
			t.Errorf("seed %d: regret %v, bound %v", seed, loss-other, g.SquareRegret(1, 2))
		}
	}
}

// TestInverseGapLemma looks for rewards that break the lemma of SquareCB. It includes the worst
// case of its proof, for which the two sides are close: a smaller constant fails.
func TestInverseGapLemma(t *testing.T) {
	r, closest := random.New(10, "lemma"), 0.0
	for range testsize.Of(20_000, 5000) {
		arms, gamma := 2+r.IntN(6), math.Exp(2*stat.Normal(r))
		y, f := make([]float64, arms), make([]float64, arms)
		for k := range y {
			y[k] = r.Float64() / gamma * math.Exp(3*stat.Normal(r))
		}
		p, err := policy.Rule{Kind: policy.SquareCB, Gamma: gamma}.Shares(nil, y, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		j := r.IntN(arms)
		for k := range f { // the worst rewards
			f[k] = y[k] - 2/gamma
		}
		f[j] = y[j] + 2*(1-p[j])/(gamma*p[j])
		if r.Float64() < 0.5 {
			for k := range f {
				f[k] += stat.Normal(r) / gamma
			}
		}
		left, right := 0.0, 2*float64(arms-1)/gamma
		for k := range f {
			left += p[k]*(f[j]-f[k]) - gamma/4*p[k]*(y[k]-f[k])*(y[k]-f[k])
		}
		closest = max(closest, left/right)
		if left > right*(1+1e-9) {
			t.Fatalf("γ = %v, ŷ = %v, f = %v: %v > %v", gamma, y, f, left, right)
		}
	}
	t.Logf("closest %v", closest)
	if closest < 0.9 {
		t.Errorf("the worst case is only %v of the bound", closest)
	}
}

// TestSquareCBBound plays with shared ridge regression at the γ of the theorem.
func TestSquareCBBound(t *testing.T) {
	const arms, dim = 4, 3
	rounds := testsize.Of(4000, 1000)
	regret, square := 0.0, 0.0
	seeds := testsize.Of(10, 3)
	// The rewards are in [−1, 1]: expected rewards ±1/2·⟨x, θ⟩ with noise of two values.
	logVolume := dim * math.Log1p(float64(rounds)/dim)
	gamma := SquareCBGamma(arms, rounds, 1+4*logVolume)
	for seed := range uint64(seeds) {
		w := newWorld(seed, arms, dim, true, 0)
		var g *Ridge
		p, err := NewSquareCB(SquareCBOptions{
			PlayerOptions: PlayerOptions{Arms: arms, Dim: dim, Shared: true, Pending: 100}, Gamma: gamma,
			Low: -1, High: 1,
		}, func() (Regressor, error) {
			var err error
			g, err = NewRidge(dim, 1)
			return g, err
		})
		if err != nil {
			t.Fatal(err)
		}
		for range rounds {
			c, mean := w.next()
			choice := mustDraw(t, p, w.r, c)
			best := -1.0
			for _, m := range mean {
				best = max(best, m/2)
			}
			m := mean[choice.Arm] / 2
			regret += best - m
			y := m + 0.5
			if w.r.Float64() < 0.5 {
				y = m - 0.5
			}
			if err := p.Update(choice.ID, y); err != nil {
				t.Fatal(err)
			}
		}
		square += g.SquareRegret(0.5, 2)
	}
	regret, square = regret/float64(seeds), square/float64(seeds)
	bound := SquareCBBound(arms, rounds, square, gamma)
	t.Logf("mean regret %.1f, bound %.1f", regret, bound)
	if regret > bound {
		t.Errorf("mean regret %v, bound %v", regret, bound)
	}
	if best := SquareCBBound(arms, rounds, square, SquareCBGamma(arms, rounds, square)); best > bound+1e-9 ||
		math.Abs(best-math.Sqrt(2*(arms-1)*float64(rounds)*square)) > 1e-9*best {
		t.Errorf("the best γ has the bound %v", best)
	}
}

// TestRegretIsSublinear compares the second half of a run with uniform play.
func TestRegretIsSublinear(t *testing.T) {
	eachPlayer(t, defaultPlayerOptions(3, 3), func(t *testing.T, o PlayerOptions, fresh func() saved) {
		w, p := newWorld(3, 3, 3, o.Shared, 0.3), fresh()
		first, second := w.play(t, p, 1000), w.play(t, p, 1000)
		uniform := 0.0
		for range 1000 {
			_, mean := w.next()
			best := mean[0]
			for _, m := range mean {
				best = max(best, m)
			}
			uniform += best - mean[w.r.IntN(3)]
		}
		t.Logf("%v: %.0f, then %.0f; uniform %.0f", p, first, second, uniform)
		if second > 0.75*uniform {
			t.Errorf("regret %v, then %v; uniform %v", first, second, uniform)
		}
	})
}
