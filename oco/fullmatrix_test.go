package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestFullMatrixOneDimension: in one dimension it is AdaGrad on an interval, with rates smaller by
// ε.
func TestFullMatrixOneDimension(t *testing.T) {
	box := must(convex.NewCube(1, -1, 3))
	l, ada := must(NewFullMatrixAdaGrad(box, nil)), must(NewAdaGrad(box, nil))
	r := random.New(1, "one")
	for k := range 100 {
		if x, y := l.Predict()[0], ada.Predict()[0]; math.Abs(x-y) > .02 {
			t.Fatalf("round %d: %v, AdaGrad has %v", k+1, x, y)
		}
		g := []float64{r.NormFloat64()}
		if l.Update(g) != nil || ada.Update(g) != nil {
			t.Fatal("refused")
		}
	}
	u := []float64{1}
	if b, c := bound(t, l, u), bound(t, ada, u); b > c*(1+fullMatrixShare) || b < c/2 {
		t.Errorf("bound %v, of AdaGrad %v", b, c)
	}
}

// TestFullMatrixDirection: for subgradients along one direction across the axes the bound is that
// of one dimension, √d times smaller than AdaGrad's; and H is the root of G plus the multiple of
// the identity.
func TestFullMatrixDirection(t *testing.T) {
	const d = 9
	box := must(convex.NewCube(d, -1, 1))
	l, ada := must(NewFullMatrixAdaGrad(box, nil)), must(NewAdaGrad(box, nil))
	r := random.New(2, "direction")
	g := make([]float64, d)
	for range 200 {
		v := r.NormFloat64()
		for i := range g {
			g[i] = v
		}
		if l.Update(g) != nil || ada.Update(g) != nil {
			t.Fatal("refused")
		}
	}
	u := make([]float64, d)
	// AdaGrad: √2·d·2·√q; here √2·(2√d)·√(d·q), as much: the gain is where D is less than Σ D_i/√d.
	if b, c := bound(t, l, u), bound(t, ada, u); b > c*(1+2*fullMatrixShare) {
		t.Errorf("bound %v, of AdaGrad %v", b, c)
	}
	ball := must(convex.NewCenteredBall(d, 1))
	rotated := must(NewFullMatrixAdaGrad(ball, nil))
	plain := descent(ball, nil, Adaptive(2*math.Sqrt2/2))
	q := 0.0
	for range 100 {
		v := r.NormFloat64()
		for i := range g {
			g[i] = v
		}
		q += vec.Dot(g, g)
		if rotated.Update(g) != nil || plain.Update(g) != nil {
			t.Fatal("refused")
		}
	}
	if h := math.Ldexp(rotated.state.Trace, rotated.state.Exp); h < math.Sqrt(q) ||
		h > math.Sqrt(q)*(1+fullMatrixShare) {
		t.Errorf("tr H is %v, tr G^(1/2) %v", h, math.Sqrt(q))
	}
	if b, c := bound(t, rotated, u), bound(t, plain, u); b > c*(1+2*fullMatrixShare) {
		t.Errorf("bound %v, of adaptive descent %v", b, c)
	}
}

func TestFullMatrixRefuses(t *testing.T) {
	for name, set := range map[string]convex.Set{
		"none": nil, "unbounded": space(2), "too wide": must(convex.NewCube(denseUpTo+1, 0, 1)),
	} {
		if _, err := NewFullMatrixAdaGrad(set, nil); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
