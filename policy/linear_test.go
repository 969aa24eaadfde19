package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// numbers declares n−1 numbers in [−1, 1], so that the encoder has n coordinates.
func numbers(n int) []Feature {
	var out []Feature
	for i := range n - 1 {
		out = append(out, Feature{Name: fmt.Sprint("f", i), Kind: Number, Range: Range{-1, 1}})
	}
	return out
}

// randomLinear returns a policy whose factors are those of A = I + Σ vvᵀ, and the matrices A.
func randomLinear(t testing.TB, r *random.Source, kind string, arms, dim int) (*Linear, [][]float64) {
	l := &Linear{Kind: kind, Features: numbers(dim), Alpha: 0.5 + r.Float64(), Gamma: 20 * r.Float64()}
	var all [][]float64
	for range arms {
		a := make([]float64, dim*dim)
		for i := range dim {
			a[i*dim+i] = 1
		}
		for range r.IntN(40) {
			v := normals(r, dim)
			for i := range v {
				for j := range v {
					a[i*dim+j] += v[i] * v[j]
				}
			}
		}
		all = append(all, a)
		model := LinearArm{Mean: normals(r, dim)}
		if kind != SquareCB {
			model.Factor = inverseFactor(a, dim)
		}
		l.Arms = append(l.Arms, model)
	}
	if err := l.Prepare(arms); err != nil {
		t.Fatal(err)
	}
	return l, all
}

// inverseFactor is the packed R⁻¹ for A = RᵀR.
func inverseFactor(a []float64, dim int) Packed {
	c := linalg.NewCholesky(dim, 1)
	c.Factorize(a)
	columns := make([][]float64, dim)
	for j := range columns {
		columns[j] = make([]float64, dim)
		columns[j][j] = 1
		linalg.SolveR(c.R, dim, columns[j])
	}
	var out Packed
	for i := range dim {
		for j := i; j < dim; j++ {
			out = append(out, columns[j][i])
		}
	}
	return out
}

func normals(r *random.Source, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = stat.Normal(r)
	}
	return x
}

// widthBySolving is √(xᵀA⁻¹x) by a linear system.
func widthBySolving(a, x []float64) float64 {
	b := append([]float64(nil), x...)
	linalg.SolveDefinite(append([]float64(nil), a...), b, len(x))
	return math.Sqrt(dot(x, b))
}

func TestLinUCB(t *testing.T) {
	r := random.New(1, "lin-ucb")
	for range 200 {
		arms, dim := 1+r.IntN(6), 1+r.IntN(8)
		l, matrices := randomLinear(t, r, LinUCB, arms, dim)
		x := normals(r, dim)
		if dim > 2 {
			x[1] = 0
		}
		best, top := 0, math.Inf(-1)
		for k := range arms {
			if v := dot(x, l.Arms[k].Mean) + l.Alpha*widthBySolving(matrices[k], x); v > top {
				best, top = k, v
			}
		}
		p, err := l.Distribution(nil, x)
		if err != nil || p[best] != 1 {
			t.Fatalf("%v, want all on arm %d, %v", p, best, err)
		}
	}
}

func TestTiesFloorAndRetired(t *testing.T) {
	for _, kind := range LinearKinds() {
		l := &Linear{Kind: kind, Features: numbers(2), Alpha: 1, Gamma: 8, Floor: 0.2}
		for range 3 {
			a := LinearArm{Mean: []float64{0, 0}}
			if kind != SquareCB {
				a.Factor = Packed{1, 0, 1}
			}
			l.Arms = append(l.Arms, a)
		}
		l.Arms = append(l.Arms, LinearArm{Retired: true})
		if err := l.Prepare(4); err != nil {
			t.Fatal(err)
		}
		p, err := l.Distribution(nil, []float64{1, 0.5})
		if diff := cmp.Diff([]float64{1. / 3, 1. / 3, 1. / 3, 0}, p, cmpopts.EquateApprox(0, 1e-15)); err != nil ||
			diff != "" {
			t.Errorf("%s: %v %s", kind, err, diff)
		}
		l.Arms[1].Mean = []float64{50, 0}
		p, err = l.Distribution(nil, []float64{1, 0.5})
		low := 0.2 / 3
		if kind == SquareCB {
			low += 0.8 / (3 + 8*50)
		}
		if diff := cmp.Diff([]float64{low, 1 - 2*low, low, 0}, p, cmpopts.EquateApprox(0, 1e-15)); err != nil ||
			diff != "" {
			t.Errorf("%s: %v %s", kind, err, diff)
		}
	}
}

func TestSquareCB(t *testing.T) {
	r := random.New(2, "squarecb")
	for range 100 {
		arms, dim := 1+r.IntN(6), 1+r.IntN(8)
		l, _ := randomLinear(t, r, SquareCB, arms, dim)
		x := normals(r, dim)
		p, err := l.Distribution(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		best, sum := 0, 0.0
		for k := range arms {
			if dot(x, l.Arms[k].Mean) > dot(x, l.Arms[best].Mean) {
				best = k
			}
			sum += p[k]
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("sum %v", sum)
		}
		for k := range arms {
			gap := dot(x, l.Arms[best].Mean) - dot(x, l.Arms[k].Mean)
			if want := 1 / (float64(arms) + l.Gamma*gap); k != best && math.Abs(p[k]-want) > 1e-12 {
				t.Fatalf("arm %d: %v, want %v", k, p[k], want)
			}
		}
	}
}

// scoresOnly returns a thompson policy of one coordinate: arm k has score s_k and deviation σ_k at
// x = (1).
func scoresOnly(t testing.TB, scores, deviations []float64) *Linear {
	l := &Linear{Kind: LinThompson, Alpha: 1}
	for k := range scores {
		l.Arms = append(l.Arms, LinearArm{Mean: scores[k : k+1], Factor: deviations[k : k+1]})
	}
	if err := l.Prepare(len(scores)); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestThompsonTwoArms compares with the closed form Φ((s₁−s₂)/√(σ₁²+σ₂²)), over six orders of
// magnitude of the ratio of the deviations.
func TestThompsonTwoArms(t *testing.T) {
	r, worst := random.New(3, "thompson"), 0.0
	for range 2000 {
		s := []float64{stat.Normal(r), stat.Normal(r)}
		sigma := []float64{math.Exp(-7 * r.Float64()), math.Exp(-7 * r.Float64())}
		p, err := scoresOnly(t, s, sigma).Distribution(nil, []float64{1})
		if err != nil {
			t.Fatal(err)
		}
		want := math.Erfc(-(s[0]-s[1])/math.Hypot(sigma[0], sigma[1])/math.Sqrt2) / 2
		worst = max(worst, math.Abs(p[0]-want), math.Abs(p[1]-(1-want)))
	}
	t.Logf("largest error %.2g", worst)
	if worst > 1e-4 {
		t.Errorf("error %v", worst)
	}
}

// TestThompsonQuadrature compares with a rule of 20,000 cells.
func TestThompsonQuadrature(t *testing.T) {
	r, worst := random.New(4, "thompson"), 0.0
	for range testsize.Of(60, 10) {
		arms := 2 + r.IntN(30)
		s, sigma := normals(r, arms), make([]float64, arms)
		spread := 3 * r.Float64()
		for k := range sigma {
			sigma[k] = math.Exp(spread * stat.Normal(r) / 2)
		}
		p, err := scoresOnly(t, s, sigma).Distribution(nil, []float64{1})
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range fineThompson(s, sigma) {
			worst = max(worst, math.Abs(p[k]-want))
		}
	}
	t.Logf("largest error %.2g", worst)
	if worst > 1e-4 {
		t.Errorf("error %v", worst)
	}
}

func fineThompson(s, sigma []float64) []float64 {
	from, to := math.Inf(-1), math.Inf(-1)
	for k := range s {
		from, to = max(from, s[k]-8*sigma[k]), max(to, s[k]+8*sigma[k])
	}
	p, h := make([]float64, len(s)), make([]float64, len(s))
	const cells = 20000
	for i := range cells {
		z, product := from+(to-from)*(float64(i)+0.5)/cells, (to-from)/cells
		for k := range s {
			u := (z - s[k]) / sigma[k]
			below := math.Erfc(-u/math.Sqrt2) / 2
			h[k] = math.Exp(-u*u/2) / math.Sqrt(2*math.Pi) / sigma[k] / below
			product *= below
		}
		for k := range s {
			if product > 0 {
				p[k] += product * h[k]
			}
		}
	}
	return p
}

// TestThompsonMonteCarlo compares with draws of the scores, through whole models.
func TestThompsonMonteCarlo(t *testing.T) {
	r := random.New(5, "thompson")
	n := testsize.Of(200_000, 20_000)
	for range 5 {
		l, matrices := randomLinear(t, r, LinThompson, 5, 4)
		x := normals(r, 4)
		p, err := l.Distribution(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		count := make([]float64, 5)
		for range n {
			best, top := 0, math.Inf(-1)
			for k := range 5 {
				v := dot(x, l.Arms[k].Mean) + l.Alpha*widthBySolving(matrices[k], x)*stat.Normal(r)
				if v > top {
					best, top = k, v
				}
			}
			count[best]++
		}
		for k := range p {
			if e := math.Sqrt(p[k]*(1-p[k])/float64(n)) + 1e-5; math.Abs(count[k]/float64(n)-p[k]) > 4.5*e {
				t.Errorf("arm %d: probability %v, drawn %v", k, p[k], count[k]/float64(n))
			}
		}
	}
}

func TestThompsonExtremes(t *testing.T) {
	for _, c := range []struct{ s, sigma, want []float64 }{
		{[]float64{1, 2}, []float64{0, 0}, []float64{0, 1}},
		{[]float64{2, 2, 1}, []float64{0, 0, 0}, []float64{.5, .5, 0}},
		{[]float64{0, 0}, []float64{1, 0}, []float64{.5, .5}},
		{[]float64{1e50, 1e50}, []float64{1e-50, 1e-50}, []float64{.5, .5}},
		{[]float64{0, 100}, []float64{1, 1}, []float64{0, 1}},
		{[]float64{-1e59, 1e59}, []float64{1e60, 1e60}, []float64{.4437695, .5562305}},
	} {
		p, err := scoresOnly(t, c.s, c.sigma).Distribution(nil, []float64{1})
		if diff := cmp.Diff(c.want, p, cmpopts.EquateApprox(0, 1e-4)); err != nil || diff != "" {
			t.Errorf("%v: %v %s", c, err, diff)
		}
	}
}

func TestLinearErrors(t *testing.T) {
	good := func() *Linear {
		return &Linear{
			Kind: LinUCB, Features: numbers(2), Alpha: 1,
			Arms: []LinearArm{{Mean: []float64{0, 0}, Factor: Packed{1, 0, 1}}},
		}
	}
	for _, c := range []struct {
		change func(l *Linear)
		text   string
	}{
		{func(l *Linear) { l.Kind = "ucb" }, "lin-ucb, lin-thompson, squarecb"},
		{func(l *Linear) { l.Kind = SquareCB }, "want 2 and 0"},
		{func(l *Linear) { l.Alpha = math.NaN() }, "linear.alpha"},
		{func(l *Linear) { l.Gamma = -1 }, "linear.gamma"},
		{func(l *Linear) { l.Floor = 1.1 }, "linear.floor"},
		{func(l *Linear) { l.Arms = nil }, "one for each of the 1 arms"},
		{func(l *Linear) { l.Arms[0].Retired = true }, "all are retired"},
		{func(l *Linear) { l.Arms[0].Mean = nil }, "0 weights"},
		{func(l *Linear) { l.Arms[0].Factor[1] = math.Inf(1) }, "linear.arms[0]: +Inf"},
		{func(l *Linear) { l.Features[0].Kind = "x" }, "context[0].kind"},
	} {
		l := good()
		c.change(l)
		if err := l.Prepare(1); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %q", err, c.text)
		}
	}
	l := good()
	if _, err := l.Distribution(nil, []float64{1, 0}); err == nil {
		t.Error("a distribution without Prepare")
	}
	if err := l.Prepare(1); err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]float64{nil, {1}, {1, math.NaN()}, {1, 1e61}} {
		if _, err := l.Distribution(nil, x); err == nil {
			t.Errorf("x = %v is accepted", x)
		}
	}
}

func TestLinearJSON(t *testing.T) {
	r := random.New(6, "json")
	l, _ := randomLinear(t, r, LinThompson, 3, 4)
	l.Arms[1].Retired = true
	split := mustSplit(t, .5, 0, .5)
	p := &Policy{
		Experiment: "x", Version: 1, Salt: "salt", Control: 0, Stream: "arm", HoldBack: Fraction(0.1),
		Arms:  []Arm{{"a", json.RawMessage("1")}, {"b", json.RawMessage("2")}, {"c", json.RawMessage("3")}},
		Links: []Link{{1, split}}, Linear: l.Clone(),
	}
	text, err := p.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Prepare(nil); err != nil {
		t.Fatal(err)
	}
	q, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	x := normals(r, 4)
	for i := range 100 {
		unit := fmt.Sprint("unit", i)
		if diff := cmp.Diff(p.DecideIn(unit, x), q.DecideIn(unit, x)); diff != "" {
			t.Fatal(diff)
		}
	}
	for _, bad := range []string{`"AAAA"`, `"AAAAAAAA8D8"`, `[1]`} {
		var n Packed
		if json.Unmarshal([]byte(bad), &n) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestPackedContract(t *testing.T) {
	got, err := Packed{1, -0.5}.MarshalText()
	if want := "AAAAAAAA8D8AAAAAAADgvw=="; err != nil || string(got) != want {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
}
