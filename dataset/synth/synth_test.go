package synth

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

func mustNew(tb testing.TB, spec Spec, seed uint64) *Generator {
	tb.Helper()
	g, err := New(spec, seed)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// The first training row of G1, and the numbers of positives in every part, are those of an
// independent implementation of the same generator.
func TestFirstRow(t *testing.T) {
	g := mustNew(t, G1, 1001)
	x := make([]float64, g.Dim())
	if g.Next(x) {
		t.Error("the first row is positive")
	}
	for j, want := range []float64{.0979764705, .7155582409, -1.1492109896, -.0505773020} {
		if math.Abs(x[j]-want) > 0.5000001e-10 {
			t.Errorf("x[%d] = %.12f, want %.10f", j, x[j], want)
		}
	}
	if len(x) != 10 {
		t.Errorf("%d features, want 10: the bias is the learner's", len(x))
	}
}

func TestPositives(t *testing.T) {
	for _, tc := range []struct {
		spec Spec
		seed uint64
		rows int
		want int
	}{
		{G1, 1001, 20_000, 986},
		{G1, 1002, 20_000, 1002},
		{G1, 1003, 100_000, 5088},
		{G3, 3001, 20_000, 937},
		{G3, 3002, 20_000, 1060},
		{G3, 3003, 100_000, 4890},
		{G4, 4001, 40_000, 225},
		{G4, 4002, 40_000, 257},
		{G4, 4003, 200_000, 1209},
	} {
		if tc.rows > 40_000 && testsize.Short() {
			continue // the smaller parts have the same generator
		}
		g := mustNew(t, tc.spec, tc.seed)
		x := make([]float64, g.Dim())
		got := 0
		for range tc.rows {
			if g.Next(x) {
				got++
			}
		}
		if got != tc.want {
			t.Errorf("%s seed %d: %d positives in %d rows, want %d", tc.spec.Name, tc.seed, got, tc.rows, tc.want)
		}
	}
}

// The class-conditional means and deviations are those of the definition.
func TestMoments(t *testing.T) {
	shift := 2 / math.Sqrt(10)
	type law struct{ mean, sd float64 }
	for _, tc := range []struct {
		spec Spec
		want func(j int) law
	}{
		{G1, func(int) law { return law{shift, 1} }},
		{G3, func(j int) law {
			return []law{{1.5, 3}, {1, .5}, {.5, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}[j]
		}},
	} {
		tc.spec.PositiveRate = 0.5
		g := mustNew(t, tc.spec, 5)
		x := make([]float64, 10)
		var n [2]float64
		var s, q [2][10]float64
		for range 60_000 {
			y := 0
			if g.Next(x) {
				y = 1
			}
			n[y]++
			for j, v := range x {
				s[y][j] += v
				q[y][j] += v * v
			}
		}
		for y := range 2 {
			for j := range x {
				want := law{0, 1}
				if y == 1 {
					want = tc.want(j)
				}
				mean := s[y][j] / n[y]
				sd := math.Sqrt(q[y][j]/n[y] - mean*mean)
				if math.Abs(mean-want.mean) > 0.03*want.sd || math.Abs(sd-want.sd) > 0.03*want.sd {
					t.Errorf("%s class %d x%d: mean %.3f sd %.3f, want %v", tc.spec.Name, y, j+1, mean, sd, want)
				}
			}
		}
	}
}

func TestSameSeedSameBits(t *testing.T) {
	for _, spec := range specs() {
		a, b, other := mustNew(t, spec, 9), mustNew(t, spec, 9), mustNew(t, spec, 10)
		x, y, z := make([]float64, a.Dim()), make([]float64, a.Dim()), make([]float64, a.Dim())
		differ := false
		for i := range 1000 {
			if p, q := a.Next(x), b.Next(y); p != q || !slices.Equal(x, y) {
				t.Fatalf("%s row %d: %v %v and %v %v", spec.Name, i, p, x, q, y)
			}
			other.Next(z)
			differ = differ || !slices.Equal(x, z)
		}
		if !differ {
			t.Errorf("%s: seeds 9 and 10 give the same rows", spec.Name)
		}
	}
}

func TestByName(t *testing.T) {
	for _, name := range Names() {
		spec, err := ByName(name)
		if err != nil || spec.Name != name || spec.Summary == "" {
			t.Errorf("ByName(%q) = %q %q, %v", name, spec.Name, spec.Summary, err)
		}
		mustNew(t, spec, 0)
	}
	_, err := ByName("g2")
	if err == nil || noregret.CodeOf(err) != noregret.Usage ||
		err.Error() != `unknown data set "g2"; did you mean g1? the data sets are g1, g3, g4, fraud` {
		t.Errorf("ByName(g2): %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	with := func(change func(*Spec)) Spec {
		s := G1
		s.Columns = slices.Clone(s.Columns)
		change(&s)
		return s
	}
	for _, tc := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, "synth: the data set has no columns"},
		{with(func(s *Spec) { s.Columns = nil }), "no columns"},
		{with(func(s *Spec) { s.Columns[3] = "" }), `column 4 has the name ""`},
		{with(func(s *Spec) { s.Columns[3] = "x1" }), `column 4 has the name "x1"`},
		{with(func(s *Spec) { s.PositiveRate = math.NaN() }), "rate of positives is NaN"},
		{with(func(s *Spec) { s.PositiveRate = -0.1 }), "rate of positives is -0.1"},
		{with(func(s *Spec) { s.PositiveRate = 1.1 }), "rate of positives is 1.1"},
		{with(func(s *Spec) { s.Features = nil }), "no function Features"},
	} {
		_, err := New(tc.spec, 1)
		if err == nil || !strings.Contains(err.Error(), tc.want) || noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
}

func TestNextPanicsOnLength(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a short slice was accepted")
		}
	}()
	mustNew(t, G1, 1).Next(make([]float64, 9))
}

func TestPoisson(t *testing.T) {
	g := mustNew(t, G1, 3)
	for _, mean := range []float64{0, 0.3, 4, 25} {
		const n = 20_000
		var s, q float64
		for range n {
			v := g.Poisson(mean)
			s += v
			q += v * v
		}
		m := s / n
		if v := q/n - m*m; math.Abs(m-mean) > 5*math.Sqrt((mean+1e-9)/n) || math.Abs(v-mean) > 0.06*mean+1e-9 {
			t.Errorf("Poisson(%v): mean %.3f, variance %.3f", mean, m, v)
		}
	}
}

// Pinned bits: equal on every architecture. A failure here on one machine only means
// that a fused multiply-add or a function of package math has crept in.
func TestPinnedBits(t *testing.T) {
	for _, tc := range []struct {
		spec Spec
		want uint64
	}{
		{G1, pinG1},
		{G3, pinG3},
		{Fraud, pinFraud},
	} {
		g := mustNew(t, tc.spec, 42)
		x := make([]float64, g.Dim())
		h := uint64(14695981039346656037) // FNV-1a by words
		for range 5000 {
			g.Next(x)
			for _, v := range x {
				h = (h ^ math.Float64bits(v)) * 1099511628211
			}
		}
		if h != tc.want {
			t.Errorf("%s: hash %#x, want %#x", tc.spec.Name, h, tc.want)
		}
	}
}

const (
	pinG1    = 0x410eec7d77e8933e
	pinG3    = 0xea3b523aca0cefcc
	pinFraud = 0x5624c7b9cec48d55
)

func TestNextAllocatesNothing(t *testing.T) {
	for _, spec := range specs() {
		g := mustNew(t, spec, 1)
		x := make([]float64, g.Dim())
		if n := testing.AllocsPerRun(1000, func() { g.Next(x) }); n != 0 {
			t.Errorf("%s: %v allocations per example", spec.Name, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, spec := range specs() {
		b.Run(spec.Name, func(b *testing.B) {
			g := mustNew(b, spec, 1)
			x := make([]float64, g.Dim())
			b.ReportAllocs()
			for b.Loop() {
				g.Next(x)
			}
		})
	}
}
