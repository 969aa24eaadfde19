package private

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

func losses() []Loss {
	return []Loss{Squared(), HalfSquared(), Logistic(), must(Huber(0.3)), Poisson()}
}

// TestOracleO2Losses compares slopes with finite differences, and the constants L and β with the
// largest values over a grid, which must attain them.
func TestOracleO2Losses(t *testing.T) {
	const radius, label, h = 1.5, 0.8, 1e-6
	for _, l := range losses() {
		slope, curvature := l.Bounds(radius, label)
		largest, steepest := 0.0, 0.0
		for i := range 301 {
			z := -radius + 2*radius*float64(i)/300
			for _, y := range []float64{-label, -0.3, 0, 0.5, label} {
				s := l.Slope(z, y)
				if d := (l.Value(z+h, y) - l.Value(z-h, y)) / (2 * h); math.Abs(d-s) > 1e-6 {
					t.Errorf("%s: slope %v at (%v, %v), difference %v", l.Name(), s, z, y, d)
				}
				if z+h <= radius && z-h >= -radius {
					steepest = max(steepest, math.Abs(l.Slope(z+h, y)-l.Slope(z-h, y))/(2*h))
				}
				largest = max(largest, math.Abs(s))
			}
		}
		if largest > slope*(1+1e-12) || largest < slope*(1-1e-9) {
			t.Errorf("%s: the largest slope is %v, stated %v", l.Name(), largest, slope)
		}
		if steepest > curvature*(1+1e-6) || steepest < curvature*0.98 {
			t.Errorf("%s: the largest curvature is %v, stated %v", l.Name(), steepest, curvature)
		}
	}
}

// TestOracleO2Constants attains L and β by explicit records, for every exponent.
func TestOracleO2Constants(t *testing.T) {
	const dim, x, y, radius = 4, 1.25, 0.5, 2.0
	for _, p := range exponents {
		domain := must(NewBall(dim, p, radius))
		for _, c := range []struct {
			loss      Loss
			lipschitz float64
			smooth    float64
		}{
			{Squared(), 2 * x * (radius*x + y), 2 * x * x},
			{HalfSquared(), x * (radius*x + y), x * x},
			{Poisson(), x * (math.Exp(radius*x) + y), x * x * math.Exp(radius*x)},
			{must(Huber(0.3)), 0.3 * x, x * x},
		} {
			got := must(NewProblem(domain, c.loss, x, y, 10).Constants())
			if math.Abs(got.Lipschitz/c.lipschitz-1) > 1e-12 || math.Abs(got.Smoothness/c.smooth-1) > 1e-12 {
				t.Errorf("%s, p=%v: L = %v and β = %v, want %v and %v", c.loss.Name(), p, got.Lipschitz, got.Smoothness,
					c.lipschitz, c.smooth)
			}
			// The features x·e_1 and a point R·e_1 attain Hölder's bound in every norm.
			if s := math.Abs(c.loss.Slope(radius*x, -y)) * x; math.Abs(s/c.lipschitz-1) > 1e-12 {
				t.Errorf("%s, p=%v: the extremal record has gradient %v, L is %v", c.loss.Name(), p, s, c.lipschitz)
			}
		}
	}
	logistic := must(NewProblem(must(NewBall(2, 2, radius)), Logistic(), x, 1, 10).Constants())
	if logistic.Lipschitz > x || logistic.Smoothness != x*x/4 {
		t.Errorf("logistic: L = %v, β = %v", logistic.Lipschitz, logistic.Smoothness)
	}
}

// TestQuadraticIncrements: without a clip no increment of a squared loss is longer than 2X(XR(1 +
// 2/i) + Y), nor than the bound that Constants states, whatever the records and the vertices; and
// the bound L + βD holds for all losses.
func TestQuadraticIncrements(t *testing.T) {
	r := random.New(4, "test")
	const dim, x, y, radius = 3, 1.25, 0.5, 2.0
	for _, p := range exponents {
		domain := must(NewBall(dim, p, radius))
		for _, l := range losses() {
			for w := PaperWeights; w <= RecursiveWeights; w++ {
				problem := NewProblem(domain, l, x, y, 100)
				problem.Weighting = w
				constants := must(problem.Constants())
				if l.Name() == "squared" && w == PaperWeights && constants.Increment >= constants.Lipschitz+
					constants.Smoothness*domain.diameter {
					t.Errorf("the bound %v of squared losses gains nothing", constants.Increment)
				}
				front := newFrontEnd(problem)
				path := newPath(domain)
				v, row := make([]float64, dim), make([]float64, dim)
				for i := int64(1); i <= 60; i++ {
					for range 10 {
						domain.dualPoint(row, normals(r, dim), x)
						label := y * float64(2*r.IntN(2)-1)
						if !front.gradient(i, row, label, path.Theta, path.Previous) {
							t.Fatal("a null record")
						}
						norm := domain.dual.Of(front.g)
						if norm > constants.Increment*(1+1e-9) {
							t.Fatalf("%s, p=%v, %v: ‖g_%d‖ = %v above %v", l.Name(), p, w, i, norm, constants.Increment)
						}
						if s := 2 * x * (x*radius*(1+2/float64(i)) + y); l.Name() == "squared" && w == PaperWeights &&
							norm > s*(1+1e-9) {
							t.Fatalf("p=%v: ‖g_%d‖ = %v above %v", p, i, norm, s)
						}
					}
					domain.Minimize(v, normals(r, dim))
					path.advance(v, 1)
				}
			}
		}
	}
}

// dualPoint writes a point of dual norm x in a random direction to dst.
func (d *Domain) dualPoint(dst, direction []float64, x float64) {
	copy(dst, direction)
	vec.Scale(dst, x/d.dual.Of(dst))
}

// TestLossEdges holds the refusals of losses, and that a loss that panics is caught.
func TestLossEdges(t *testing.T) {
	ball := must(NewBall(2, 2, 1))
	if _, err := NewProblem(ball, nil, 1, 1, 10).Constants(); err == nil {
		t.Error("a nil loss is accepted")
	}
	if _, err := FromScalar(nil); err == nil {
		t.Error("a nil scalar loss is accepted")
	}
	if _, err := FromScalar(loss.LogisticLoss{}); err == nil {
		t.Error("a loss for labels ±1 is accepted")
	}
	if _, err := Huber(math.Inf(1)); err == nil {
		t.Error("an infinite Huber loss is accepted")
	}
	if _, err := NewProblem(ball, Canonical{Text: "x"}, 1, 1, 10).Constants(); err == nil {
		t.Error("a canonical loss without functions is accepted")
	}
	if _, err := NewProblem(ball, Poisson(), 1e3, 1, 10).Constants(); !errors.Is(err, dp.ErrBound) {
		t.Errorf("a loss with an infinite slope: %v", err)
	}
	if _, err := NewProblem(ball, broken{}, 1, 1, 10).Constants(); err == nil {
		t.Error("a loss whose Bounds panics is accepted")
	}
	if !math.IsNaN(safeSlope(broken{}, 1, 1)) {
		t.Error("a panic passes")
	}
}

// broken is a loss that panics.
type broken struct{}

func (broken) Name() string                                { return "broken" }
func (broken) Value(_, _ float64) float64                  { panic("value") }
func (broken) Slope(_, _ float64) float64                  { panic("slope") }
func (broken) Bounds(_, _ float64) (slope, second float64) { panic("bounds") }
