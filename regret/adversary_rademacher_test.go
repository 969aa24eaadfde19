package regret_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func TestRademacherFloor(t *testing.T) {
	set := must(convex.NewCenteredBall(2, 1))
	g := must(regret.NewRademacher(set, nil, nil, 1, 1)) // D = 2, so that the floor is E|S_T|
	for rounds, want := range map[int]float64{
		1: 1, 2: 1, 3: 1.5, 4: 1.5, 5: 1.875, 10: 2.4609375, 16: 3.1420898438, 64: 6.3581922399, 100: 7.9589237387,
		1000: 25.2250181784,
	} {
		if got := g.Floor(rounds); math.Abs(got-want) > 6e-11 {
			t.Errorf("E|S_%d| = %.12g, want %.12g", rounds, got, want)
		}
		if g.Floor(rounds) < math.Sqrt(float64(rounds)/2) {
			t.Errorf("E|S_%d| is below √(T/2)", rounds)
		}
	}
	// Against exact binomials.
	for _, n := range []int{2, 81, 82, 83, 84, 999, 5000, 20001} {
		c := new(big.Int).Binomial(int64(n-1), int64((n-1)/2))
		want, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(c.Mul(c, big.NewInt(int64(n)))), -(n - 1)).Float64()
		if got := g.Floor(n); math.Abs(got/want-1) > 2e-15 {
			t.Errorf("E|S_%d| = %.17g, want %.17g", n, got, want)
		}
	}
}

// signs is a game with given signs.
type signs struct {
	*regret.Rademacher
	s string
	t int
}

func (g *signs) Next(x []float64) (loss.Function, error) {
	f, err := g.Rademacher.Next(x)
	if err != nil {
		return nil, err
	}
	v, w := g.Ends()
	n := 0.0
	for i := range v {
		n += (v[i] - w[i]) * (v[i] - w[i])
	}
	c := f.(*loss.Linear).C
	for i := range c {
		c[i] = (v[i] - w[i]) / math.Sqrt(n)
		if g.s[g.t] == '-' {
			c[i] = -c[i]
		}
	}
	g.t++
	return f, nil
}

func (g *signs) Restart() { g.t = 0; g.Rademacher.Restart() }

func TestRademacherExample(t *testing.T) {
	set := must(convex.NewCenteredBall(2, 1))
	g := &signs{must(regret.NewRademacher(set, nil, nil, 1, 1)), "+-++-+-+", 0}
	near(t, "regret", play(t, descent(set, oco.FixedHorizon(2, 1, 8)), g, 8).Regret, 3.4142135624)
}

// signedSum records Σ ε_t ⟨z, x_t − m⟩ of a game of signs.
type signedSum struct {
	*regret.Rademacher
	z, m []float64
	sum  float64
}

func (g *signedSum) Next(x []float64) (loss.Function, error) {
	before := g.Sum()
	f, err := g.Rademacher.Next(x)
	for i := range x {
		g.sum += float64(g.Sum()-before) * g.z[i] * (x[i] - g.m[i])
	}
	return f, err
}

func TestRademacherRegretAndMean(t *testing.T) {
	const rounds, l = 40, 1.5
	seeds := testsize.Of(2000, 150)
	for _, set := range []convex.Set{
		must(convex.NewBall([]float64{1, 2}, 0.5)), must(convex.NewBox([]float64{-1, 0, 2}, []float64{0, 2, 2})),
		must(convex.NewSimplex(3)),
	} {
		for _, name := range []string{
			"ogd-fixed", "ogd-adaptive", "adahedge", "ftrl", "eg", "scale-free-hedge",
			"linear-leader", "adagrad",
		} {
			e := must(oco.Find(name))
			if _, err := e.New(problem(set, rounds, linearFacts(l, l)), nil); err != nil {
				continue
			}
			t.Run(fmt.Sprintf("%s on %v", name, set), func(t *testing.T) {
				var mean, square, floor float64
				for seed := range uint64(seeds) {
					g := &signedSum{Rademacher: must(regret.NewRademacher(set, nil, nil, l, seed))}
					v, w := g.Ends()
					d := 0.0
					for i := range v {
						d += (v[i] - w[i]) * (v[i] - w[i])
					}
					d = math.Sqrt(d)
					for i := range v {
						g.z, g.m = append(g.z, (v[i]-w[i])/d), append(g.m, (v[i]+w[i])/2)
					}
					if !g.Extreme() {
						t.Fatal("v and w are not extreme")
					}
					learner := must(e.New(problem(set, rounds, linearFacts(l, l)), nil))
					c := play(t, learner, g, rounds)
					want := l*g.sum + l*d/2*math.Abs(float64(g.Sum()))
					if math.Abs(c.Regret-want) > 1e-12*rounds {
						t.Fatalf("seed %d: regret %v, by the signed sum %v", seed, c.Regret, want)
					}
					mean += c.Regret / float64(seeds)
					square += c.Regret * c.Regret / float64(seeds)
					floor = g.Floor(rounds)
				}
				sd := math.Sqrt(max(square-mean*mean, 0) / float64(seeds))
				if math.Abs(mean-floor) > 4*sd+1e-9 {
					t.Errorf("mean regret %v ± %v, the exact expectation is %v", mean, sd, floor)
				}
			})
		}
	}
}

// TestConstantOfExponentiatedGradient shows that the book's constant √2/2 for exponentiated
// gradient is wrong: the floor is above it.
func TestConstantOfExponentiatedGradient(t *testing.T) {
	for _, rounds := range []int{10, 100, 10000} {
		set := must(convex.NewSimplex(2))
		g := must(regret.NewRademacher(set, nil, nil, math.Sqrt2, 1)) // g = ε·(1, −1), L∞ = 1
		floor, order := g.Floor(rounds), math.Sqrt(float64(rounds)*math.Ln2)
		near(t, "floor", floor,
			must(regret.NewRademacher(must(convex.NewCenteredBall(1, 1)), nil, nil, 1, 1)).Floor(rounds))
		if printed := math.Sqrt2 / 2 * order; floor <= printed {
			t.Errorf("T = %d: the floor %v does not refute the printed bound %v", rounds, floor, printed)
		}
		if mended := math.Sqrt2 * order; floor > mended {
			t.Errorf("T = %d: the floor %v is above the corrected bound %v", rounds, floor, mended)
		}
		// The tuned learner against the derandomized game stays above the printed bound and below
		// the corrected one.
		eg := must(must(oco.Find("eg")).New(problem(set, rounds, linearFacts(math.Sqrt2, 1)),
			nil))
		c := play(t, eg, must(regret.NewMinimax(set, nil, nil, math.Sqrt2, rounds)), rounds)
		if c.Regret <= math.Sqrt2/2*order || !c.Holds() {
			t.Errorf("T = %d: regret %v of bound %v, printed %v", rounds, c.Regret, c.Bound, math.Sqrt2/2*order)
		}
	}
}
