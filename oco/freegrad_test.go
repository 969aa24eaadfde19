package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
)

// TestFreeGradPotential: Ψ(θ − g, V + ‖g‖², h) ≤ Ψ(θ, V, h) − ⟨g, ∇_θ Ψ⟩ for every ‖g‖ ≤ h and
// every V > 0 (Mhammedi and Koolen 2020), and Ψ falls in h. Neither holds without the h
// in Ψ.
func TestFreeGradPotential(t *testing.T) {
	r := random.New(1, "potential")
	psi := func(theta, v, h float64) float64 { // its logarithm, up to a constant
		return theta*theta/(2*v+2*h*theta) - math.Log(v)/2
	}
	violated := false
	for range testsize.Of(300_000, 30_000) {
		v := math.Pow(10, 12*r.Float64()-6)
		theta := min(math.Pow(10, 7*r.Float64()-4)*math.Sqrt(v), 1e5)
		length, angle := 1.0, math.Pi*r.Float64()
		if r.IntN(2) == 0 {
			length = r.Float64()
		}
		switch r.IntN(4) {
		case 0:
			angle = 0
		case 1:
			angle = math.Pi
		}
		along, across := length*math.Cos(angle), length*math.Sin(angle)
		moved := math.Hypot(theta-along, across)
		slope := theta * (2*v + theta) / (2 * (v + theta) * (v + theta)) // of ln Ψ, for h = 1
		left := math.Exp(psi(moved, v+length*length, 1) - psi(theta, v, 1))
		if right := 1 - along*slope; left > right+1e-12 {
			t.Fatalf("V = %v, ‖θ‖ = %v, g = (%v, %v): %v > %v", v, theta, along, across, left, right)
		}
		if psi(theta, v, 1+r.Float64()) > psi(theta, v, 1) {
			t.Fatalf("V = %v, ‖θ‖ = %v: Ψ rises in h", v, theta)
		}
		plain := theta / v // the slope for h = 0
		left = math.Exp(psi(moved, v+length*length, 0) - psi(theta, v, 0))
		violated = violated || left > 1-along*plain+1e-6
	}
	if !violated {
		t.Error("the inequality holds without h: the test cannot fail")
	}
}

// freeGradByHand is FreeGrad on ℝ in the formulas of its doc comment.
func freeGradByHand(gs []float64, epsilon float64) (xs []float64) {
	var theta, v, first, h, mass, reach float64
	for _, g := range gs {
		y := 0.0
		if first > 0 {
			a := math.Abs(theta)
			y = theta * epsilon * first * first / math.Sqrt(v) * (2*v + h*a) / (2 * (v + h*a) * (v + h*a)) *
				math.Exp(a*a/(2*v+2*h*a))
		}
		d := epsilon * math.Sqrt(reach)
		xs = append(xs, min(max(y, -d), d))
		if first == 0 {
			first, v = math.Abs(g), g*g
		} else {
			clipped := min(max(g, -h), h)
			if y > d && clipped < 0 || y < -d && clipped > 0 {
				clipped = 0
			}
			theta -= clipped
			v += clipped * clipped
		}
		if h = max(h, math.Abs(g)); h > 0 {
			mass += math.Abs(g)
			reach = max(reach, mass/h)
		}
	}
	return xs
}

// TestFreeGradByHand compares the points with the formulas, on sequences with a constant sign,
// which reach the artificial constraint, with jumps in size, and random ones.
func TestFreeGradByHand(t *testing.T) {
	r := random.New(2, "by hand")
	capped := false
	for run := range 40 {
		var gs []float64
		for round := range 80 {
			g := r.NormFloat64()
			switch run % 4 {
			case 1:
				g = -1
			case 2:
				g *= math.Pow(3, float64(round%13))
			case 3:
				g -= 1
			}
			gs = append(gs, g)
		}
		l := must(NewFreeGrad(1, .7))
		for k, x := range freeGradByHand(gs, .7) {
			near(t, "x", l.Predict()[0], x)
			capped = capped || l.outside
			if err := l.Update(gs[k : k+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !capped {
		t.Error("no point reached the artificial constraint")
	}
}

// TestFreeGradConjugate: the bisection is the supremum, from above, and nearly tight.
func TestFreeGradConjugate(t *testing.T) {
	r := random.New(3, "conjugate")
	for range 50 {
		l := must(NewFreeGrad(1, 1))
		for range 1 + r.IntN(200) {
			if err := l.Update([]float64{r.NormFloat64() * math.Exp(r.NormFloat64())}); err != nil {
				t.Fatal(err)
			}
		}
		n := math.Exp(4 * r.NormFloat64())
		got, best := l.conjugate(n), math.Inf(-1)
		v, h, first := l.state.V.value(), l.state.Largest, l.state.First
		for k := range 200_000 {
			theta := math.Sqrt(v) * float64(k) / 2000
			best = max(best, theta*n-first*first/math.Sqrt(v)*math.Exp(theta*theta/(2*v+2*h*theta)))
		}
		if got < best-1e-9*math.Abs(best) || got > best+1e-3*math.Abs(best)+1e-6 {
			t.Errorf("V = %v, h = %v, n = %v: %v, by a search %v", v, h, n, got, best)
		}
	}
}

// TestFreeGradKnowsNothing: on |x − 50| in units from 1e-150 to 1e150, from a scale of 1, the mean
// loss of the last rounds is far below that of 0, and the points are the same in all units. At the
// origin the regret is at most ε·h_1 and what the jumps cost.
func TestFreeGradKnowsNothing(t *testing.T) {
	const target = 50
	for _, unit := range []float64{0x1p-500, 1, 0x1p500} {
		l := must(NewFreeGrad(1, 1))
		const rounds = 20_000
		late := 0.0
		for round := range rounds {
			x := l.Predict()[0]
			if round >= rounds/2 {
				late += math.Abs(x-target) / (rounds / 2)
			}
			g := -unit
			if x > target {
				g = unit
			}
			if err := l.Update([]float64{g}); err != nil {
				t.Fatal(err)
			}
		}
		if late > target/10 {
			t.Errorf("unit %v: the mean loss of the last half is %v", unit, late)
		}
	}
	r := random.New(4, "origin")
	l := must(NewFreeGrad(3, 2))
	paid := 0.0
	for round := range 500 {
		g := gradient(r, "heavy", round, l.Predict(), false)
		paid += vec.Dot(g, l.Predict())
		if err := l.Update(g); err != nil {
			t.Fatal(err)
		}
	}
	if b := bound(t, l, make([]float64, 3)); !(paid <= b) || b > 2*l.state.First+l.state.Overhead.value()+1e-9 {
		t.Errorf("regret %v at 0, bound %v", paid, b)
	}
}
