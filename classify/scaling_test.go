package classify

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noregret/noregret"
)

// A given scaling may be shorter than the data, whose further features then stay as they are; a
// broken one is refused.
func TestGivenScaling(t *testing.T) {
	eachLearner(t, Config{Scaling: Identity(0)}, func(t *testing.T, build func() Learner) {
		l := build()
		for _, x := range stream(53, 1500) {
			x.Index, x.Value = x.Index[2:], x.Value[2:] // leave the column of a million out
			feed(t, l, []Example{x})
		}
		for _, w := range l.Model().Weights {
			if math.IsNaN(w) {
				t.Fatal("NaN in the model")
			}
		}
	})
	for name, s := range map[string]*Scaling{
		"no centres": {Inverse: []float64{1}},
		"NaN":        {Center: []float64{0}, Inverse: []float64{math.NaN()}},
		"zero":       {Center: []float64{0}, Inverse: []float64{0}},
		"infinite":   {Center: []float64{math.Inf(1)}, Inverse: []float64{1}},
	} {
		if _, err := NewSGD(SGDConfig{Config: Config{Scaling: s}}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s: got %v, want an error of code usage", name, err)
		}
	}
}

func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-10*(1+math.Abs(want))) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

// Moments: equal to the two-pass formulas on dense and sparse columns, and safe for a large offset.
func TestMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	const n = 5000
	var m moments
	cols := [4][]float64{}
	for range n {
		x := [4]float32{
			float32(1e6 + r.NormFloat64()*100), // dense, large offset
			0,                                  // sparse
			float32(r.NormFloat64() * 1e-6),    // dense, tiny
			42,                                 // constant
		}
		if r.Float64() < 0.05 {
			x[1] = float32(3 + r.Float64())
		}
		for i := range cols {
			cols[i] = append(cols[i], float64(x[i]))
		}
		m.observe([]uint32{0, 1, 2, 3}, x[:], 1)
	}
	s := m.scaling(5, true)
	for _, i := range []int{0, 2} {
		mean := 0.0
		for _, x := range cols[i] {
			mean += x / n
		}
		v := 0.0
		for _, x := range cols[i] {
			v += (x - mean) * (x - mean) / n
		}
		if rel := math.Abs(s.Inverse[i]*math.Sqrt(v) - 1); rel > 1e-9 {
			t.Errorf("column %d: scale off by %g", i, rel)
		}
		if math.Abs(s.Center[i]-mean)*s.Inverse[i] > 1e-9 {
			t.Errorf("column %d: centre %v, want %v", i, s.Center[i], mean)
		}
	}
	sq, k := 0.0, 0.0
	for _, x := range cols[1] {
		if x != 0 {
			sq += x * x
			k++
		}
	}
	same(t, "sparse scale", s.Inverse[1], 1/math.Sqrt(math.Sqrt(sq/k)*math.Sqrt(sq/n)))
	if s.Center[1] != 0 || s.Inverse[3] != 1.0/42 || s.Inverse[4] != 1 {
		t.Errorf("sparse centre %v, constant %v, unseen %v; want 0, 1/42, 1", s.Center[1], s.Inverse[3], s.Inverse[4])
	}
	want := 0.09
	for j := range n {
		for i := range cols {
			h := (cols[i][j] - s.Center[i]) * s.Inverse[i]
			want += h * h / n
		}
	}
	same(t, "mean square", m.meanSquare(s, 0.3), want)
}
