package loss

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var scalars = []Scalar{
	Squared{},
	Absolute{},
	HingeLoss{},
	SquaredHingeLoss{},
	LogisticLoss{},
	Huber{Delta: .7},
	Huber{Delta: 5},
	Quantile{Tau: .1},
	Quantile{Tau: .8},
	LogLoss{},
}

// label draws a label of a loss's domain, and prediction a point of it.
func label(t *rapid.T, s Scalar) float64 {
	for _, y := range []float64{rapid.Float64Range(-5, 5).Draw(t, "y"), 1, 0} {
		if s.CheckLabel(y) == nil {
			if s.CheckLabel(-y) == nil && rapid.Bool().Draw(t, "negative") {
				return -y
			}
			if s.CheckLabel(0) == nil && s.CheckLabel(.5) != nil && rapid.Bool().Draw(t, "zero") {
				return 0
			}
			return y
		}
	}
	t.Fatalf("%s takes none of the labels", s.Name())
	return 0
}

func prediction(t *rapid.T, s Scalar, name string) float64 {
	if _, ok := s.(LogLoss); ok {
		return rapid.Float64Range(.001, .999).Draw(t, name)
	}
	return rapid.Float64Range(-6, 6).Draw(t, name)
}

// TestScalarLosses checks every loss's constants and conjugate against its values.
func TestScalarLosses(t *testing.T) {
	for _, s := range scalars {
		t.Run(s.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				y := label(t, s)
				p, q := prediction(t, s, "p"), prediction(t, s, "q")
				v, w, g, h := s.Value(p, y), s.Value(q, y), s.Derivative(p, y), s.Derivative(q, y)
				tol := 1e-9 * (1 + math.Abs(v) + math.Abs(w) + math.Abs(g*(q-p)))
				if mu := s.StrongConvexity(); w < v+g*(q-p)+mu/2*(q-p)*(q-p)-tol {
					t.Fatalf("φ(%v) = %v is below the parabola at %v with slope %v, μ = %v", q, w, p, g, mu)
				}
				if m := s.Smoothness(); math.Abs(g-h) > m*math.Abs(p-q)+tol {
					t.Fatalf("slopes %v and %v at %v and %v: not %v-smooth", g, h, p, q, m)
				}
				if l := s.Lipschitz(max(math.Abs(p), math.Abs(q)), y); math.Abs(g) > l+tol ||
					math.Abs(v-w) > l*math.Abs(p-q)+tol {
					t.Fatalf("slope %v at %v, Lipschitz constant %v", g, p, l)
				}
				// Fenchel and Young: with equality where the slope is a subgradient.
				if c := s.Conjugate(g, y); math.Abs(v+c-g*p) > 1e-8*(1+math.Abs(v)+math.Abs(c)) {
					t.Fatalf("φ(%v) + φ*(%v) = %v + %v, want %v", p, g, v, c, g*p)
				}
				slope := rapid.Float64Range(-3, 3).Draw(t, "slope")
				if c := s.Conjugate(slope, y); v+c < slope*p-1e-9*(1+math.Abs(v)) {
					t.Fatalf("φ(%v) + φ*(%v) = %v + %v is below %v", p, slope, v, c, slope*p)
				}
			})
		})
	}
}

func TestConstantsAreAttained(t *testing.T) {
	// Each smoothness constant is the largest slope of the derivative, not just above it.
	for s, p := range map[Scalar]float64{Squared{}: 0, SquaredHingeLoss{}: -1, LogisticLoss{}: 0, Huber{Delta: 1}: .9} {
		const e = 1e-6
		if got := (s.Derivative(p+e, 1) - s.Derivative(p-e, 1)) / (2 * e); math.Abs(got-s.Smoothness()) > 1e-4 {
			t.Errorf("%s: slope %v of the derivative at %v, smoothness %v", s.Name(), got, p, s.Smoothness())
		}
	}
	for s, p := range map[Scalar]float64{
		Absolute{}: 3, HingeLoss{}: -1, Quantile{Tau: .2}: 5, Huber{Delta: 2}: 9,
		SquaredHingeLoss{}: -9, Squared{}: -9,
	} {
		if got := math.Abs(s.Derivative(p, 1)); math.Abs(got-s.Lipschitz(math.Abs(p), 1)) > 1e-9 {
			t.Errorf("%s: slope %v at %v, Lipschitz constant %v", s.Name(), got, p, s.Lipschitz(math.Abs(p), 1))
		}
	}
}

// TestKinks checks that the subgradient at a kink is the one that the type documents.
func TestKinks(t *testing.T) {
	for _, c := range []struct {
		s       Scalar
		p, y, g float64
	}{
		{Absolute{}, 2, 2, 0},
		{HingeLoss{}, 1, 1, 0},
		{HingeLoss{}, -1, -1, 0},
		{HingeLoss{}, .5, 1, -1},
		{HingeLoss{}, .5, -1, 1},
		{Quantile{Tau: .3}, 1, 1, 0},
		{SquaredHingeLoss{}, 1, 1, 0},
	} {
		if g := c.s.Derivative(c.p, c.y); g != c.g {
			t.Errorf("%s'(%v, %v) = %v, want %v", c.s.Name(), c.p, c.y, g, c.g)
		}
	}
}

func TestLogisticIsStable(t *testing.T) {
	for _, p := range []float64{-1e308, -800, 800, 1e308} {
		v, g := LogisticLoss{}.Value(p, 1), LogisticLoss{}.Derivative(p, 1)
		if want := max(-p, 0); v != want || g != -map[bool]float64{true: 1, false: 0}[p < 0] {
			t.Errorf("φ(%v) = %v with slope %v, want %v", p, v, g, want)
		}
	}
	if v := (LogisticLoss{}).Value(40, 1); math.Abs(v/math.Exp(-40)-1) > 1e-12 {
		t.Errorf("ln(1+e^-40) = %v: digits were lost", v)
	}
}

// TestLogisticExpConcavity: e^(−U) is the exact constant of exp-concavity for |p| ≤ U; a constant
// twice as large is wrong.
func TestLogisticExpConcavity(t *testing.T) {
	for _, u := range []float64{.5, 1, 2} {
		alpha := math.Exp(-u)
		// exp(−αφ) is concave at p iff α·φ'² ≤ φ''.
		worst := math.Inf(1)
		for p := -u; p <= u; p += u / 100 {
			g := LogisticLoss{}.Derivative(p, 1)
			second := -g * (1 + g)
			worst = min(worst, second/(g*g))
		}
		if worst < alpha*(1-1e-9) || worst > alpha*(1+1e-9) {
			t.Errorf("U = %v: the exp-concavity on the interval is %v, want %v", u, worst, alpha)
		}
	}
}

// functions draws one function of every kind.
func functions(t *rapid.T, d int) []Function {
	draw := func(name string) []float64 {
		return rapid.SliceOfN(rapid.Float64Range(-3, 3), d, d).Draw(t, name)
	}
	var all []Function
	for _, s := range scalars {
		if _, ok := s.(LogLoss); !ok { // it is +Inf off [0, 1]
			all = append(all, must(NewExample(draw("z"), label(t, s), s)))
		}
	}
	all = append(all, must(NewLinear(draw("c"))), must(NewSquaredDistance(draw("c"))))
	for _, s := range []Scalar{Squared{}, Huber{Delta: 1}} {
		z, few := draw("sparse"), Sparse{}
		for i, v := range z {
			if v > 0 {
				few.Index, few.Value = append(few.Index, uint32(i)), append(few.Value, v)
			}
		}
		all = append(all, must(NewSparseExample(d, few, label(t, s), s)))
	}
	all = append(all, must(NewWeighted(all[0], 2.5)), must(NewWeighted(all[len(all)-1], 0)))
	return append(all, must(NewRidge(all[0], .5)), must(NewRidge(all[1], 0)),
		must(NewMax(all[1], all[2], all[len(all)-1])), must(NewComposite(all[4], .3)),
		// |x| + x² and a linear part
		must(NewComposite(must(NewRidge(must(NewLinear(draw("c"))), 2)), 1)))
}

func TestFunctions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 5).Draw(t, "d")
		x := rapid.SliceOfN(rapid.Float64Range(-4, 4), d, d).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64Range(-4, 4), d, d).Draw(t, "y")
		for _, f := range functions(t, d) {
			g, h := make([]float64, d), make([]float64, d)
			f.Subgradient(g, x)
			f.Subgradient(h, y)
			var step, square, change float64
			for i := range x {
				step += g[i] * (y[i] - x[i])
				square += (y[i] - x[i]) * (y[i] - x[i])
				change += (g[i] - h[i]) * (g[i] - h[i])
			}
			c := f.(Curvature)
			v, w := f.Value(x), f.Value(y)
			tol := 1e-9 * (1 + math.Abs(v) + math.Abs(w) + math.Abs(step))
			if w < v+step+c.StrongConvexity()/2*square-tol {
				t.Fatalf("%T: f(%v) = %v is below its tangent at %v with μ = %v", f, y, w, x, c.StrongConvexity())
			}
			if math.Sqrt(change) > c.Smoothness()*math.Sqrt(square)+tol {
				t.Fatalf("%T is not %v-smooth", f, c.Smoothness())
			}
			r := max(vec.Norm2(x), vec.Norm2(y))
			if l := c.Lipschitz(r); vec.Norm2(g) > l+tol || math.Abs(v-w) > l*math.Sqrt(square)+tol {
				t.Fatalf("%T: a subgradient of norm %v, Lipschitz constant %v on ‖x‖ ≤ %v", f, vec.Norm2(g), l, r)
			}
			if n := testing.AllocsPerRun(5, func() { f.Value(x); f.Subgradient(g, x) }); n != 0 {
				t.Fatalf("%T allocates", f)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	one := must(NewLinear([]float64{1}))
	for what, err := range map[string]error{
		"no values":             second(NewLinear(nil)),
		"NaN in c":              second(NewLinear([]float64{1, nan})),
		"Inf in z":              second(NewExample([]float64{inf}, 1, Squared{})),
		"no loss":               second(NewExample([]float64{1}, 1, nil)),
		"label 0 for hinge":     second(NewExample([]float64{1}, 0, HingeLoss{})),
		"label 2 for log":       second(NewExample([]float64{1}, 2, LogLoss{})),
		"label NaN":             second(NewExample([]float64{1}, nan, Squared{})),
		"huber 0":               second(NewExample([]float64{1}, 1, Huber{})),
		"quantile 1":            second(NewExample([]float64{1}, 1, Quantile{Tau: 1})),
		"NaN distance":          second(NewSquaredDistance([]float64{nan})),
		"negative ridge":        second(NewRidge(one, -1)),
		"ridge of nil":          second(NewRidge(nil, 1)),
		"infinite l1 weight":    second(NewComposite(one, inf)),
		"maximum of no losses":  second(NewMax()),
		"two dimensions":        second(NewMax(one, must(NewLinear([]float64{1, 2})))),
		"unknown loss":          second(ParseScalar("nobody")),
		"huber of 0":            second(ParseScalar("huber:0")),
		"quantile of 2":         second(ParseScalar("quantile:2")),
		"underscore":            second(ParseScalar("huber:1_0")),
		"hexadecimal":           second(ParseScalar("huber:0x1p0")),
		"junk after a width":    second(ParseScalar("huber:1junk")),
		"junk after a level":    second(ParseScalar("quantile:0.5:x")),
		"no width":              second(ParseScalar("huber:")),
		"huber without a width": second(ParseScalar("huber")),
		"infinite width":        second(ParseScalar("huber:inf")),
		"NaN level":             second(ParseScalar("quantile:nan")),
		"index too large": second(NewSparseExample(2, Sparse{Index: []uint32{2}, Value: []float64{1}}, 1,
			Squared{})),
		"index twice": second(NewSparseExample(2, Sparse{Index: []uint32{1, 1}, Value: []float64{1, 1}}, 1,
			Squared{})),
		"missing value":   second(NewSparseExample(2, Sparse{Index: []uint32{1}}, 1, Squared{})),
		"NaN in a row":    second(NewSparseExample(2, Sparse{Index: []uint32{1}, Value: []float64{nan}}, 1, Squared{})),
		"no dimension":    second(NewSparseExample(0, Sparse{}, 1, Squared{})),
		"row without φ":   second(NewSparseExample(1, Sparse{}, 1, nil)),
		"row's label":     second(NewSparseExample(1, Sparse{}, 0, HingeLoss{})),
		"weight of -1":    second(NewWeighted(one, -1)),
		"infinite weight": second(NewWeighted(one, inf)),
		"weight, no loss": second(NewWeighted(nil, 1)),
	} {
		if err == nil || err.Error() == "" {
			t.Errorf("%s: got error %v, want one with a message", what, err)
		}
	}
	for _, s := range scalars {
		if got, err := ParseScalar(s.Name()); err != nil || got != s {
			t.Errorf("ParseScalar(%q) = %v, %v", s.Name(), got, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestLiteralConstants checks the constants of examples written as literals: they must not be those
// of a loss without features.
func TestLiteralConstants(t *testing.T) {
	z, row := []float64{3, 0, -4}, Sparse{Index: []uint32{0, 2}, Value: []float64{3, -4}}
	for _, phi := range []Scalar{Squared{}, HingeLoss{}} {
		made := must(NewExample(z, 1, phi))
		for _, f := range []interface {
			Function
			Curvature
		}{
			&Example{Z: z, Y: 1, Loss: phi},
			&SparseExample{D: 3, Z: row, Y: 1, Loss: phi},
			must(NewSparseExample(3, row, 1, phi)),
			must(NewSparseExample(3, row, 1, phi)).Dense(),
			must(NewWeighted(made, 1)),
		} {
			if f.Lipschitz(2) != made.Lipschitz(2) || f.Smoothness() != made.Smoothness() ||
				f.StrongConvexity() != made.StrongConvexity() || made.Lipschitz(2) < 5 {
				t.Errorf("%T of %s: constants %v, %v, %v, want %v, %v, %v", f, phi.Name(), f.Lipschitz(2),
					f.Smoothness(),
					f.StrongConvexity(), made.Lipschitz(2), made.Smoothness(), made.StrongConvexity())
			}
		}
	}
	if f := (&Example{Z: []float64{2}, Y: 1, Loss: Squared{}}); f.StrongConvexity() != 4 {
		t.Errorf("in one dimension the strong convexity is %v, want 4", f.StrongConvexity())
	}
}

// TestSparseExample compares a sparse example with its dense form, bit for bit, also as a literal
// and with a weight.
func TestSparseExample(t *testing.T) {
	r := random.New(1, "sparse examples")
	for range 300 {
		d := 1 + r.IntN(20)
		x, row := make([]float64, d), Sparse{}
		for i := range x {
			x[i] = r.NormFloat64()
			if r.IntN(4) == 0 {
				row.Index, row.Value = append(row.Index, uint32(i)), append(row.Value, r.NormFloat64())
			}
		}
		f := must(NewSparseExample(d, row, 1, scalars[r.IntN(len(scalars)-1)]))
		dense := f.Dense()
		weight := float64(r.IntN(3))
		for _, pair := range [][2]Function{
			{f, dense},
			{&SparseExample{D: d, Z: row, Y: f.Y, Loss: f.Loss}, dense},
			{must(NewWeighted(f, weight)), must(NewWeighted(dense, weight))},
		} {
			got, want, sparse := make([]float64, d), make([]float64, d), make([]float64, d)
			got[r.IntN(d)] = math.NaN() // is overwritten
			pair[0].Subgradient(got, x)
			pair[1].Subgradient(want, x)
			g, ok := pair[0].(SparseFunction).SparseSubgradient(x)
			for k, i := range g.Index {
				sparse[i] = g.Value[k]
			}
			if !ok || pair[0].Value(x) != pair[1].Value(x) || !slices.Equal(got, want) || !slices.Equal(sparse, want) {
				t.Fatalf("%T: value %v, want %v; subgradients %v and %v, want %v", pair[0], pair[0].Value(x),
					pair[1].Value(x), got, sparse, want)
			}
		}
	}
}

func TestSparseSubgradientCost(t *testing.T) {
	const d = 1 << 20
	row := Sparse{Index: []uint32{3, d - 1}, Value: []float64{1, 2}}
	f := must(NewWeighted(must(NewSparseExample(d, row, 1, Squared{})), 3))
	x := make([]float64, d)
	f.SparseSubgradient(x)
	if n := testing.AllocsPerRun(10, func() {
		f.Value(x)
		f.SparseSubgradient(x)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if _, ok := must(NewWeighted(must(NewSquaredDistance([]float64{1})), 1)).SparseSubgradient([]float64{0}); ok {
		t.Error("a weighted dense loss reports non-zeros")
	}
}
