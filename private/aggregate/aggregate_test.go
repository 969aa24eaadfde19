package aggregate

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// small is a configuration of two arms and two metrics, with a kind of noise or, if that is 0, the
// default one.
func small(kind dp.StreamKind) Config {
	c := DefaultConfig(2, []Range{{0, 1}, {-3, 50}}, 4)
	c.Contribution, c.Epsilon, c.Delta = 2, 1, 1e-6
	if kind != 0 {
		c.Kind = kind
	}
	return c
}

// seeded returns sums with noise from a seed.
func seeded(t *testing.T, c Config, seed uint64) *Sums {
	t.Helper()
	s, err := New(c, dp.WithInsecureFastNoiseForTesting(seed))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSensitivity goes through all neighbours of a small world: two decisions of a unit, each in
// any arm and round, with any values at the ends and in the middle of the ranges, and any other
// values in the neighbour. What they move the mechanism by, in standard deviations of its noise, is
// at most the μ of the budget, and almost that in the worst case. The mechanism is computed here
// anew: the square root of the prefix sums, and the nodes of the counter.
func TestSensitivity(t *testing.T) {
	budget := must(dp.GaussianMu(1, 1e-6))
	for _, kind := range []dp.StreamKind{dp.SquareRoot, dp.Tree, dp.Honaker} {
		s := seeded(t, small(kind), 1)
		m, rounds := 2, 4
		rows := nodes(kind, rounds)
		perDraw := s.Deviation(1, 0) / s.Resolution(0) // the standard deviation of one draw
		worst := 0.0
		differences := [][]int64{}
		for _, a := range values {
			for _, b := range values {
				differences = append(differences, difference(s, a, b))
			}
		}
		for place := range 2 * rounds * 2 * rounds { // arm and round of both decisions
			for _, first := range differences {
				for _, second := range differences {
					g := make([][]float64, rounds) // the moved increments
					for r := range g {
						g[r] = make([]float64, 2*m)
					}
					for i := range m {
						g[place/2%rounds][place%2*m+i] += float64(first[i])
						g[place/2/rounds/2%rounds][place/2/rounds%2*m+i] += float64(second[i])
					}
					worst = max(worst, moved(rows, g)/perDraw)
				}
			}
		}
		t.Logf("%s: μ = %.6f, budget %.6f", kind, worst, budget)
		if worst > budget || worst < 0.999*budget {
			t.Errorf("%s: neighbours are %v apart, the budget is %v", kind, worst, budget)
		}
	}
}

// values are the decisions of the small world.
var values = [][]float64{
	{0, -3},
	{0, 50},
	{1, -3},
	{1, 50},
	{0.5, 23.5},
	{math.NaN(), math.Inf(1)},
	{-7, 1e300},
}

// difference is what the sums of a round move by if a decision has values a instead of b.
func difference(s *Sums, a, b []float64) []int64 {
	x, y := make([]int64, len(a)), make([]int64, len(a))
	s.Quantize(a, x)
	s.Quantize(b, y)
	for i := range x {
		x[i] -= y[i]
	}
	return x
}

// nodes are the rows that the mechanism adds noise to, one draw each.
func nodes(kind dp.StreamKind, rounds int) (rows [][]float64) {
	if kind == dp.SquareRoot {
		c := []float64{1}
		for k := 1; k < rounds; k++ {
			c = append(c, c[k-1]*float64(2*k-1)/float64(2*k))
		}
		for t := range rounds {
			row := make([]float64, rounds)
			for i := range t + 1 {
				row[i] = c[t-i]
			}
			rows = append(rows, row)
		}
		return rows
	}
	for size := 1; size <= rounds; size *= 2 {
		for begin := 0; begin+size <= rounds; begin += size {
			row := make([]float64, rounds)
			for i := range size {
				row[begin+i] = 1
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// moved is the Frobenius norm of rows·g.
func moved(rows, g [][]float64) float64 {
	sum := 0.0
	for _, row := range rows {
		for j := range g[0] {
			v := 0.0
			for r, c := range row {
				v += c * g[r][j]
			}
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}

// TestSumsAreExact compares the releases without noise, and the mean of many with noise, with the
// sums of the values.
func TestSumsAreExact(t *testing.T) {
	r := random.New(1, "aggregate")
	c := small(0)
	exact := must(NewWithoutNoise(c))
	const runs = 200
	noisy := make([]*Sums, runs)
	for i := range noisy {
		noisy[i] = seeded(t, c, uint64(i))
	}
	last := make([][]float64, runs)
	want, out, row := make([]float64, 4), make([]float64, 4), make([]int64, 2)
	for round := range int64(4) {
		sums := make([]int64, 4)
		for range 1000 {
			k, v := r.IntN(2), []float64{float64(r.IntN(2)), -3 + 53*r.Float64()}
			exact.Quantize(v, row)
			for i := range row {
				sums[2*k+i] += row[i]
				want[2*k+i] += v[i] - exact.Midpoint(i)
			}
		}
		if err := exact.Step(sums, out); err != nil {
			t.Fatal(err)
		}
		for j, v := range out { // metric 0 loses nothing, metric 1 half an integer per value
			if d := math.Abs(v - want[j]); j%2 == 0 && d > 1e-9 || d > 2000*exact.Resolution(1) {
				t.Errorf("round %d: sum %d is %v, want %v", round+1, j, v, want[j])
			}
		}
		if exact.Limit() != noisy[0].Limit() {
			t.Fatalf("L is %d without noise and %d with it", exact.Limit(), noisy[0].Limit())
		}
		for j := range out {
			exact := out[j]
			mean, square := 0.0, 0.0
			for run, s := range noisy {
				o := make([]float64, 4)
				if j == 0 {
					if err := s.Step(sums, o); err != nil {
						t.Fatal(err)
					}
					last[run] = o
				}
				d := (last[run][j] - exact) / s.Deviation(round+1, j%2)
				mean += d / runs
				square += d * d / runs
			}
			if math.Abs(mean) > 5/math.Sqrt(runs) || math.Abs(square-1) > 5*math.Sqrt(2.0/runs) {
				t.Errorf("round %d, sum %d: noise has mean %v, variance %v", round+1, j, mean, square)
			}
		}
	}
}

// TestBetween compares the bound of differences with the scatter of many runs.
func TestBetween(t *testing.T) {
	const runs = 400
	for _, kind := range []dp.StreamKind{dp.SquareRoot, dp.Tree, dp.Honaker, dp.Doubling} {
		c := small(kind)
		c.Arms, c.Metrics, c.Contribution, c.Rounds = 1, []Range{{0, 1}}, 1, 16
		var square [17][17]float64
		var s *Sums
		for run := range runs {
			s = seeded(t, c, uint64(run))
			path := []float64{0}
			for range 16 {
				out := []float64{0}
				if err := s.Step([]int64{0}, out); err != nil {
					t.Fatal(err)
				}
				path = append(path, out[0])
			}
			for i := range path {
				for j := range i {
					square[i][j] += (path[i] - path[j]) * (path[i] - path[j]) / runs
				}
			}
		}
		for i := range square {
			for j := range i {
				bound := s.Between(int64(j), int64(i), 0)
				if square[i][j] > bound*bound*(1+5*math.Sqrt(2.0/runs)) {
					t.Errorf("%s: rounds %d and %d differ by %v, the bound is %v", kind, j, i, math.Sqrt(square[i][j]),
						bound)
				}
			}
		}
		if s.Between(3, 3, 0) != 0 || s.Deviation(0, 0) != 0 {
			t.Error("no rounds have noise")
		}
	}
}

// TestQuantize holds the bound for every input, and the ends and the middle of the range exactly.
func TestQuantize(t *testing.T) {
	s := seeded(t, small(0), 1)
	out := []int64{0, 0}
	l := s.Limit()
	for _, c := range []struct {
		in   []float64
		want []int64
	}{
		{[]float64{0, -3}, []int64{-l, -l}},
		{[]float64{1, 50}, []int64{l, l}},
		{[]float64{0.5, 23.5}, []int64{0, 0}},
		{[]float64{math.Inf(-1), math.Inf(1)}, []int64{-l, l}},
		{[]float64{-math.MaxFloat64, math.MaxFloat64}, []int64{-l, l}},
		{[]float64{math.NaN(), math.NaN()}, []int64{0, 0}},
	} {
		s.Quantize(c.in, out)
		if out[0] != c.want[0] || out[1] != c.want[1] {
			t.Errorf("Quantize(%v) = %v, want %v", c.in, out, c.want)
		}
	}
	r := random.New(1, "quantize")
	for range 1000 {
		v := []float64{math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())}
		s.Quantize(v, out)
		if out[0] > l || out[0] < -l || out[1] > l || out[1] < -l {
			t.Errorf("Quantize(%v) = %v is beyond %d", v, out, l)
		}
	}
	wide := small(0)
	wide.Metrics = []Range{{-1e307, 1e307}, {-1e-300, 1e-300}}
	seeded(t, wide, 1).Quantize([]float64{1e307, 1e-300}, out)
	if out[0] != out[1] || out[0] <= 0 {
		t.Errorf("the ends of wide and narrow ranges are %v", out)
	}
}

// TestRefused has every error of the configuration and of the steps.
func TestRefused(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		change func(*Config)
		is     error
		text   string
	}{
		{func(c *Config) { c.Arms = 0 }, nil, "arms"},
		{func(c *Config) { c.Arms = 1 << 21 }, nil, "arms"},
		{func(c *Config) { c.Metrics = nil }, nil, "metrics"},
		{func(c *Config) { c.Arms = 1 << 20 }, nil, "metrics"},
		{func(c *Config) { c.Metrics = []Range{{0, 1}, {1, 1}} }, dp.ErrBound, "metrics[1]"},
		{func(c *Config) { c.Metrics = []Range{{0, inf}} }, dp.ErrBound, "metrics[0]"},
		{func(c *Config) { c.Metrics = []Range{{nan, 1}} }, dp.ErrBound, "metrics[0]"},
		{func(c *Config) { c.Metrics = []Range{{-1.7e308, 1.7e308}} }, dp.ErrBound, "metrics[0]"},
		{func(c *Config) { c.Metrics = []Range{{0, 5e-324}} }, dp.ErrBound, "metrics[0]"},
		{func(c *Config) { c.Contribution = 0 }, dp.ErrUnitMismatch, "contribution"},
		{func(c *Config) { c.Contribution = 1<<20 + 1 }, dp.ErrUnitMismatch, "contribution"},
		{func(c *Config) { c.Rounds = 0 }, dp.ErrHorizon, "rounds"},
		{func(c *Config) { c.Rounds = 1<<16 + 1 }, dp.ErrHorizon, "rounds"},
		{func(c *Config) { c.Batch = 0 }, dp.ErrHorizon, "batch"},
		{func(c *Config) { c.Batch = -1 }, dp.ErrHorizon, "batch"},
		{func(c *Config) { c.Batch = 1 << 31 }, dp.ErrHorizon, "batch"},
		{func(c *Config) { c.Epsilon = 0 }, dp.ErrEpsilon, "epsilon"},
		{func(c *Config) { c.Epsilon = nan }, dp.ErrEpsilon, "epsilon"},
		{func(c *Config) { c.Delta = 0 }, dp.ErrDelta, "delta"},
		{func(c *Config) { c.Delta = 1 }, dp.ErrDelta, "delta"},
		{func(c *Config) { c.Kind = 0 }, dp.ErrNorm, "kind"},
		{func(c *Config) { c.Kind = 99 }, dp.ErrNorm, "kind"},
		{func(c *Config) { *c = Config{} }, nil, "arms"},
		{func(c *Config) { c.Kind, c.Batch, c.Rounds = dp.SquareRoot, 1<<31-1, 500 }, dp.ErrLattice, "spacing"},
	} {
		config := small(0)
		c.change(&config)
		_, err := New(config)
		if err == nil || !strings.Contains(err.Error(), c.text) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%+v: error %v, want %q and %v", config, err, c.text, c.is)
		}
	}
	s := seeded(t, small(0), 1)
	out := make([]float64, 4)
	for _, c := range []struct {
		sums []int64
		out  []float64
		is   error
	}{
		{make([]int64, 3), out, dp.ErrDimension},
		{make([]int64, 4), out[:3], dp.ErrDimension},
		{[]int64{0, 0, 0, s.Limit()<<24 + 1}, out, dp.ErrBound},
		{[]int64{math.MinInt64, 0, 0, 0}, out, dp.ErrBound},
	} {
		if err := s.Step(c.sums, c.out); !errors.Is(err, c.is) || s.Rounds() != 0 {
			t.Errorf("Step(%v): %v after %d rounds, want %v", c.sums, err, s.Rounds(), c.is)
		}
	}
	for range 4 {
		if err := s.Step([]int64{s.Limit() << 24, 0, 0, -s.Limit() << 24}, out); err != nil {
			t.Error(err)
		}
	}
	if err := s.Step(make([]int64, 4), out); !errors.Is(err, dp.ErrHorizon) {
		t.Errorf("after the last round: %v", err)
	}
	s.Close()
	if err := s.Step(make([]int64, 4), out); !errors.Is(err, dp.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := s.MarshalBinary(); !errors.Is(err, dp.ErrClosed) {
		t.Errorf("snapshot after Close: %v", err)
	}
}

// TestKind checks the default kind and that it has the least noise of all.
func TestKind(t *testing.T) {
	c := small(0)
	if c.Rounds = 100; c.Kind != dp.SquareRoot {
		t.Errorf("the default of a short run is %s", c.Kind)
	}
	best := seeded(t, c, 1)
	for kind := dp.Tree; kind < dp.SquareRoot; kind++ {
		c.Kind = kind
		if other := seeded(t, c, 1); other.Deviation(100, 0) < best.Deviation(100, 0) {
			t.Errorf("%s has less noise", kind)
		}
	}
	if k := DefaultConfig(1000, c.Metrics, 4000).Kind; k != dp.Honaker {
		t.Errorf("the default of a long run with many arms is %s", k)
	}
	if k := DefaultConfig(1, c.Metrics[:1], 1<<20+1).Kind; k != dp.Honaker {
		t.Errorf("the default beyond 2^20 rounds is %s", k)
	}
}

// TestStatement reads the claim.
func TestStatement(t *testing.T) {
	st := must(New(small(0))).Statement()
	if !st.Private || st.Epsilon != 1 || st.Delta != 1e-6 || len(st.Warnings) != 0 {
		t.Errorf("%+v", st)
	}
	for _, want := range []string{
		"at most 2 of its decisions", "the number of decisions of each arm and round", "clamped to [-3, 50]",
		"replace-one, unit: one user with at most 2 records", "crypto/rand",
	} {
		if !strings.Contains(st.String(), want) {
			t.Errorf("the statement lacks %q:\n%s", want, st)
		}
	}
	if c := must(New(small(0))).Charge(); c.Insecure || !(c.MuSq > 0) || c.Protection != dp.PerUser(2) {
		t.Errorf("charge %+v", c)
	}
	zero := must(NewWithoutNoise(small(0)))
	if zero.Private() || zero.Statement().Private || !zero.Charge().Insecure || len(zero.Statement().Protects) != 0 {
		t.Errorf("without noise: %s", zero.Statement())
	}
}
