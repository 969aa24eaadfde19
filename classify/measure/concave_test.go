package measure

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var concaves = []Concave{
	Min{},
	HMean{},
	QMean{},
	GMean{},
	BalancedAccuracy(), Youden(),
	WeightedRecall{C1: 0.9, C2: 0.3},
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.12g, want %.12g (within %g)", what, got, want, tol)
	}
}

// Projections on the dual regions against reference values; G-mean with cap 2.5.
func TestProjectionTable(t *testing.T) {
	for _, tc := range []struct {
		a, b       float64
		m, h, q, g [2]float64
	}{
		{
			.2, .3,
			[2]float64{.45, .55},
			[2]float64{.4608245293, .5407734273},
			[2]float64{.2, .3},
			[2]float64{.4677994683, .5344170247},
		},
		{
			-.4, .9,
			[2]float64{0, 1},
			[2]float64{.1369340579, 1.0902858536},
			[2]float64{0, .7071067812},
			[2]float64{.2390040894, 1.0460072068},
		},
		{
			1.5, -.2,
			[2]float64{1, 0},
			[2]float64{1.5328638277, .0310199389},
			[2]float64{.7071067812, 0},
			[2]float64{1.5382989700, .1625171731},
		},
		{
			3, 1,
			[2]float64{1, 0},
			[2]float64{1.8973665961, .6324555320},
			[2]float64{.6708203932, .2236067977},
			[2]float64{2.5, 1},
		},
		{
			.1, -5,
			[2]float64{1, 0},
			[2]float64{1.3057020936, .0737341561},
			[2]float64{.1, 0},
			[2]float64{1.1272845803, .2217718617},
		},
		{-1, -1, [2]float64{.5, .5}, [2]float64{.5, .5}, [2]float64{0, 0}, [2]float64{.5, .5}},
	} {
		for _, row := range []struct {
			m    Concave
			want [2]float64
		}{{Min{}, tc.m}, {HMean{}, tc.h}, {QMean{}, tc.q}, {GMean{}, tc.g}} {
			al, be := row.m.Project(tc.a, tc.b, 2.5)
			near(t, row.m.Name()+" α", al, row.want[0], 6e-11)
			near(t, row.m.Name()+" β", be, row.want[1], 6e-11)
		}
	}
}

// member draws a point of A (∩ [0, limit]² where A is unbounded).
func member(m Concave, r *rand.Rand, limit float64) (float64, float64) {
	switch m := m.(type) {
	case Min:
		l := r.Float64()
		return l, 1 - l
	case WeightedRecall:
		return m.C1, m.C2
	}
	for {
		a, b := r.Float64()*2.5, r.Float64()*2.5
		ok := false
		switch m.(type) {
		case HMean:
			ok = math.Sqrt(a)+math.Sqrt(b) >= math.Sqrt2 && math.Hypot(a, b) <= 2
		case QMean:
			ok = a*a+b*b <= 0.5
		case GMean:
			ok = a*b >= 0.25 && a <= limit && b <= limit
		}
		if ok {
			return a, b
		}
	}
}

// The projection lies in A, is idempotent and satisfies the variational inequality ⟨p - Π(p), x -
// Π(p)⟩ ≤ 0 for x in A.
func TestProjectionIsExact(t *testing.T) {
	for _, m := range concaves {
		rapid.Check(t, func(t *rapid.T) {
			a := rapid.Float64Range(-6, 6).Draw(t, "a")
			b := rapid.Float64Range(-6, 6).Draw(t, "b")
			limit := rapid.Float64Range(0.6, 5).Draw(t, "limit")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			al, be := m.Project(a, b, limit)
			if al2, be2 := m.Project(al, be, limit); math.Hypot(al2-al, be2-be) > 1e-12 {
				t.Fatalf("%s: not idempotent: (%v, %v) goes to (%v, %v)", m.Name(), al, be, al2, be2)
			}
			for range 50 {
				x, y := member(m, r, limit)
				if ip := (a-al)*(x-al) + (b-be)*(y-be); ip > 1e-12*(1+math.Hypot(a, b)) {
					t.Fatalf("%s: variational inequality broken by %g at (%v, %v), limit %v, member (%v, %v)", m.Name(),
						ip, a, b, limit, x, y)
				}
			}
		})
	}
}

// The projection without a cap, by bisection on the multiplier λ of αβ = 1/4, agrees with that
// under a cap that does not bind.
func TestGMeanUncappedRecipe(t *testing.T) {
	side := func(a, l float64) float64 {
		if a < 0 {
			return 2 * l / (math.Sqrt(a*a+4*l) - a)
		}
		return (a + math.Sqrt(a*a+4*l)) / 2
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := r.Float64()*4-2, r.Float64()*4-2
		if a > 0 && b > 0 && a*b >= 0.25 {
			continue
		}
		lo, hi := 0.0, 100.0
		for range 200 {
			mid := (lo + hi) / 2
			if side(a, mid)*side(b, mid) < 0.25 {
				lo = mid
			} else {
				hi = mid
			}
		}
		al, be := GMean{}.Project(a, b, 1e6)
		near(t, "α", al, side(a, hi), 1e-12)
		near(t, "β", be, side(b, hi), 1e-12)
	}
}

// Ψ(u, v) is the minimum of αu + βv - Ψ*(α, β) over A's boundary, here at 4001 points of it
// (concave conjugacy, Narasimhan, Kar and Jain 2015).
func TestDuality(t *testing.T) {
	const n = 4001
	boundary := map[Concave]func(s float64) (float64, float64){
		Min{}:   func(s float64) (float64, float64) { return s, 1 - s },
		HMean{}: func(s float64) (float64, float64) { return 2 * s * s, 2 * (1 - s) * (1 - s) },
		QMean{}: func(s float64) (float64, float64) {
			return math.Sqrt(0.5) * math.Cos(s*math.Pi/2), math.Sqrt(0.5) * math.Sin(s*math.Pi/2)
		},
		GMean{}: func(s float64) (float64, float64) {
			tau := (2*s - 1) * math.Log(100)
			return math.Exp(tau) / 2, math.Exp(-tau) / 2
		},
	}
	tol := map[Concave]float64{Min{}: 1e-15, HMean{}: 5e-8, QMean{}: 1.5e-8, GMean{}: 5e-7}
	for m, curve := range boundary {
		for u := 0.05; u < 1.001; u += 0.05 {
			for v := 0.05; v < 1.001; v += 0.05 {
				best := math.Inf(1)
				for i := range n {
					a, b := curve(float64(i) / (n - 1))
					best = min(best, a*u+b*v-m.Conjugate(a, b))
				}
				near(t, m.Name()+" by its dual", best, m.Of(u, v), tol[m]*1.05)
			}
		}
	}
	al, be := QMean{}.InitialDual()
	near(t, "qmean at (1, 1)", al+be-QMean{}.Conjugate(al, be), 1, 1e-15)
}

// Values and optimal duals at single points against reference values.
func TestConcaveValues(t *testing.T) {
	for _, tc := range []struct {
		m    Concave
		u, v float64
		want float64
	}{
		{Min{}, .3, .8, .3},
		{HMean{}, .3, .8, .4363636364},
		{QMean{}, .3, .8, .4852184930},
		{GMean{}, .3, .8, .4898979486},
		{Min{}, .9, .2, .2},
		{HMean{}, .9, .2, .3272727273},
		{QMean{}, .9, .2, .4299122875},
		{GMean{}, .9, .2, .4242640687},
	} {
		near(t, tc.m.Name(), tc.m.Of(tc.u, tc.v), tc.want, 6e-11)
	}
	for _, tc := range []struct {
		m    Concave
		a, b float64
	}{
		{HMean{}, 1.0578512397, .1487603306},
		{QMean{}, .6799001037, .1942571725},
		{GMean{}, .8164965809, .3061862178},
		{Min{}, 1, 0},
	} {
		al, be := tc.m.OptimalDual(.3, .8)
		near(t, tc.m.Name()+" ∇Ψ α", al, tc.a, 6e-11)
		near(t, tc.m.Name()+" ∇Ψ β", be, tc.b, 6e-11)
	}
}

// Measures of counts equal Ψ of the rates; Ψ_A equals Ψ on [0, 1]² and is the minimum over members
// of A; the initial dual is a member; Ψ moves by at most the modulus; all are monotone.
func TestConcaveProperties(t *testing.T) {
	for _, m := range concaves {
		rapid.Check(t, func(t *rapid.T) {
			p := rapid.Float64Range(0.01, 1).Draw(t, "p")
			n := rapid.Float64Range(0.01, 1).Draw(t, "n")
			pos := rapid.Float64Range(0.5, 100).Draw(t, "pos")
			neg := rapid.Float64Range(0.5, 1e4).Draw(t, "neg")
			if got, want := m.Value(FromRates(p, n, pos, neg)), m.Of(p, n); math.Abs(got-want) > 1e-9 {
				t.Fatalf("%s of counts = %v, of rates = %v", m.Name(), got, want)
			}
			if got, want := m.Extended(p, n, 50), m.Of(p, n); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%s extended = %v, want %v", m.Name(), got, want)
			}
			u := rapid.Float64Range(-3, 1).Draw(t, "u")
			v := rapid.Float64Range(-3, 1).Draw(t, "v")
			limit := rapid.Float64Range(0.6, 4).Draw(t, "limit")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			ext := m.Extended(u, v, limit)
			for range 30 {
				a, b := member(m, r, limit)
				if val := a*u + b*v - m.Conjugate(a, b); val < ext-1e-12 {
					t.Fatalf("%s extended(%v, %v) = %v, but a member gives %v", m.Name(), u, v, ext, val)
				}
			}
			if m.Extended(u+0.1, v, limit) < ext-1e-12 || m.Extended(u, v+0.1, limit) < ext-1e-12 {
				t.Fatalf("%s extended decreases at (%v, %v)", m.Name(), u, v)
			}
			eps := rapid.Float64Range(0, 0.5).Draw(t, "eps")
			if p > eps && n > eps {
				if d := m.Of(p, n) - m.Of(p-eps, n-eps); d > m.Modulus(eps)+1e-12 {
					t.Fatalf("%s moves by %v for ε = %v, more than %v", m.Name(), d, eps, m.Modulus(eps))
				}
			}
		})
		al, be := m.InitialDual()
		pa, pb := m.Project(al, be, 10)
		near(t, m.Name()+" initial dual", math.Hypot(pa-al, pb-be), 0, 1e-15)
		if r := math.Hypot(al, be); r > m.DualRadius()+1e-15 {
			t.Errorf("%s: initial dual has norm %v > %v", m.Name(), r, m.DualRadius())
		}
	}
}

// The extension is attained: some member of A reaches it (so that it is the minimum, not a lower
// bound).
func TestExtendedIsAttained(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, m := range []Concave{HMean{}, QMean{}, GMean{}} {
		for range 100 {
			u, v := r.Float64()*4-3, r.Float64()*4-3
			const limit = 2.0
			// The minimiser of a linear function over A is the projection of a far point against
			// the gradient.
			best := math.Inf(1)
			for _, far := range []float64{10, 1e3, 1e5} {
				a, b := m.Project(-far*u, -far*v, limit)
				if q, ok := m.(QMean); ok { // the conjugate is linear too
					a, b = q.Project(far*(1-u), far*(1-v), limit)
				}
				best = min(best, a*u+b*v-m.Conjugate(a, b))
			}
			near(t, m.Name()+" minimum over A", best, m.Extended(u, v, limit), 1e-3)
		}
	}
}
