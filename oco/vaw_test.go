package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

func TestVovkAzouryWarmuth(t *testing.T) {
	zs := [][]float64{{1, .5}, {-.5, 1}, {.25, -1}, {1, 1}}
	ys := []float64{1, -.5, .75, .25}
	l := must(NewVovkAzouryWarmuth(2, 1))
	if _, err := l.Prediction(); err == nil {
		t.Error("a prediction before the features")
	}
	var total float64
	for i, z := range zs {
		if err := l.Features(z); err != nil {
			t.Fatal(err)
		}
		if err := l.Features(zs[0]); err == nil {
			t.Error("features of a round were changed")
		}
		nearVector(t, "x", l.Predict(), [][]float64{
			{0, 0}, {.4444444444, .2222222222}, {.5450733753, .0419287212}, {.4936416185, -.2635838150},
		}[i])
		p := must(l.Prediction())
		near(t, "prediction", p, []float64{0, 0, .0943396226, .2300578035}[i])
		near(t, "s/(1+s)", (l.state.Shrink-1)/l.state.Shrink,
			[]float64{.5555555556, .5555555556, .3207547170, .4485549133}[i])
		total += (p - ys[i]) * (p - ys[i]) / 2
		var err error
		if i%2 == 0 {
			err = l.UpdateLabel(ys[i])
		} else {
			err = l.Update([]float64{(p - ys[i]) * z[0], (p - ys[i]) * z[1]})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	near(t, "loss", total, .8401441108)
	u := []float64{.5583815029, -.2161849711}
	near(t, "bound at ridge", bound(t, l, u), .6307147497)
	near(t, "bound at least squares", bound(t, l, []float64{.8426966292, -.3483146067}), .8671821645)
	nearVector(t, "ridge", l.Predict(), u)
}

// TestRidgeShrunk: the prediction of the forecaster is that of ridge regression divided by 1 + s,
// and x_t = S_t⁻¹·b_{t−1}.
func TestRidgeShrunk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 6, 40)
		lambda := logUniform(r, 10)
		l := must(NewVovkAzouryWarmuth(d, lambda))
		s := make([][]float64, d)
		for i := range s {
			s[i] = make([]float64, d)
			s[i][i] = lambda
		}
		b := make([]float64, d)
		for k := range n {
			z := gradient(r, kind, k, b, true)
			ridge := vec.Dot(z, gauss(s, b))
			shrink := 1 + vec.Dot(z, gauss(s, z))
			for i := range s {
				for j := range s {
					s[i][j] += z[i] * z[j]
				}
			}
			if err := l.Features(z); err != nil {
				t.Fatal(err)
			}
			if p := must(l.Prediction()); math.Abs(p-ridge/shrink) > 1e-9*(1+math.Abs(ridge)) {
				t.Fatalf("round %d: %v, ridge %v over %v", k+1, p, ridge, shrink)
			}
			want := gauss(s, b)
			for i, x := range l.Predict() {
				if math.Abs(x-want[i]) > 1e-8*(1+vec.MaxAbs(want)) {
					t.Fatalf("round %d: x = %v, want %v", k+1, l.Predict(), want)
				}
			}
			y := 3 * r.NormFloat64()
			if err := l.UpdateLabel(y); err != nil {
				t.Fatal(err)
			}
			for i, v := range z {
				b[i] += y * v
			}
		}
	})
}

// TestVAWOwnGradient: the gradient (⟨z, x⟩ − y)·z is accepted for features whose squares underflow
// or overflow.
func TestVAWOwnGradient(t *testing.T) {
	for _, size := range []float64{1e-300, 1e-170, 1, 1e149} {
		l := must(NewVovkAzouryWarmuth(2, 1))
		z := []float64{size, -2 * size}
		if err := l.Features(z); err != nil {
			t.Fatal(err)
		}
		const y = 3.
		p := must(l.Prediction())
		if err := l.Update([]float64{(p - y) * z[0], (p - y) * z[1]}); err != nil {
			t.Errorf("features of %v: %v", size, err)
			continue
		}
		near(t, "bound at 0", bound(t, l, []float64{0, 0}), y*y/2*(1-1/(1+5*size*size)))
	}
}
