package dp

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func newLattice(t testing.TB, dim int, horizon int64, norm Norm, clip float64) *Lattice {
	t.Helper()
	l, err := NewLattice(DefaultLatticeConfig(dim, horizon, norm, clip))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// within checks the norm by arbitrary precision, another way than Admits.
func within(k []int64, norm Norm, limit uint64) bool {
	sum, bound := new(big.Int), new(big.Int).SetUint64(limit)
	for _, v := range k {
		a := new(big.Int).Abs(big.NewInt(v))
		switch norm {
		case L2:
			sum.Add(sum, a.Mul(a, a))
		case L1:
			sum.Add(sum, a)
		default:
			if a.Cmp(sum) > 0 {
				sum = a
			}
		}
	}
	if norm == L2 {
		bound.Mul(bound, bound)
	}
	return sum.Cmp(bound) <= 0
}

// FuzzOracleO3IntegerNorm checks that no input, NaN, infinite, huge or denormal, has an integer
// norm above ⌊C/γ⌋ after the front end, and that ordinary vectors are not lost.
func FuzzOracleO3IntegerNorm(f *testing.F) {
	add := func(clip float64, norm byte, xs ...float64) {
		var raw []byte
		for _, x := range xs {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
		}
		f.Add(clip, norm, raw)
	}
	for norm := range byte(3) {
		add(1, norm, math.Inf(1), 1)
		add(0.3, norm, math.NaN(), 1)
		add(14, norm, 1e308, 1e308, -1e308)
		add(5, norm, 5e-324, -5e-324)
		add(0.3, norm, 0.3)
		add(1e-300, norm, 3, 4)
		add(1e300, norm, 1e300, 1e300)
		add(0.1, norm, 0.06, 0.08)
		add(7.3, norm, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1))
	}
	f.Fuzz(func(t *testing.T, clip float64, kind byte, raw []byte) {
		dim := min(len(raw)/8, 64)
		if dim == 0 {
			return
		}
		g := make([]float64, dim)
		for j := range g {
			g[j] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*j:]))
		}
		norm := Norm(kind%3) + L1
		l, err := NewLattice(DefaultLatticeConfig(dim, 1000, norm, clip))
		if err != nil {
			if clip > 1e-290 && clip < 1e290 {
				t.Fatalf("clip %g: %v", clip, err)
			}
			return
		}
		out := make([]int64, dim)
		l.Quantize(g, out)
		if !within(out, norm, l.Limit()) || !l.Admits(out) {
			t.Fatalf("%v with clip %g becomes %v: %s above %d", g, clip, out, norm, l.Limit())
		}
		finite, largest := true, 0.0
		for _, v := range g {
			finite = finite && !math.IsNaN(v) && !math.IsInf(v, 0)
			largest = max(largest, math.Abs(v))
		}
		if finite && largest > clip && l.Norm() != L1 {
			for _, k := range out {
				if k != 0 {
					return
				}
			}
			t.Fatalf("the clipped vector %v is lost", g)
		}
	})
}

// Vectors on the boundary of the clip keep their direction and almost all of their norm.
func TestQuantizeKeepsVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 40).Draw(t, "dim")
		norm := rapid.SampledFrom([]Norm{L1, L2, LInf}).Draw(t, "norm")
		clip := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "ln clip"))
		l, err := NewLattice(DefaultLatticeConfig(dim, 1e6, norm, clip))
		if err != nil {
			t.Fatal(err)
		}
		g := rapid.SliceOfN(rapid.Float64Range(-1, 1), dim, dim).Draw(t, "g")
		g[0] = 1
		scale := norm.of(g, 1)
		length := rapid.SampledFrom([]float64{1e-3, 0.9, 1 - 1e-15, 1, 1 + 1e-15, 3, 1e200}).Draw(t, "length")
		kept := clip * min(1, length)
		for j := range g {
			g[j] *= clip * length / scale
		}
		out := make([]int64, dim)
		l.Quantize(g, out)
		for j := range g {
			want := g[j] * min(1, 1/length)
			if got := float64(out[j]) * l.Spacing(); math.Abs(got-want) > 2*l.Spacing()+kept*2e-12 {
				t.Fatalf("coordinate %d of %v is %g, want %g", j, g, got, want)
			}
		}
	})
}

func TestAdmitsIsExact(t *testing.T) {
	for _, norm := range []Norm{L1, L2, LInf} {
		l := newLattice(t, 3, 1, norm, 5)
		limit := int64(l.Limit())
		a, b := limit/5*3, limit/5*4 // 3² + 4² = 5²
		exact := []int64{a, -b, 0}
		if norm == L1 {
			exact = []int64{a, -(limit - a), 0}
		}
		if norm == LInf {
			exact = []int64{limit, -limit, limit}
		}
		over := append([]int64(nil), exact...)
		if norm == LInf {
			over[2]++
		} else {
			over[2] = limit / 5
		}
		if !l.Admits(exact) || l.Admits(over) {
			t.Errorf("%s: %v is %v, %v is %v", norm, exact, l.Admits(exact), over, l.Admits(over))
		}
		for _, k := range [][]int64{{math.MinInt64, 0, 0}, {math.MaxInt64, math.MaxInt64, math.MaxInt64}, {1, 2}} {
			if l.Admits(k) {
				t.Errorf("%s admits %v", norm, k)
			}
		}
	}
}

func TestLatticeErrors(t *testing.T) {
	good := DefaultLatticeConfig(4, 100, L2, 1)
	if _, err := NewLattice(good); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*LatticeConfig)
		want   error
	}{
		"no dimension":       {func(c *LatticeConfig) { c.Dim = 0 }, ErrDimension},
		"no steps":           {func(c *LatticeConfig) { c.Horizon = 0 }, ErrHorizon},
		"negative steps":     {func(c *LatticeConfig) { c.Horizon = -3 }, ErrHorizon},
		"too many steps":     {func(c *LatticeConfig) { c.Horizon = 1<<40 + 1 }, ErrHorizon},
		"no norm":            {func(c *LatticeConfig) { c.Norm = 0 }, ErrNorm},
		"unknown norm":       {func(c *LatticeConfig) { c.Norm = 9 }, ErrNorm},
		"no clip":            {func(c *LatticeConfig) { c.Clip = 0 }, ErrBound},
		"negative clip":      {func(c *LatticeConfig) { c.Clip = -1 }, ErrBound},
		"NaN clip":           {func(c *LatticeConfig) { c.Clip = math.NaN() }, ErrBound},
		"infinite clip":      {func(c *LatticeConfig) { c.Clip = math.Inf(1) }, ErrBound},
		"no spacing":         {func(c *LatticeConfig) { c.Spacing = 0 }, ErrLattice},
		"coarser than clip":  {func(c *LatticeConfig) { c.Spacing = 1 }, ErrLattice},
		"coarse":             {func(c *LatticeConfig) { c.Spacing = 0x1p-20 }, ErrLattice},
		"fine":               {func(c *LatticeConfig) { c.Spacing = 0x1p-55 }, ErrLattice},
		"not a power of two": {func(c *LatticeConfig) { c.Spacing = 1e-9 }, ErrLattice},
		"negative spacing":   {func(c *LatticeConfig) { c.Spacing = -0x1p-30 }, ErrLattice},
		"no room":            {func(c *LatticeConfig) { c.Dim, c.Horizon = 1<<20, 1<<40 }, ErrLattice},
		"tiny clip":          {func(c *LatticeConfig) { c.Clip = 5e-324 }, ErrLattice},
	} {
		config := good
		c.change(&config)
		if _, err := NewLattice(config); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestClipNormAndClamp(t *testing.T) {
	for _, p := range []float64{1, 1.5, 2, 3, 11, math.Inf(1)} {
		x := []float64{3, -4, 1e-300}
		if finite, err := ClipNorm(x, p, 2); !finite || err != nil {
			t.Fatal(finite, err)
		}
		norm := math.Pow(math.Pow(math.Abs(x[0]), p)+math.Pow(math.Abs(x[1]), p), 1/p)
		if math.IsInf(p, 1) {
			norm = max(math.Abs(x[0]), math.Abs(x[1]))
		}
		near(t, "norm", norm, 2, 1e-12)
		near(t, "direction", x[0]/x[1], -0.75, 1e-12)
	}
	x := []float64{1, math.NaN()}
	if finite, err := ClipNorm(x, 2, 1); finite || err != nil || x[0] != 0 || x[1] != 0 {
		t.Errorf("a NaN: %v, %v, %v", x, finite, err)
	}
	huge := []float64{math.MaxFloat64, math.MaxFloat64}
	if finite, _ := ClipNorm(huge, 2, 1); !finite || math.Abs(huge[0]-math.Sqrt(0.5)) > 1e-12 {
		t.Errorf("huge values become %v", huge)
	}
	for _, p := range []float64{0.5, math.NaN(), 0, -1} {
		if _, err := ClipNorm([]float64{1}, p, 1); !errors.Is(err, ErrNorm) {
			t.Errorf("p = %g: %v, want ErrNorm", p, err)
		}
	}
	if y, ok := Clamp(math.Inf(1), 1); ok || y != 0 {
		t.Errorf("an infinite label becomes %g", y)
	}
	if y, ok := Clamp(-7, 2); !ok || y != -2 {
		t.Errorf("-7 becomes %g", y)
	}
}

func TestQuantizeAllocatesNothing(t *testing.T) {
	l := newLattice(t, 50, 1000, L2, 1)
	g, out := make([]float64, 50), make([]int64, 50)
	for j := range g {
		g[j] = float64(j)
	}
	if n := testing.AllocsPerRun(100, func() { l.Quantize(g, out) }); n != 0 {
		t.Errorf("Quantize allocates %g times", n)
	}
}
