package oco

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// spanPair is a second-order learner in two forms: with full matrices, and in the span of its
// subgradients or features.
type spanPair struct {
	name        string
	dense, span Learner
}

func spanPairs(d int, radius float64) []spanPair {
	var set convex.Set = must(convex.NewSpace(d))
	if radius > 0 {
		set = must(convex.NewCenteredBall(d, radius))
	}
	return []spanPair{
		{
			"ons", newOnlineNewtonStep(must(newCurvatureFTRL(set, 0.7, false)), 0.3),
			newOnlineNewtonStep(must(newCurvatureFTRL(set, 0.7, true)), 0.3),
		},
		{"curvature", must(newCurvatureFTRL(set, 0.7, false)), must(newCurvatureFTRL(set, 0.7, true))},
		{"vaw", newVovkAzouryWarmuth(d, 0.7, false), newVovkAzouryWarmuth(d, 0.7, true)},
	}
}

// TestSpanIsDense compares learners in the coordinates of a span with those that keep d×d matrices,
// in points and bounds. The vectors span little, span all of ℝ^d or repeat; there are factors,
// strongly convex losses and squared losses.
func TestSpanIsDense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 40).Draw(t, "d")
		rounds := rapid.IntRange(1, 60).Draw(t, "rounds")
		rank := rapid.IntRange(1, 60).Draw(t, "directions")
		radius := rapid.SampledFrom([]float64{0, 0.3, 2}).Draw(t, "radius")
		directions := make([][]float64, rank)
		for k := range directions {
			directions[k] = rapid.SliceOfN(rapid.Float64Range(-1, 1), d, d).Draw(t, "direction")
		}
		g, u := make([]float64, d), make([]float64, d)
		for i := range u {
			u[i] = 0.2 / math.Sqrt(float64(d))
		}
		for _, p := range spanPairs(d, radius) {
			for range rounds {
				a, b := rapid.IntRange(0, rank-1).Draw(t, "a"), rapid.IntRange(0, rank-1).Draw(t, "b")
				for i := range g {
					g[i] = directions[a][i] + 0.5*directions[b][i]
				}
				kind, y := rapid.IntRange(0, 3).Draw(t, "kind"), rapid.Float64Range(-2, 2).Draw(t, "y")
				for _, l := range []Learner{p.dense, p.span} {
					if err := spanRound(l, kind, g, directions[b], y); err != nil {
						t.Fatal(err)
					}
				}
				compareSpan(t, p, u)
			}
		}
	})
}

func spanRound(l Learner, kind int, g, other []float64, y float64) error {
	switch l := l.(type) {
	case *VovkAzouryWarmuth:
		if err := l.Features(g); err != nil {
			return err
		}
		return l.UpdateLabel(y)
	case *OnlineNewtonStep:
		return l.Update(g)
	case *CurvatureFTRL:
		switch kind {
		case 0:
			return l.Update(g)
		case 1:
			return l.UpdateFactors(g, other, g)
		case 2:
			return l.UpdateLoss(must(loss.NewExample(g, y, loss.Squared{})))
		default:
			return l.UpdateLoss(must(loss.NewSquaredDistance(g)))
		}
	}
	return fmt.Errorf("unexpected learner %v", l)
}

func compareSpan(t *rapid.T, p spanPair, u []float64) {
	x, y := p.dense.Predict(), p.span.Predict()
	scale := 1 + vec.Norm2(x)
	for i := range x {
		if !(math.Abs(x[i]-y[i]) <= 1e-9*scale) {
			t.Fatalf("%s: x[%d] is %v with a matrix and %v in the span", p.name, i, x[i], y[i])
		}
	}
	a, err := p.dense.(Bounder).Bound(u)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.span.(Bounder).Bound(u) // which includes the error of the projections, √gap
	if err != nil || !(math.Abs(a-b) <= 1e-5*(1+math.Abs(a))) {
		t.Fatalf("%s: the bound is %v with a matrix and %v in the span, %v", p.name, a, b, err)
	}
}

// TestSpanSnapshot restores while the span grows and continues with the same bits.
func TestSpanSnapshot(t *testing.T) {
	const d = 50
	for _, radius := range []float64{0, 0.4} {
		for k, p := range spanPairs(d, radius) {
			l, again := p.span, spanPairs(d, radius)[k].span
			g := make([]float64, d)
			for round := range 40 {
				for i := range g {
					g[i] = math.Sin(float64(i*(round%23+1)) + 1)
				}
				if round == 20 {
					data, err := l.(Snapshotter).MarshalBinary()
					if err != nil {
						t.Fatal(err)
					}
					if err := again.(Snapshotter).UnmarshalBinary(data); err != nil {
						t.Fatal(err)
					}
					if err := p.dense.(Snapshotter).UnmarshalBinary(data); err == nil {
						t.Errorf("%s: a snapshot with a span was restored into a learner without one", p.name)
					}
				}
				if err := spanRound(l, 1, g, g, 1); err != nil {
					t.Fatal(err)
				}
				if round >= 20 {
					if err := spanRound(again, 1, g, g, 1); err != nil {
						t.Fatal(err)
					}
				}
			}
			a, _ := l.(Snapshotter).MarshalBinary()
			b, _ := again.(Snapshotter).MarshalBinary()
			if !bytes.Equal(a, b) {
				t.Errorf("%s: the bytes differ after a restore", p.name)
			}
		}
	}
}

// TestSpanRefuses checks that refused input changes nothing.
func TestSpanRefuses(t *testing.T) {
	const d = 30
	for _, p := range spanPairs(d, 0) {
		g := make([]float64, d)
		for i := range g {
			g[i] = float64(i)
		}
		if err := spanRound(p.span, 1, g, g, 1); err != nil {
			t.Fatal(err)
		}
		before, _ := p.span.(Snapshotter).MarshalBinary()
		bad := make([]float64, d)
		for _, v := range []float64{math.NaN(), math.Inf(1), 1e151} {
			bad[7] = v
			if err := spanRound(p.span, 1, bad, g, 1); err == nil {
				t.Errorf("%s: %v is not refused", p.name, v)
			}
		}
		if err := spanRound(p.span, 1, bad[:d-1], g, 1); err == nil {
			t.Errorf("%s: a short vector is not refused", p.name)
		}
		after, _ := p.span.(Snapshotter).MarshalBinary()
		if !bytes.Equal(before, after) {
			t.Errorf("%s: refused input changed the state", p.name)
		}
	}
}

// TestSpanGoesByDimension checks that the span is used only above the limit and only on
// rotation-invariant sets.
func TestSpanGoesByDimension(t *testing.T) {
	const d = denseUpTo + 1
	if must(NewOnlineNewtonStep(must(convex.NewSpace(d)), 1, 1)).state.Span == nil ||
		must(NewOnlineNewtonStep(must(convex.NewCenteredBall(d, 1)), 1, 1)).state.Span == nil {
		t.Error("no span for ℝ^d or a ball")
	}
	if must(NewVovkAzouryWarmuth(d, 1)).state.Span == nil ||
		must(NewVovkAzouryWarmuth(denseUpTo, 1)).state.Span != nil {
		t.Error("the span of vovk-azoury-warmuth does not depend on the dimension")
	}
	center := make([]float64, d)
	center[3] = 1
	if isotropic(must(convex.NewBall(center, 2))) || isotropic(must(convex.NewCube(d, -1, 1))) ||
		isotropic(must(convex.NewCenteredLpBall(d, 1, 1))) {
		t.Error("a set that is not rotation-invariant has a span")
	}
}

// TestSpanRoundsHonestly plays directions that differ by less than the span can distinguish. The
// bound includes the part that the span omits, also for comparators so far out that it matters.
func TestSpanRoundsHonestly(t *testing.T) {
	const rounds, tiny = 2000, 1e-15
	u := []float64{0, 1e14}
	vaw := newVovkAzouryWarmuth(2, 1e-30, true)
	ons := newOnlineNewtonStep(must(newCurvatureFTRL(must(convex.NewSpace(2)), 1e-30, true)), 1)
	var regret, newton float64
	for k := range rounds {
		z := []float64{1, tiny}
		if k%2 == 1 {
			z[0] = -1
		}
		if err := vaw.Features(z); err != nil {
			t.Fatal(err)
		}
		p, v := vec.Dot(z, vaw.Predict()), vec.Dot(z, u)
		regret += (p-1)*(p-1)/2 - (v-1)*(v-1)/2
		if err := vaw.UpdateLabel(1); err != nil {
			t.Fatal(err)
		}
		gap := vec.Dot(z, ons.Predict()) - v
		newton += gap - gap*gap/2
		if err := ons.Update(z); err != nil {
			t.Fatal(err)
		}
	}
	if b := must(vaw.Bound(u)); !(regret <= b) || vaw.state.Span.Rank != 1 {
		t.Errorf("vaw: regret %v, bound %v, rank %d", regret, b, vaw.state.Span.Rank)
	}
	if b := must(ons.Bound(u)); !(newton <= b) || ons.state.Span.Rank != 1 {
		t.Errorf("ons: regret %v, bound %v, rank %d", newton, b, ons.state.Span.Rank)
	}
}

// TestSpanLargeFeatures checks that features are refused before their squares overflow, and that
// the refusal changes nothing.
func TestSpanLargeFeatures(t *testing.T) {
	const d = 2000
	for _, spanned := range []bool{true, false} {
		l := newVovkAzouryWarmuth(d, 1, spanned)
		z := make([]float64, d)
		for i := range z {
			z[i] = 1e150
		}
		refused := false
		for range 1200 {
			// Then make the factor as large as after many rounds.
			if spanned && l.state.T < 2 || l.state.T == 0 {
				if err := l.Features(z); err != nil {
					t.Fatal(err)
				}
				if err := l.UpdateLabel(1); err != nil {
					t.Fatal(err)
				}
				l.state.Factor.R[0] = 0.9e153
				continue
			}
			l.state.Factor.R[0] = 1.1e153
			before := must(l.MarshalBinary())
			if err := l.Features(z); err == nil {
				t.Fatalf("features whose squares overflow are not refused (span: %t)", spanned)
			}
			refused = bytes.Equal(before, must(l.MarshalBinary()))
			break
		}
		if !refused {
			t.Errorf("the refusal changed the state (span: %t)", spanned)
		}
	}
}

// TestSpanDamage checks that impossible states are refused.
func TestSpanDamage(t *testing.T) {
	fresh := func() *CurvatureFTRL { return must(newCurvatureFTRL(must(convex.NewSpace(3)), 1, true)) }
	for name, damage := range map[string]func(s *curvatureState){
		"diagonal": func(s *curvatureState) { s.Diagonal = math.Inf(1) },
		"slack":    func(s *curvatureState) { s.Slack.add(math.NaN()) },
		"outside":  func(s *curvatureState) { s.Outside.Linear.add(-1) },
		"rank":     func(s *curvatureState) { s.Span.Rank = 9 },
		"basis":    func(s *curvatureState) { s.Span.Q = s.Span.Q[:1] },
		"no span":  func(s *curvatureState) { s.Span = nil },
		"room":     func(s *curvatureState) { s.B, s.X = s.B[:2], s.X[:2] },
	} {
		l := fresh()
		if err := l.UpdateFactors([]float64{1, 2, 3}, []float64{0, 1, 1}); err != nil {
			t.Fatal(err)
		}
		damage(&l.state)
		data, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh().UnmarshalBinary(data); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	v := newVovkAzouryWarmuth(3, 1, true)
	if err := v.Features([]float64{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	v.state.Shrink = 0
	if err := newVovkAzouryWarmuth(3, 1, true).UnmarshalBinary(must(v.MarshalBinary())); err == nil {
		t.Error("a shrinkage of 0 is not refused")
	}
}
