package classify_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// near compares to nine digits.
func nearTo(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

func newPerceptron(t *testing.T, d int, o classify.PerceptronOptions) *classify.Perceptron {
	t.Helper()
	p, err := classify.NewPerceptron(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var (
	sevenRows  = [][]float64{{1, .5}, {-.5, 1}, {.5, 1.5}, {-1, -.5}, {1, -1}, {-.5, .5}, {1, .5}}
	sevenSigns = []int{1, -1, 1, -1, -1, 1, 1}
)

// TestPerceptronTheorem82 has seven rounds in exact arithmetic, and the bounds for u = (½, ½).
func TestPerceptronTheorem82(t *testing.T) {
	p, tie := newPerceptron(t, 2, classify.PerceptronOptions{}),
		newPerceptron(t, 2, classify.PerceptronOptions{TieIsPositive: true})
	b, err := classify.NewMistakeBounds([]float64{.5, .5})
	if err != nil {
		t.Fatal(err)
	}
	var mistakes []int
	var norms float64
	for k, z := range sevenRows {
		wrong, err := p.Update(z, sevenSigns[k])
		if err != nil {
			t.Fatal(err)
		}
		if wrong {
			mistakes = append(mistakes, k+1)
			norms += vec.Dot(z, z)
		}
		if err := b.Add(z, sevenSigns[k], wrong); err != nil {
			t.Fatal(err)
		}
		if _, err := tie.Update(z, sevenSigns[k]); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(mistakes, []int{1, 2, 3, 5}) || p.Mistakes() != 4 || !slices.Equal(p.Weights(), []float64{1, 2}) {
		t.Errorf("mistakes in rounds %v, weights %v", mistakes, p.Weights())
	}
	if norms != 7 {
		t.Errorf("Σ‖z‖² = %v", norms)
	}
	if tie.Mistakes() != 3 || !slices.Equal(tie.Weights(), []float64{0, 1.5}) {
		t.Errorf("with ties positive: %d mistakes, weights %v", tie.Mistakes(), tie.Weights())
	}
	none, err := classify.NewMistakeBounds([]float64{.5, .5})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := none.Hinge(); err != nil || h != 0 || none.Sharp() != 0 {
		t.Errorf("before the first round the bounds are %v and %v, %v", h, none.Sharp(), err)
	}
	hinge, err := b.Hinge()
	if err != nil {
		t.Fatal(err)
	}
	nearTo(t, "q = 1", hinge, 6.946771953)
	two, err := classify.PerceptronBound(2, math.Sqrt(2.5), math.Sqrt(.5), 3.75)
	if err != nil {
		t.Fatal(err)
	}
	nearTo(t, "q = 2", two, 11.25)
	squared, err := b.SquaredHinge()
	if err != nil {
		t.Fatal(err)
	}
	nearTo(t, "the sharper q = 2", squared, 9.330127019)
	nearTo(t, "the sharpest", b.Sharp(), 4.370828693)
}

// TestErratumE3 is for Theorem 8.2 of Orabona (2019): with ‖u‖ in place of R‖u‖ before the root, as
// printed, the bound fails for R = 10.
func TestErratumE3(t *testing.T) {
	p := newPerceptron(t, 2, classify.PerceptronOptions{})
	r := random.New(1, "erratum")
	u := []float64{1, 0} // margin 1
	for range 5000 {
		z := []float64{math.Copysign(1, r.Float64()-.5), 10 * (2*r.Float64() - 1)}
		if _, err := p.Update(z, int(z[0])); err != nil {
			t.Fatal(err)
		}
	}
	radius := math.Sqrt(101)
	b, err := classify.PerceptronBound(1, radius, vec.Norm2(u), 0)
	if err != nil {
		t.Fatal(err)
	}
	nearTo(t, "the separable bound", b, 101)
	printed := 1 + .5 // L + R²‖u‖²/2 without R, and ‖u‖·√(‖u‖²/4 + L)
	if m := float64(p.Mistakes()); m > b || m <= printed {
		t.Errorf("%v mistakes, bound %v, as printed %v", m, b, printed)
	}
}

// TestErratumE4 is for the proof of Theorem 8.2: the sum of the hinge losses stands beside the
// root, M ≤ ‖u‖R√M + Σ max(1 − y⟨z, u⟩, 0). Under it, as printed, the inequality fails for u = 0,
// where every round loses 1.
func TestErratumE4(t *testing.T) {
	r := random.New(7, "proof")
	for _, u := range [][]float64{{0, 0}, {.1, 0}, {1, -1}} {
		p := newPerceptron(t, 2, classify.PerceptronOptions{})
		hinges, radius := 0.0, 0.0
		for range 400 {
			z := []float64{r.NormFloat64(), r.NormFloat64()}
			y := 1 - 2*r.IntN(2)
			wrong, err := p.Update(z, y)
			if err != nil {
				t.Fatal(err)
			}
			if wrong {
				hinges += max(1-float64(y)*vec.Dot(z, u), 0)
				radius = max(radius, vec.Norm2(z))
			}
		}
		m, a := float64(p.Mistakes()), radius*vec.Norm2(u)
		if right := a*math.Sqrt(m) + hinges; m > right*(1+1e-12) {
			t.Errorf("u = %v: %v mistakes, above %v", u, m, right)
		}
		if printed := a * math.Sqrt(m+hinges); a == 0 && m <= printed {
			t.Errorf("u = 0: the printed inequality says %v for %v mistakes", printed, m)
		}
	}
}

// TestErratumE5 is for Lemmas 8.3 and 8.4: Young's inequality ab ≤ a^q/q + b^p/p is for a, b ≥ 0,
// as powers of negative numbers have no value, and c may be 0 in the other lemma, which Theorem 8.2
// needs for separable rows: the largest x with x − a√x ≤ c is c + a²/2 + a√(a²/4 + c).
func TestErratumE5(t *testing.T) {
	r := random.New(8, "lemmas")
	for range 2000 {
		a, b, q := 5*r.Float64(), 5*r.Float64(), 1+5*r.Float64()
		p := q / (q - 1)
		if right := math.Pow(a, q)/q + math.Pow(b, p)/p; a*b > right*(1+1e-12) {
			t.Fatalf("a = %v, b = %v, q = %v: ab is above %v", a, b, q, right)
		}
		c := max(0, 3*r.Float64()-1)
		x := c + a*a/2 + a*math.Sqrt(a*a/4+c)
		nearTo(t, "the largest x", x-a*math.Sqrt(x), c)
		if y := x * (1 + 1e-6); y-a*math.Sqrt(y) <= c {
			t.Fatalf("a = %v, c = %v: x may be above %v", a, c, x)
		}
	}
	if v := math.Pow(-1, 1.5); v == v {
		t.Errorf("(−1)^1.5 = %v", v)
	}
	b, err := classify.PerceptronBound(1, 10, .5, 0)
	if err != nil {
		t.Fatal(err)
	}
	nearTo(t, "separable rows", b, 25)
}

// TestPerceptronBounds: for random data, noise, scales and comparators the mistakes are within
// every bound, and the sharp one is the least.
func TestPerceptronBounds(t *testing.T) {
	r := random.New(2, "bounds")
	for run := range 200 {
		d := 1 + r.IntN(5)
		p := newPerceptron(t, d, classify.PerceptronOptions{TieIsPositive: run%2 == 0})
		truth, scale := make([]float64, d), math.Exp(3*r.NormFloat64())
		for i := range truth {
			truth[i] = r.NormFloat64()
		}
		var all []*classify.MistakeBounds
		for k := range 6 {
			u := make([]float64, d)
			for i := range u {
				if u[i] = truth[i] * math.Exp(float64(k)-2) / scale; k > 3 {
					u[i] = r.NormFloat64() / scale
				}
			}
			if run%10 == 0 && k == 5 {
				clear(u)
			}
			b, err := classify.NewMistakeBounds(u)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		for range 1 + r.IntN(300) {
			z := make([]float64, d)
			for i := range z {
				z[i] = scale * r.NormFloat64()
			}
			y := 1
			if vec.Dot(z, truth) < 0 {
				y = -1
			}
			if r.IntN(10) < run%4 {
				y = -y
			}
			if r.IntN(50) == 0 {
				clear(z)
			}
			wrong, err := p.Update(z, y)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range all {
				if err := b.Add(z, y, wrong); err != nil {
					t.Fatal(err)
				}
			}
		}
		m := float64(p.Mistakes())
		for _, b := range all {
			hinge, err := b.Hinge()
			if err != nil {
				t.Fatal(err)
			}
			squared, err := b.SquaredHinge()
			if err != nil {
				t.Fatal(err)
			}
			if least := min(hinge, squared); b.Sharp() > least*(1+1e-9) {
				t.Fatalf("the sharp bound %v is above %v", b.Sharp(), least)
			}
			for what, v := range map[string]float64{"hinge": hinge, "squared": squared, "sharp": b.Sharp()} {
				if m > v+1e-9*v {
					t.Fatalf("%v mistakes, the %s bound is %v", m, what, v)
				}
			}
		}
	}
}

// TestPerceptronStops: on separable rows shown again and again the mistakes stop.
func TestPerceptronStops(t *testing.T) {
	r := random.New(3, "stops")
	rows, p := [][]float64{}, newPerceptron(t, 3, classify.PerceptronOptions{})
	for len(rows) < 50 {
		if z := []float64{r.NormFloat64(), r.NormFloat64(), 1}; math.Abs(z[0]+z[1]-.3) > .1 {
			rows = append(rows, z)
		}
	}
	last := -1
	for pass := range 2000 {
		before := p.Mistakes()
		for _, z := range rows {
			y := 1
			if z[0]+z[1] < .3 {
				y = -1
			}
			if _, err := p.Update(z, y); err != nil {
				t.Fatal(err)
			}
		}
		if p.Mistakes() == before {
			last = pass
			break
		}
	}
	if last < 1 {
		t.Errorf("mistakes have not stopped: %d", p.Mistakes())
	}
}

// TestPerceptronSparse: sparse features give the same weights and mistakes.
func TestPerceptronSparse(t *testing.T) {
	r := random.New(4, "sparse")
	a, b := newPerceptron(t, 20, classify.PerceptronOptions{}), newPerceptron(t, 20, classify.PerceptronOptions{})
	for range 300 {
		z := make([]float64, 20)
		var s loss.Sparse
		for i := range z {
			if r.IntN(4) == 0 {
				z[i] = r.NormFloat64()
				s.Index, s.Value = append(s.Index, uint32(i)), append(s.Value, z[i])
			}
		}
		y := 1 - 2*r.IntN(2)
		first, err1 := a.Update(z, y)
		second, err2 := b.UpdateSparse(s, y)
		if err1 != nil || err2 != nil || first != second || !slices.Equal(a.Weights(), b.Weights()) {
			t.Fatalf("%v and %v (%v, %v)", a.Weights(), b.Weights(), err1, err2)
		}
	}
	s := loss.Sparse{Index: []uint32{3, 7}, Value: []float64{1, 2}}
	if n := testing.AllocsPerRun(50, func() { _, _ = b.UpdateSparse(s, 1) }); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
	for _, bad := range []loss.Sparse{
		{Index: []uint32{1}},
		{Index: []uint32{20}, Value: []float64{1}},
		{Index: []uint32{2, 2}, Value: []float64{1, 1}},
		{Index: []uint32{2}, Value: []float64{math.NaN()}},
	} {
		if _, err := b.UpdateSparse(bad, 1); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestPerceptronRefusesAndRestores(t *testing.T) {
	p := newPerceptron(t, 2, classify.PerceptronOptions{})
	for k, z := range sevenRows {
		if _, err := p.Update(z, sevenSigns[k]); err != nil {
			t.Fatal(err)
		}
	}
	data, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, z := range [][]float64{nil, {1}, {math.NaN(), 0}, {0, math.Inf(1)}, {1e308, 1e308}} {
		if _, err := p.Update(z, 1); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: %v", z, err)
		}
	}
	for _, y := range []int{0, 2, -2} {
		if _, err := p.Update(sevenRows[0], y); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("label %d: %v", y, err)
		}
	}
	if again, err := p.MarshalBinary(); err != nil || !bytes.Equal(data, again) {
		t.Error("a refused row changed it")
	}
	q := newPerceptron(t, 2, classify.PerceptronOptions{})
	if err := q.UnmarshalBinary(data); err != nil || !slices.Equal(q.Weights(), p.Weights()) || q.Mistakes() != 4 {
		t.Errorf("restored: %v, %v", q.Weights(), err)
	}
	if newPerceptron(t, 2, classify.PerceptronOptions{TieIsPositive: true}).UnmarshalBinary(data) == nil {
		t.Error("the snapshot of other options was taken")
	}
	if label, err := p.Predict([]float64{0, 0}); err != nil || label != 1 {
		t.Errorf("a score of 0 predicts %d, %v", label, err)
	}
	for _, v := range [][4]float64{{.5, 1, 1, 1}, {1, -1, 1, 1}, {1, 1, math.NaN(), 1}, {1, 1, 1, math.Inf(1)}} {
		if _, err := classify.PerceptronBound(v[0], v[1], v[2], v[3]); err == nil {
			t.Errorf("a bound of %v", v)
		}
	}
}
