package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// interval is a user-defined penalty: the indicator of [2, 3]^d, so that neither r(0) nor r(x_1) is
// 0.
type interval struct{}

func (interval) Value(x []float64) float64 {
	for _, v := range x {
		if v < 2 || v > 3 {
			return math.Inf(1)
		}
	}
	return 7
}

func (interval) Prox(dst, v []float64, _ float64) {
	for i, x := range v {
		dst[i] = min(max(x, 2), 3)
	}
}

func (interval) String() string { return "interval" }

func penalties() []Penalty {
	return []Penalty{
		L1Penalty(0), L1Penalty(.3), L2Penalty(.4), ElasticNetPenalty(.1, .5),
		GroupPenalty(must(convex.NewGroupNorm(2, 2)), .3),
		interval{},
	}
}

// TestPenalizedRegret: the regret on the full losses is within the bound, for every penalty.
func TestPenalizedRegret(t *testing.T) {
	const d, rounds = 4, 80
	r := random.New(1, "penalty")
	for _, p := range penalties() {
		for range 20 {
			l := must(NewPenalizedFTRL(d, logUniform(r, 10), p))
			us := [][]float64{{2, 3, 2.5, 2}, {0, 0, 0, 0}, {1, -1, 0, .5}, {0, 0, 3, 1}}
			regret := make([]float64, len(us))
			var size float64
			for k := range rounds {
				x := l.Predict()
				g := gradient(r, sequences[k%3], k, x, false)
				for j, u := range us {
					regret[j] += vec.Dot(g, x) + p.Value(x) - vec.Dot(g, u) - p.Value(u)
					size += math.Abs(vec.Dot(g, x)) + math.Abs(vec.Dot(g, u))
				}
				if err := l.Update(g); err != nil {
					t.Fatal(err)
				}
			}
			for j, u := range us {
				if b := bound(t, l, u); !(regret[j] <= b+1e-9*b+1e-12*size) {
					t.Errorf("%v: regret %v against %v is above the bound %v", p, regret[j], u, b)
				}
			}
		}
	}
}

// TestPenalizedIsTheMinimizer compares points with the objective that they minimize.
func TestPenalizedIsTheMinimizer(t *testing.T) {
	r := random.New(2, "penalty")
	for _, p := range penalties() {
		const L = 1.5
		l := must(NewPenalizedFTRL(4, L, p))
		theta := make([]float64, 4)
		for round := 1; round <= 30; round++ {
			objective := func(x []float64) float64 {
				return -vec.Dot(theta, x) + L*math.Sqrt(float64(round))/2*vec.Dot(x, x) + float64(round)*p.Value(x)
			}
			x := l.Predict()
			least := objective(x)
			for range 30 {
				y := append([]float64(nil), x...)
				for i := range y {
					y[i] += r.NormFloat64() * math.Pow(10, -3*r.Float64())
				}
				if v := objective(y); v < least-1e-12*math.Abs(least) {
					t.Fatalf("%v, round %d: %v at %v is below %v at %v", p, round, v, y, least, x)
				}
			}
			g := gradient(r, "gaussian", round, x, false)
			vec.AddScaled(theta, -1, g)
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPenalizedL1: with the l1 penalty it is CompositeFTRL.
func TestPenalizedL1(t *testing.T) {
	l, c := must(NewPenalizedFTRL(3, 1.5, L1Penalty(.1))), must(NewCompositeFTRL(space(3), 1.5, .1))
	xs, _ := play(t, l, g4)
	ys, _ := play(t, c, g4)
	for k := range xs {
		nearVector(t, "x", xs[k], ys[k])
	}
	u := []float64{1, 0, -2}
	near(t, "bound", bound(t, l, u), bound(t, c, u))
	other := must(NewPenalizedFTRL(3, 1.5, L1Penalty(.1)))
	if err := other.UnmarshalBinary(must(l.MarshalBinary())); err != nil {
		t.Fatal(err)
	}
	nearVector(t, "restored", other.Predict(), l.Predict())
	if err := must(NewPenalizedFTRL(3, 1.5, L1Penalty(.2))).UnmarshalBinary(must(l.MarshalBinary())); err == nil {
		t.Error("the snapshot of another penalty was accepted")
	}
	for _, p := range []Penalty{
		nil, L1Penalty(-1), L2Penalty(math.NaN()), ElasticNetPenalty(1, -1), GroupPenalty(nil, 1),
		GroupPenalty(must(convex.NewGroupNorm(2, 2)), 1),
	} {
		if _, err := NewPenalizedFTRL(3, 1, p); err == nil {
			t.Errorf("the penalty %v was accepted", p)
		}
	}
}
