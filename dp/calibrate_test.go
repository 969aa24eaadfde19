package dp

import (
	"errors"
	"math"
	"testing"
)

// A record moves the release of a step by its clipped increment only, also in a batch, and units
// with several records or zero-out adjacency scale the noise.
func TestBatchesAndUnits(t *testing.T) {
	l := newLattice(t, 1, 100, L2, 1)
	s, err := NewZeroStream(l, 10)
	if err != nil {
		t.Fatal(err)
	}
	if s.Horizon() != 10 {
		t.Errorf("%d steps, want 10", s.Horizon())
	}
	for range 10 {
		if err := s.Include([]float64{1e300}); err != nil {
			t.Fatal(err)
		}
	}
	out := make([]float64, 1)
	if err := s.Step(out); err != nil || math.Abs(out[0]-10) > 1e-6 {
		t.Errorf("ten clipped increments sum up to %g, %v", out[0], err)
	}
	sigma := func(p Protection) float64 {
		s, err := NewStream(StreamConfig{Kind: Tree, Lattice: l, Batch: 1, Protection: p, Budget: zcdp(t, 1, 1e-4)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Sigma()
	}
	one := sigma(PerRecord())
	near(t, "five records", sigma(PerUser(5)), 5*one, one*1e-6)
	near(t, "zero-out", sigma(Protection{Adjacency: ZeroOut, Records: 1}), one/2, one*1e-6)
}

// In Gaussian differential privacy the noise is large enough for what the discreteness of the draws
// that a unit touches adds to δ.
func TestGaussianAccountingOfDiscreteNoise(t *testing.T) {
	const epsilon, delta, records = 2, 1e-9, 3
	l, err := NewLattice(LatticeConfig{Dim: 1, Horizon: 100, Norm: L2, Clip: 1, Spacing: 0x1p-20})
	if err != nil {
		t.Fatal(err)
	}
	s,
		err := NewStream(StreamConfig{
		Kind: Tree, Lattice: l, Batch: 1, Protection: PerUser(records),
		Budget: gdp(t, epsilon, delta),
	})
	if err != nil {
		t.Fatal(err)
	}
	sigma := s.Sigma() / l.Spacing()
	slack := s.Charge().Slack
	if want := records * 7 / (24 * sigma * sigma); slack < want || slack > want*1.01 {
		t.Errorf("slack %g, want %g", slack, want)
	}
	mu := 2 * records * math.Sqrt(7) / s.Sigma()
	got, err := GaussianDelta(mu, epsilon)
	if err != nil || got+slack*(1+math.Exp(epsilon)) > delta {
		t.Errorf("delta %g + %g is above %g (%v)", got, slack*(1+math.Exp(epsilon)), delta, err)
	}
	ledger := newLedger(t, new(MemoryStore), "users",
		AccountConfig{Protection: PerUser(records), Budget: gdp(t, epsilon, delta)})
	if _, err := ledger.Reserve("users", Run{ID: "run", Charge: s.Charge()}); err != nil {
		t.Error(err)
	}
	// The ε of the charge includes the slack, as that of the account does.
	spent, err := ledger.Spent("users", delta)
	alone, errAlone := s.Charge().Epsilon(delta)
	without, errWithout := GaussianEpsilon(math.Sqrt(s.Charge().MuSq), delta)
	if err := errors.Join(err, errAlone, errWithout); err != nil {
		t.Fatal(err)
	}
	if math.Abs(alone-spent) > 1e-8 || alone > epsilon || !(alone > without+1e-7) {
		t.Errorf("the charge spends ε = %.12g, its account %.12g, without slack %.12g", alone, spent, without)
	}
}

// Charge.Epsilon is the smallest ε whose δ, that of the curve and the slack's part, fits.
func TestChargeEpsilon(t *testing.T) {
	c := Charge{Protection: PerRecord(), Accounting: GDP, MuSq: 0.09, Slack: 1e-6, ApproxEps: 0.25, ApproxDelta: 1e-6}
	got, err := c.Epsilon(1e-5)
	if err != nil {
		t.Fatal(err)
	}
	curve := got - c.ApproxEps
	total := gaussianDelta(0.3, curve) + c.ApproxDelta + c.Slack*(1+math.Exp(got))
	if total > 1e-5 || total < 1e-5*(1-1e-5) {
		t.Errorf("ε = %g has δ = %g in total, want 1e-5 from below", got, total)
	}
	c.Slack = 1
	if got, err := c.Epsilon(1e-5); err != nil || !math.IsInf(got, 1) {
		t.Errorf("with δ used up: %g, %v, want +Inf", got, err)
	}
	pure := Charge{Protection: PerRecord(), Accounting: Pure, PureEps: 2, Rho: 2}
	if got, err := pure.Epsilon(0); err != nil || math.Abs(got-2) > 1e-8 {
		t.Errorf("a pure charge spends %g, %v, want 2", got, err)
	}
	pure.Accounting = ZCDP
	if got, err := pure.Epsilon(1e-4); err != nil || got != must(t)(RhoEpsilon(2*(1+margin), 1e-4)) {
		t.Errorf("a zCDP charge spends %g, %v", got, err)
	}
	if _, err := pure.Epsilon(0); !errors.Is(err, ErrDelta) {
		t.Errorf("δ = 0 in zCDP: %v, want ErrDelta", err)
	}
	if _, err := (Charge{Accounting: ZCDP, Rho: -1}).Epsilon(0.1); !errors.Is(err, ErrEpsilon) {
		t.Errorf("a negative cost: %v, want ErrEpsilon", err)
	}
}

// The longest horizon is allowed, and one more is not.
func TestLongestHorizon(t *testing.T) {
	for _, kind := range []StreamKind{Tree, Honaker, Doubling} {
		s := newTestStream(t, kind, 1, MaxHorizon, 0.9, zcdp(t, 1, 1e-12))
		out := make([]float64, 1)
		if err := s.Add(out, out); err != nil || s.Horizon() != MaxHorizon {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := NewLattice(DefaultLatticeConfig(1, MaxHorizon+1, L2, 1)); !errors.Is(err,
		ErrHorizon) {
		t.Errorf("one step more: %v, want ErrHorizon", err)
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	for _, kind := range []StreamKind{Tree, Honaker, Doubling} {
		s := newTestStream(t, kind, 10, 1<<30, 1, zcdp(t, 1, 1e-4))
		g, out := make([]float64, 10), make([]float64, 10)
		for range 200 {
			if err := s.Add(g, out); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(50, func() { _ = s.Add(g, out) }); n != 0 {
			t.Errorf("%s: a step allocates %g times", kind, n)
		}
	}
}

func BenchmarkSquareRoot(b *testing.B) {
	g, out := make([]float64, 20), make([]float64, 20)
	for b.Loop() {
		s := newTestStream(b, SquareRoot, 20, 10_000, 1, zcdp(b, 1, 1e-4))
		for range 10_000 {
			_ = s.Add(g, out)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, kind := range []StreamKind{Tree, Honaker, Doubling} {
		b.Run(kind.String(), func(b *testing.B) {
			s := newTestStream(b, kind, 20, 1<<30, 1, zcdp(b, 1, 1e-4))
			g, out := make([]float64, 20), make([]float64, 20)
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Add(g, out)
			}
		})
	}
}

// TestSlackCountsEveryRecord: the records of a unit may belong to different streams of a bandit, so
// that each counts all draws of its own stream. With K records σ is K times as large, and the
// distance of one draw K² times smaller.
func TestSlackCountsEveryRecord(t *testing.T) {
	lattice := newLattice(t, 3, 100, L2, 1)
	for _, kind := range []StreamKind{Tree, Honaker, Doubling, SquareRoot} {
		var slack [2]float64
		for i, k := range []int{1, 10} {
			s, err := NewStream(StreamConfig{
				Kind: kind, Lattice: lattice, Batch: 1, Protection: PerUser(k), Budget: gdp(t, 1, 1e-5),
			})
			if err != nil {
				t.Fatal(err)
			}
			slack[i] = s.Charge().Slack
		}
		near(t, kind.String(), slack[1]/slack[0], 0.1, 1e-9)
	}
}
