package dp

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

func selectorConfig(t testing.TB, candidates int, n int64) SelectorConfig {
	t.Helper()
	return SelectorConfig{
		Candidates: candidates, Lattice: newLattice(t, 4, n, LInf, 1), Width: 2, Protection: PerRecord(),
		Budget: zcdp(t, 1, 1e-4),
	}
}

// TestOracleO7Frequencies compares the choices with the exact softmax.
func TestOracleO7Frequencies(t *testing.T) {
	runs := int64(testsize.Of(60_000, 20_000))
	c := selectorConfig(t, 6, runs)
	c.Budget, _ = PureBudget(1e6) // 1 or so per selection
	s, err := NewSelector(c, WithInsecureDeterministicNoiseForTesting(1))
	if err != nil {
		t.Fatal(err)
	}
	b := s.Temperature(1)
	scores := make([]int64, 6)
	probabilities, total := make([]float64, 6), 0.0
	for v := range scores {
		scores[v] = int64(b*[]float64{0.5, -1, 2.7, 0, 0.01, 9}[v]) - 1<<50
		probabilities[v] = math.Exp(-float64(scores[v]-scores[1]) / b)
		total += probabilities[v]
	}
	for v := range probabilities {
		probabilities[v] /= total
	}
	counts := make([]int, 6)
	for range runs {
		v, err := s.Choose(scores)
		if err != nil {
			t.Fatal(err)
		}
		counts[v]++
	}
	chiSquare(t, "choices", counts, probabilities)
}

// TestOracleO7LogRatio bounds how the law changes when one unit changes, exactly: the probabilities
// of the exponential mechanism are known in closed form, those of Laplace noise by summation.
func TestOracleO7LogRatio(t *testing.T) {
	for _, noise := range []SelectionNoise{Exponential, Laplace} {
		c := selectorConfig(t, 8, 1000)
		c.Noise = noise
		s, err := NewSelector(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []int64{1, 30, 1000} {
			b, limit := s.Temperature(step), float64(c.Lattice.Limit())
			eta := s.loss(step)
			// The scores are ±S_j; one record moves S by a vector of l-infinity norm 2·limit.
			trials := 200
			if noise == Laplace {
				trials = 24
			}
			for trial := range trials {
				before, after := make([]float64, 8), make([]float64, 8)
				for j := range 4 {
					x := b * math.Sin(float64(7*trial+j)) * 2
					move := 2 * limit * math.Sin(float64(3*trial+5*j))
					if trial%3 == 0 {
						move = math.Copysign(2*limit, move)
					}
					before[2*j], before[2*j+1] = x, -x
					after[2*j], after[2*j+1] = x+move, -x-move
				}
				p, q := laws(noise, before, b), laws(noise, after, b)
				low, high := math.Inf(1), math.Inf(-1)
				for v := range p {
					ratio := math.Log(p[v] / q[v])
					low, high = min(low, ratio), max(high, ratio)
				}
				if width := max(high, -low); width > eta*(1+1e-6) || noise == Exponential && high-low > eta*(1+1e-6) {
					t.Fatalf("noise %d, step %d: log ratios from %g to %g, eta %g", noise, step, low, high, eta)
				}
			}
		}
	}
}

// laws returns the probabilities of the candidates.
func laws(noise SelectionNoise, scores []float64, b float64) []float64 {
	p := make([]float64, len(scores))
	total := 0.0
	if noise == Exponential {
		for v, s := range scores {
			p[v] = math.Exp(-s / b)
			total += p[v]
		}
	} else { // integrate over the noisy value of v the probability that all others are above
		tail := func(x float64) float64 {
			if x < 0 {
				return 1 - math.Exp(x)/2
			}
			return math.Exp(-x) / 2
		}
		const h = 0.02
		for x := -25.0; x < 25; x += h {
			for v, s := range scores {
				f := math.Exp(-math.Abs(x-s/b)) / 2 * h
				for w, o := range scores {
					if w != v {
						f *= tail(x - o/b)
					}
				}
				p[v] += f
				total += f
			}
		}
	}
	for v := range p {
		p[v] /= total
	}
	return p
}

// TestOracleO7Budget checks that the costs of the selections add up to the budget.
func TestOracleO7Budget(t *testing.T) {
	for _, n := range []int64{1, 2, 1000, 20_000} {
		for _, noise := range []SelectionNoise{Exponential, Laplace} {
			c := selectorConfig(t, 4, n)
			c.Noise = noise
			s, err := NewSelector(c)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for i := int64(1); i <= n; i++ {
				sum += s.Rho(i)
			}
			near(t, "sum of rho", sum/c.Budget.Rho(), 1, 1e-12)
			if err := s.Resume(n); err != nil {
				t.Fatal(err)
			}
			near(t, "spent", s.Spent()/c.Budget.Rho(), 1, 2e-9)
			if _, err := s.Choose(make([]int64, 4)); !errors.Is(err, ErrHorizon) || s.Steps() != n {
				t.Errorf("selection %d: %v, want ErrHorizon", n+1, err)
			}
			// The temperatures in units of the clip: Γ = 2·2·C.
			factor := 8.0
			if noise == Laplace {
				factor = 2
			}
			want := 4 * float64(c.Lattice.Limit()) * math.Sqrt(float64(n)*harmonicNumber(n)/(factor*c.Budget.Rho()))
			near(t, "temperature", s.Temperature(n)/want, 1, 1e-6)
		}
	}
	c := selectorConfig(t, 4, 1<<20)
	c.Unbounded = true
	s, err := NewSelector(c)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i := int64(1); i <= 1<<20; i++ {
		sum += s.share(i)
	}
	// The rest of the sum is below ∫ dx/(2.1098·x·ln²x).
	if rest := 1 / (2.1098 * math.Log(1<<20)); sum+rest > 1 || sum < 0.9 {
		t.Errorf("the shares of an unbounded selector add up to %g + %g", sum, rest)
	}
}

func TestSelectorErrors(t *testing.T) {
	good := selectorConfig(t, 4, 10)
	for name, c := range map[string]struct {
		change func(*SelectorConfig)
		want   error
	}{
		"no candidates": {func(c *SelectorConfig) { c.Candidates = 0 }, ErrDimension},
		"no width":      {func(c *SelectorConfig) { c.Width = 0 }, ErrBound},
		"NaN width":     {func(c *SelectorConfig) { c.Width = math.NaN() }, ErrBound},
		"no budget":     {func(c *SelectorConfig) { c.Budget = Budget{} }, ErrEpsilon},
		"GDP":           {func(c *SelectorConfig) { c.Budget = gdp(t, 1, 1e-4) }, ErrUnitMismatch},
		"no protection": {func(c *SelectorConfig) { c.Protection = Protection{} }, ErrUnitMismatch},
		"no lattice":    {func(c *SelectorConfig) { c.Lattice = nil }, ErrLattice},
		"unknown noise": {func(c *SelectorConfig) { c.Noise = 7 }, ErrNorm},
		"overflow":      {func(c *SelectorConfig) { c.Width = 1e30 }, ErrLattice},
	} {
		config := good
		c.change(&config)
		if _, err := NewSelector(config); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	s, err := NewSelector(good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Choose(make([]int64, 3)); !errors.Is(err, ErrDimension) || s.Steps() != 0 {
		t.Errorf("three scores: %v", err)
	}
	if _, err := s.Choose([]int64{0, math.MinInt64, 0, 0}); !errors.Is(err, ErrLattice) || s.Steps() != 0 {
		t.Errorf("a huge score: %v", err)
	}
	if _, err := PureBudget(0); !errors.Is(err, ErrEpsilon) {
		t.Errorf("pure budget 0: %v", err)
	}
	s.Close()
	if _, err := s.Choose(make([]int64, 4)); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed selector: %v", err)
	}
	z, err := NewZeroSelector(3)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := z.Choose([]int64{5, 2, 2}); v != 1 || err != nil || z.Private() {
		t.Errorf("without noise candidate %d, %v", v, err)
	}
}

// Secure choices differ from run to run, and n = 1 is private as well: H_1 = 1, where ln 1 = 0
// would mean no noise.
func TestSelectorHasNoiseAtOneStep(t *testing.T) {
	chosen := map[int]bool{}
	for range 200 {
		s, err := NewSelector(selectorConfig(t, 4, 1))
		if err != nil {
			t.Fatal(err)
		}
		if !s.Private() {
			t.Fatal("not private")
		}
		v, err := s.Choose([]int64{0, 1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		chosen[v] = true
	}
	if len(chosen) != 4 {
		t.Errorf("only %d of 4 equal candidates are chosen", len(chosen))
	}
}
