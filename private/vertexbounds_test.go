package private

import (
	"math"
	"testing"
)

// TestVertexBounds pins the bounds against numbers computed by hand from their formulas.
func TestVertexBounds(t *testing.T) {
	b := VertexBounds{
		BoundParameters: BoundParameters{
			Dim: 10, Horizon: 100, Diameter: 2, Lipschitz: 1, Smoothness: 1, Deviation: 2, Alpha: 0.1,
		},
		Vertices: 20, Clip: 3, Rho: 0.5,
	}
	// βD² = 4; 8·2·(2+2)·√ln 80000 = 64·3.35998 = 215.039; 2·3·2·√(5.187378/4)·ln 40000 =
	// 12·1.138791·10.596635 = 144.808.
	want := 3 * (4 + 215.039 + 144.808) / 10
	if got := b.Risk(99); math.Abs(got/want-1) > 1e-4 {
		t.Errorf("risk %v, want %v", got, want)
	}
	sum := 0.0
	for i := int64(1); i <= 1000; i++ {
		sum += b.Risk(i)
	}
	if r := b.Regret(1000); r < sum || r > 1.1*sum {
		t.Errorf("regret %v, the risks sum to %v", r, sum)
	}
	if got, want := b.StrongRisk(99, 2, 0.5), 9*363.847*363.847/(0.25*2*100); math.Abs(got/want-1) > 1e-4 {
		t.Errorf("strongly convex: %v, want %v", got, want)
	}
	b.Rho = math.Inf(1)
	if got, want := b.Risk(99), 3*(4+215.039)/10; math.Abs(got/want-1) > 1e-4 {
		t.Errorf("without privacy: %v, want %v", got, want)
	}
	h := BanditBounds{
		Arms: 2, WarmUp: 200, Horizon: 10000, LinkSlope: 1, Smoothness: 1, Margin: 1, Error: 4, Convexity: 2,
		Alpha: 0.1,
	}
	// 400 + 4·9.21034 + 2√(4·9.21034·3.688879) = 400 + 36.84136 + 23.31547
	if got := h.Regret(); math.Abs(got-460.15683) > 1e-4 {
		t.Errorf("bandit: %v", got)
	}
	if got := h.EstimationError(4); got != 0.5 {
		t.Errorf("estimation error %v", got)
	}
}
