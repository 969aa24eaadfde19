package dp

import (
	"errors"
	"math"
	"math/bits"
	"runtime"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

var allKinds = []StreamKind{Tree, Honaker, Doubling, SquareRoot}

func zcdp(t testing.TB, epsilon, delta float64) Budget {
	t.Helper()
	b, err := ZCDPBudget(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func gdp(t testing.TB, epsilon, delta float64) Budget {
	t.Helper()
	b, err := GDPBudget(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newTestStream(t testing.TB, kind StreamKind, dim int, n int64, clip float64, b Budget, opts ...Option) *Stream {
	t.Helper()
	s, err := NewStream(StreamConfig{
		Kind: kind, Lattice: newLattice(t, dim, n, L2, clip), Batch: 1, Protection: PerRecord(), Budget: b,
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The noise of 10^4 steps at ε = 1 and δ = 1e-4 in units of the clip: of a node, and its root mean
// square and maximum over the prefixes.
func TestOracleO5ComparisonOfStreams(t *testing.T) {
	const n = 10000
	for _, c := range []struct {
		name           string
		kind           StreamKind
		budget         Budget
		node, rms, top float64
	}{
		{"zCDP, sharp", Tree, zcdp(t, 1, 1e-4), 26.3, 66.7, 94.7},
		{"GDP", Tree, gdp(t, 1, 1e-4), 23.8, 60.6, 86.0},
		{"GDP, doubling", Doubling, gdp(t, 1, 1e-4), 6.37, 75.3, 97.5},
		{"GDP, Honaker", Honaker, gdp(t, 1, 1e-4), 23.8, 45.4, 64.4},
		{"GDP, square root", SquareRoot, gdp(t, 1, 1e-4), 12.7, 24.4, 25.5},
	} {
		s := newTestStream(t, c.kind, 1, n, 1, c.budget)
		top, squares := 0.0, 0.0
		for i := int64(1); i <= n; i++ {
			top = max(top, s.Deviation(i))
			squares += s.Deviation(i) * s.Deviation(i)
			if i%1234 == 0 {
				near(t, c.name+" rms of a part", s.RootMeanSquare(i), math.Sqrt(squares/float64(i)), 1e-6)
			}
		}
		near(t, c.name+" node", s.Sigma(), c.node, 0.051)
		near(t, c.name+" rms", s.RootMeanSquare(n), c.rms, 0.051)
		near(t, c.name+" maximum", top, c.top, 0.06)
	}
	// The simple conversion, as a budget of its ρ.
	rho, err := SimpleRho(1, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	b, err := RhoBudget(rho, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	s := newTestStream(t, Tree, 1, n, 1, b)
	near(t, "simple node", s.Sigma(), 33.0, 0.051)
	near(t, "simple rms", s.RootMeanSquare(n), 83.8, 0.051)
	// Basic composition over 14 nodes, each exactly calibrated, and the constant of Theorem 3.1 of
	// Han et al. with 15.
	mu, _ := GaussianMu(1.0/14, 1e-4/14)
	near(t, "basic composition", 2/mu, 86.0, 0.06)
	near(t, "printed", math.Sqrt(8*15*15*math.Log(15/1e-4)), 146.5, 0.06)
	// Other ε, and n = 1000.
	for epsilon, want := range map[float64]float64{0.1: 183, 2: 13.0, 4: 7.17, 8: 4.06, 16: 2.38} {
		near(t, "GDP", newTestStream(t, Tree, 1, n, 1, gdp(t, epsilon, 1e-4)).Sigma(), want, want*4e-3)
	}
	near(t, "n = 1000", newTestStream(t, Tree, 1, 1000, 1, gdp(t, 1, 1e-3)).Sigma(), 16.3, 0.051)
}

// The squared norm of the longest column of the square-root matrix.
func TestOracleO5SquareRootColumns(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 2: 1.25, 10: 1.791344, 100: 2.531352, 1000: 3.265003, 10000: 3.998010} {
		near(t, "column", columnNorm(toeplitz(n)), want, 2e-6*math.Sqrt(float64(n)))
	}
}

// TestOracleO4ZeroNoise checks that every mechanism with its noise set to zero releases the exact
// prefix sums at all times.
func TestOracleO4ZeroNoise(t *testing.T) {
	n := int64(testsize.Of(1<<14+3, 1<<10+3))
	r := random.New(1, "zero")
	for _, kind := range []StreamKind{Tree, Honaker, Doubling, SquareRoot, zero} {
		steps := n
		if kind == SquareRoot {
			steps = 600
		}
		s := newTestStream(t, max(min(kind, SquareRoot), Tree), 2, steps, 1, zcdp(t, 1, 1e-4))
		switch m := s.mech.(type) {
		case *tree:
			m.scale = 0
		case *honaker:
			m.scale = 0
		case *doubling:
			m.current.scale, m.base = 0, func(int) uint64 { return 0 }
		case *squareRoot:
			m.scale = 0
		}
		if kind == zero {
			var err error
			if s, err = NewZeroStream(s.Lattice(), 1); err != nil {
				t.Fatal(err)
			}
		}
		sum, out, quantized := make([]int64, 2), make([]float64, 2), make([]int64, 2)
		for i := range steps {
			g := []float64{r.Float64() - 0.5, 0.7}
			s.Lattice().Quantize(g, quantized)
			if err := s.Add(g, out); err != nil {
				t.Fatal(err)
			}
			for j := range sum {
				sum[j] += quantized[j]
				want := float64(sum[j]) * s.Lattice().Spacing()
				// The estimates of Honaker and of the square root are in floating point.
				if diff := math.Abs(out[j] - want); diff > 0 && (kind == Tree || kind == Doubling || kind == zero) ||
					diff > 1e-9*math.Sqrt(float64(i+1)) {
					t.Fatalf("%s, step %d: released %g, the sum is %g", kind, i+1, out[j], want)
				}
			}
		}
		if err := s.Add(make([]float64, 2), out); !errors.Is(err, ErrHorizon) || s.Steps() != steps {
			t.Errorf("%s: step %d: %v, want ErrHorizon", kind, s.Steps()+1, err)
		}
	}
}

// TestOracleO4Slots checks that a step draws one vector, that slots above the lowest set bit are
// unchanged, and that no more slots are alive than t has bits.
func TestOracleO4Slots(t *testing.T) {
	s := newTestStream(t, Tree, 3, 1000, 1, zcdp(t, 1, 1e-4), WithInsecureDeterministicNoiseForTesting(1))
	m := s.mech.(*tree)
	before := map[int][3]int64{}
	out := make([]float64, 3)
	for step := uint64(1); step <= 1000; step++ {
		if err := s.Add([]float64{0.1, 0.2, -0.3}, out); err != nil {
			t.Fatal(err)
		}
		drawn, alive := 0, 0
		for level, slot := range m.slots {
			if len(slot) == 0 {
				continue
			}
			now := [3]int64(slot)
			if step>>level&1 == 0 {
				if now != [3]int64{} {
					t.Fatalf("step %d: slot %d is free and holds %v", step, level, now)
				}
				delete(before, level)
				continue
			}
			alive++
			if old, ok := before[level]; !ok || old != now {
				drawn++
				if level != bits.TrailingZeros64(step) {
					t.Fatalf("step %d: slot %d changed", step, level)
				}
			}
			before[level] = now
		}
		if drawn != 1 || alive > bits.Len64(step) {
			t.Fatalf("step %d: %d slots drawn, %d alive", step, drawn, alive)
		}
	}
}

// TestOracleO4TouchedNodes counts by brute force how many released nodes contain a record: at most
// the bit length of n, for the tree, for Honaker's and for the levels of a doubling segment.
func TestOracleO4TouchedNodes(t *testing.T) {
	for n := int64(1); n <= 300; n++ {
		most, mostBoth := 0, 0
		for i := int64(1); i <= n; i++ {
			touched, both := map[[2]int64]bool{}, 0
			for step := i; step <= n; step++ { // the nodes of the decomposition of [1, step]
				end := step
				for rest := uint64(step); rest > 0; rest &= rest - 1 {
					size := int64(rest & -rest)
					if end-size < i && i <= end {
						touched[[2]int64{end - size, size}] = true
					}
					end -= size
				}
			}
			most = max(most, len(touched))
			for size := int64(1); size <= n; size *= 2 { // complete blocks, left and right
				if (i+size-1)/size*size <= n {
					both++
				}
			}
			mostBoth = max(mostBoth, both)
		}
		if m := levels(n); most != m || mostBoth != m {
			t.Fatalf("n = %d: a record touches %d nodes and %d with right children, want %d", n, most, mostBoth, m)
		}
	}
	if levels(10000) != 14 {
		t.Errorf("levels of 10000: %d, want 14", levels(10000))
	}
}

// TestOracleO4Covariance compares the covariance of releases with σ² times the number of shared
// nodes, and the variances of all kinds with Deviation.
func TestOracleO4Covariance(t *testing.T) {
	runs := testsize.Of(4000, 1000)
	const n = 24
	for _, kind := range allKinds {
		l := newLattice(t, 1, n, L2, 1)
		var products [n + 1][n + 1]float64
		var deviation func(int64) float64
		sigma := 0.0
		for run := range runs {
			s, err := NewStream(StreamConfig{
				Kind: kind, Lattice: l, Batch: 1, Protection: PerRecord(), Budget: zcdp(t, 1, 1e-4),
			}, WithInsecureDeterministicNoiseForTesting(uint64(run)))
			if err != nil {
				t.Fatal(err)
			}
			deviation, sigma = s.Deviation, s.Sigma()
			var released [n + 1]float64
			out := make([]float64, 1)
			for i := 1; i <= n; i++ {
				if err := s.Add([]float64{0}, out); err != nil {
					t.Fatal(err)
				}
				released[i] = out[0]
				for j := 1; j <= i; j++ {
					products[j][i] += released[j] * out[0] / float64(runs)
				}
			}
		}
		for i := 1; i <= n; i++ {
			for j := 1; j <= i; j++ {
				di, dj := deviation(int64(i)), deviation(int64(j))
				want := di * dj
				switch {
				case i == j:
				case kind == Tree: // shared nodes: the common upper bits
					shared := 0
					for level := range 6 {
						if i>>level == j>>level && i>>level&1 == 1 {
							shared++
						}
					}
					want = sigma * sigma * float64(shared)
				case kind == SquareRoot:
					want = 0
					for k := range j {
						want += coefficient(k) * coefficient(k+i-j) * sigma * sigma
					}
				default:
					continue
				}
				near(t, kind.String()+" covariance", products[j][i], want, 6*di*dj/math.Sqrt(float64(runs))*1.1)
			}
		}
	}
}

func coefficient(k int) float64 {
	c := 1.0
	for i := 1; i <= k; i++ {
		c *= float64(2*i-1) / float64(2*i)
	}
	return c
}

// TestOracleO4Memory checks that a tree's memory after many steps is a few vectors per level.
func TestOracleO4Memory(t *testing.T) {
	testsize.NoRace(t)
	const dim = 100
	steps := int64(testsize.Of(1_000_000, 4096))
	s := newTestStream(t, Tree, dim, 1<<20, 1, zcdp(t, 1, 1e-4), WithInsecureFastNoiseForTesting(1))
	g, out := make([]float64, dim), make([]float64, dim)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range steps {
		if err := s.Add(g, out); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	limit := int64(dim*(bits.Len64(uint64(steps))+6)*8 + 64<<10)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > limit {
		t.Errorf("the heap grew by %d bytes, want at most %d", grown, limit)
	}
	runtime.KeepAlive(s)
}

// A release has the variance that Deviation states with secure noise, too, for n = 1, where the
// tree is a single node, and at the root of a full tree.
func TestNoiseIsPresent(t *testing.T) {
	for _, kind := range allKinds {
		for _, n := range []int64{1, 2, 8} {
			runs, sum := 300, 0.0
			for range runs {
				s := newTestStream(t, kind, 1, n, 1, zcdp(t, 1, 1e-4))
				out := make([]float64, 1)
				for range n {
					if err := s.Add([]float64{0}, out); err != nil {
						t.Fatal(err)
					}
				}
				z := out[0] / s.Deviation(n)
				sum += z * z / float64(runs)
			}
			near(t, kind.String()+" variance", sum, 1, 6.5*math.Sqrt(2/float64(runs)))
		}
	}
}

func TestOracleO9Determinism(t *testing.T) {
	for _, kind := range allKinds {
		run := func(opts ...Option) (released []float64, s *Stream) {
			s = newTestStream(t, kind, 2, 50, 1, zcdp(t, 1, 1e-4), opts...)
			out := make([]float64, 2)
			for range 50 {
				if err := s.Add([]float64{0.3, -0.4}, out); err != nil {
					t.Fatal(err)
				}
				released = append(released, out...)
			}
			return released, s
		}
		a, s := run(WithInsecureDeterministicNoiseForTesting(9))
		b, _ := run(WithInsecureDeterministicNoiseForTesting(9))
		c, secure := run()
		same := true
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("%s: two runs with one seed differ at %d", kind, i)
			}
			same = same && a[i] == c[i]
		}
		if same || s.Private() || !s.Charge().Insecure || !secure.Private() || secure.Charge().Insecure {
			t.Errorf("%s: seeded noise is not marked, or secure noise is seeded", kind)
		}
	}
}

// A stream that is restored after any step continues with the noise that it has.
func TestStreamState(t *testing.T) {
	for _, kind := range append([]StreamKind{zero}, allKinds...) {
		for stop := range int64(18) {
			make1 := func() *Stream {
				if kind == zero {
					s, err := NewZeroStream(newLattice(t, 1, 20, L2, 1), 1)
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				return newTestStream(t, kind, 1, 20, 1, zcdp(t, 1, 1e-4))
			}
			s, restored := make1(), make1()
			out, other := make([]float64, 1), make([]float64, 1)
			for range stop {
				if err := s.Add([]float64{1}, out); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Include([]float64{0.5}); err != nil {
				t.Fatal(err)
			}
			state, err := s.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if err := restored.UnmarshalBinary(state); err != nil {
				t.Fatalf("%s after %d steps: %v", kind, stop, err)
			}
			again, err := restored.MarshalBinary()
			if err != nil || string(again) != string(state) {
				t.Fatalf("%s after %d steps: the restored state differs (%v)", kind, stop, err)
			}
			// Both go on; what differs is the noise of the steps after the restoration.
			for range 20 - stop {
				if err := errors.Join(s.Step(out), restored.Step(other)); err != nil {
					t.Fatal(err)
				}
			}
			if kind == zero && out[0] != other[0] || math.Abs(out[0]-other[0]) > 12*s.Deviation(20)+1e-9 {
				t.Errorf("%s after %d steps: %g and %g", kind, stop, out[0], other[0])
			}
			damaged := append([]byte(nil), state...)
			damaged[len(damaged)/2]++
			if err := make1().UnmarshalBinary(damaged); err == nil {
				t.Errorf("%s: a damaged state is accepted", kind)
			}
		}
	}
	// A state of another budget holds noise of another size.
	state, err := newTestStream(t, Tree, 1, 20, 1, zcdp(t, 1, 1e-4)).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := newTestStream(t, Tree, 1, 20, 1, zcdp(t, 2, 1e-4)).UnmarshalBinary(state); err == nil {
		t.Error("a state of another budget is accepted")
	}
}

func TestStreamErrors(t *testing.T) {
	l := newLattice(t, 2, 10, L2, 1)
	good := StreamConfig{Kind: Tree, Lattice: l, Batch: 1, Protection: PerRecord(), Budget: zcdp(t, 1, 1e-4)}
	pure, err := PureBudget(1)
	if err != nil {
		t.Fatal(err)
	}
	fine, err := NewLattice(LatticeConfig{Dim: 1, Horizon: 1, Norm: L2, Clip: 1, Spacing: 0x1p-60})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*StreamConfig)
		want   error
	}{
		"no kind":         {func(c *StreamConfig) { c.Kind = 0 }, ErrNorm},
		"no budget":       {func(c *StreamConfig) { c.Budget = Budget{} }, ErrEpsilon},
		"pure budget":     {func(c *StreamConfig) { c.Budget = pure }, ErrUnitMismatch},
		"no protection":   {func(c *StreamConfig) { c.Protection = Protection{} }, ErrUnitMismatch},
		"no records":      {func(c *StreamConfig) { c.Protection.Records = 0 }, ErrUnitMismatch},
		"no lattice":      {func(c *StreamConfig) { c.Lattice = nil }, ErrLattice},
		"norm":            {func(c *StreamConfig) { c.Lattice = newLattice(t, 2, 10, LInf, 1) }, ErrNorm},
		"no batch":        {func(c *StreamConfig) { c.Batch = 0 }, ErrHorizon},
		"negative batch":  {func(c *StreamConfig) { c.Batch = -1 }, ErrHorizon},
		"large batch":     {func(c *StreamConfig) { c.Batch = 11 }, ErrHorizon},
		"noise overflows": {func(c *StreamConfig) { c.Lattice = fine }, ErrLattice},
		"many steps": {func(c *StreamConfig) {
			c.Kind, c.Lattice = SquareRoot, newLattice(t, 1, 1<<21, L2, 1)
		}, ErrHorizon},
		"tiny delta": {func(c *StreamConfig) { c.Budget = gdp(t, 1, 1e-30) }, ErrLattice},
	} {
		config := good
		c.change(&config)
		if _, err := NewStream(config); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	s, err := NewStream(good)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 2)
	for _, err := range []error{s.Add([]float64{1}, out), s.Add([]float64{1, 2}, nil), s.Add(nil, out), s.Step(nil)} {
		if !errors.Is(err, ErrDimension) || s.Steps() != 0 || s.pending != 0 {
			t.Errorf("%v after %d steps, want ErrDimension", err, s.Steps())
		}
	}
	if err := errors.Join(s.Include(out), s.Include(out)); !errors.Is(err, ErrHorizon) || s.pending != 1 {
		t.Errorf("two increments in a step of one: %v", err)
	}
	s.Close()
	if _, err := s.MarshalBinary(); !errors.Is(err, ErrClosed) {
		t.Errorf("state of a closed stream: %v", err)
	}
	if err := s.Add(out, out); !errors.Is(err, ErrClosed) {
		t.Errorf("step of a closed stream: %v", err)
	}
	for _, slot := range s.mech.secrets().Slots {
		for _, v := range slot {
			if v != 0 {
				t.Error("a closed stream holds noise")
			}
		}
	}
}

// TestStepSum compares a stream of sums with one that takes the same increments one by one, and
// refuses the other way of each, and sums that no increments have.
func TestStepSum(t *testing.T) {
	lattice := ok(NewIntegerLattice(2, 40, 1000))
	for kind := Tree; kind <= SquareRoot; kind++ {
		c := StreamConfig{Kind: kind, Lattice: lattice, Batch: 5, Protection: PerRecord(), Budget: zcdp(t, 1, 1e-6)}
		single := ok(NewStream(c, WithInsecureDeterministicNoiseForTesting(1)))
		c.Sums = true
		summed := ok(NewStream(c, WithInsecureDeterministicNoiseForTesting(1)))
		one, two := []float64{0, 0}, []float64{0, 0}
		for step := range 8 {
			for _, g := range [][]float64{{600, 800}, {-float64(step), 7}} {
				if err := single.Include(g); err != nil {
					t.Fatal(err)
				}
			}
			if err := single.Step(one); err != nil {
				t.Fatal(err)
			}
			// The lattice clips {600, 800} by a unit, as its norm is exactly the clip.
			k := []int64{599 - int64(step), 799 + 7}
			if err := summed.StepSum(k, two); err != nil {
				t.Fatal(err)
			}
			if one[0] != two[0] || one[1] != two[1] {
				t.Fatalf("%s, step %d: %v by increments, %v by their sum", kind, step+1, one, two)
			}
		}
		for _, c := range []struct {
			err error
			is  error
		}{
			{single.StepSum([]int64{0, 0}, one), ErrHorizon},
			{summed.StepSum([]int64{0, 0}, one), ErrHorizon},
		} {
			if !errors.Is(c.err, c.is) {
				t.Errorf("%s: %v, want %v", kind, c.err, c.is)
			}
		}
		if ok(single.MarshalBinary()) == nil || summed.UnmarshalBinary(ok(single.MarshalBinary())) == nil {
			t.Errorf("%s: a stream of sums takes the state of one of increments", kind)
		}
	}
	c := StreamConfig{Kind: Tree, Lattice: lattice, Batch: 5, Protection: PerRecord(), Budget: zcdp(t, 1, 1e-6)}
	single := ok(NewStream(c))
	c.Sums = true
	summed, out := ok(NewStream(c)), []float64{0, 0}
	for name, c := range map[string]struct{ err, is error }{
		"sum of single increments":    {single.StepSum([]int64{0, 0}, out), ErrLattice},
		"increment of a sum":          {summed.Include(out), ErrLattice},
		"step of a sum":               {summed.Step(out), ErrLattice},
		"addition to a sum":           {summed.Add(out, out), ErrLattice},
		"too large a sum":             {summed.StepSum([]int64{5001, 0}, out), ErrBound},
		"too small a sum":             {summed.StepSum([]int64{0, math.MinInt64}, out), ErrBound},
		"too short a sum":             {summed.StepSum([]int64{0}, out), ErrDimension},
		"too short an output":         {summed.StepSum([]int64{0, 0}, out[:1]), ErrDimension},
		"no limit":                    {second(NewIntegerLattice(2, 40, 0)), ErrBound},
		"a limit that overflows":      {second(NewIntegerLattice(2, 1<<20, 1<<41)), ErrLattice},
		"a limit beyond float64":      {second(NewIntegerLattice(2, 1, 1<<53+1)), ErrLattice},
		"no dimension":                {second(NewIntegerLattice(0, 40, 1)), ErrDimension},
		"no horizon":                  {second(NewIntegerLattice(1, 0, 1)), ErrHorizon},
		"the largest sum is accepted": {summed.StepSum([]int64{5000, -5000}, out), nil},
	} {
		if !errors.Is(c.err, c.is) {
			t.Errorf("%s: %v, want %v", name, c.err, c.is)
		}
	}
}

func ok[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func second[T any](_ T, err error) error { return err }
