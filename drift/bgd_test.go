package drift

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
)

func TestOracleO9BGD(t *testing.T) {
	o := DefaultBGDOptions(must(convex.NewCenteredBall(2, 1)), 10000, 1)
	o.Lipschitz = 1
	l := must(NewBGD(o))
	delta, alpha, kappa := l.Tuning()
	near(t, "δ", delta, .0577350269)
	near(t, "α", alpha, .0577350269)
	near(t, "κ", kappa, .01)
	near(t, "bound", l.Bound(), 6928.2032302755)
	o.Baseline = .9 // the first half of the bound is 2.5 times as large
	near(t, "bound with a baseline", must(NewBGD(o)).Bound(), 6928.2032302755*(1+2.5)/2)
	o.Baseline = 0
	o.Lipschitz = 0
	l = must(NewBGD(o))
	delta, alpha, kappa = l.Tuning()
	near(t, "δ without L", delta, math.Cbrt(4./120000))
	near(t, "α without L", alpha, math.Cbrt(6./200))
	near(t, "κ without L", kappa, .01)
	near(t, "bound without L", l.Bound(), 3*math.Cbrt(24)*math.Pow(10000, 5./6))
}

// TestOracleO10BGDEstimate: over a fine grid of the unit circle, and over both signs in one
// dimension, the mean of (d/δ)·f(y+δu)·u is the gradient of f averaged over the ball of radius δ,
// which for a cubic differs from the gradient at y. The estimate is read off the step.
func TestOracleO10BGDEstimate(t *testing.T) {
	const n = 100000
	o := DefaultBGDOptions(must(convex.NewCenteredBall(2, 1)), n, 1e6) // tiny steps
	o.Lipschitz = 1
	l := must(NewBGD(o))
	f := func(x []float64) float64 { return x[0]*x[0]*x[0] + 3*x[0]*x[1] - x[1]*x[1]/2 + x[0] }
	y := []float64{.3, -.2}
	delta, _, kappa := l.Tuning()
	got := make([]float64, 2)
	const grid = 720
	for k := range grid {
		copy(l.s.Y, y)
		// Box and Muller's second number is the angle.
		x := must(l.Play(&script{1 - math.Exp(-.5), float64(k) / grid}))
		if math.Abs(math.Hypot(x[0]-y[0], x[1]-y[1])-delta) > 1e-12 {
			t.Fatalf("%v is not at distance %v of %v", x, delta, y)
		}
		if err := l.Observe(f(x)); err != nil {
			t.Fatal(err)
		}
		for i, v := range l.Center() {
			got[i] += (y[i] - v) / kappa * 2 / delta / grid
		}
	}
	// The mean of 3x² over a disc of radius δ is 3(y² + δ²/4).
	want := []float64{3*(y[0]*y[0]+delta*delta/4) + 3*y[1] + 1, 3*y[0] - y[1]}
	if vec.Distance2(got, want) > 1e-6 {
		t.Errorf("mean of the estimates %v, gradient of the smoothed cost %v", got, want)
	}
}

// TestBGDRegret: the mean regret of runs with noise is below the bound, on a flat set as well.
func TestBGDRegret(t *testing.T) {
	const rounds = 4000
	runs := testsize.Of(40, 5)
	for _, set := range []convex.Set{must(convex.NewCenteredBall(2, 1)), must(convex.NewSimplex(3))} {
		d := set.Dim()
		best := make([]float64, d)
		c := []float64{.7, .2, .1}[:d]
		f := func(x []float64) float64 { return vec.Distance2(x, c) / 2 }
		set.Project(best, c)
		sum, bound := 0.0, 0.0
		for run := range runs {
			o := DefaultBGDOptions(set, rounds, 1)
			o.Lipschitz, o.Deviation, o.Baseline = .5, .1, .95
			l := must(NewBGD(o))
			bound = l.Bound()
			r := random.New(uint64(run), "bgd")
			for range rounds {
				x := must(l.Play(r))
				sum += f(x) - f(best)
				if err := l.Observe(f(x) + .1*r.NormFloat64()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if mean := sum / float64(runs); mean > bound || mean > .4*rounds*f(make([]float64, d)) {
			t.Errorf("%v: mean regret %v, bound %v", set, mean, bound)
		}
	}
}

func TestBGDRefuses(t *testing.T) {
	set := must(convex.NewCube(2, 0, 1))
	good := DefaultBGDOptions(set, 100, 1)
	for name, change := range map[string]func(o *BGDOptions){
		"set":       func(o *BGDOptions) { o.Set = nil },
		"space":     func(o *BGDOptions) { o.Set = must(convex.NewSpace(2)) },
		"point":     func(o *BGDOptions) { o.Set = must(convex.NewCube(2, 1, 1)) },
		"rounds":    func(o *BGDOptions) { o.Rounds = 0 },
		"bound":     func(o *BGDOptions) { o.Bound = math.NaN() },
		"lipschitz": func(o *BGDOptions) { o.Lipschitz = -1 },
		"deviation": func(o *BGDOptions) { o.Deviation = math.Inf(1) },
		"baseline":  func(o *BGDOptions) { o.Baseline = -.1 },
		"center":    func(o *BGDOptions) { o.Center, o.Inradius = []float64{2, 2}, .1 },
		"no center": func(o *BGDOptions) { o.Center = nil },
		"inradius":  func(o *BGDOptions) { o.Inradius = 0 },
		"inradius+": func(o *BGDOptions) { o.Inradius = .6 },
		"radius":    func(o *BGDOptions) { o.Radius = .1 },
		"no radius": func(o *BGDOptions) { o.Radius = 0 },
		"zero":      func(o *BGDOptions) { *o = BGDOptions{} },
	} {
		o := good
		change(&o)
		refused(t, name, second(NewBGD(o)))
	}
	l := must(NewBGD(good))
	if x := l.Center(); x[0] != .5 || x[1] != .5 {
		t.Errorf("starts at %v, want the center", x)
	}
}

// TestBGDCenter: no point of the set is farther than R from the default center, on a long box too,
// where many balls are the largest.
func TestBGDCenter(t *testing.T) {
	for _, set := range sets() {
		if math.IsInf(set.Diameter(), 1) {
			continue
		}
		l := must(NewBGD(DefaultBGDOptions(set, 100, 1)))
		r := random.New(3, "center")
		x, c := make([]float64, set.Dim()), make([]float64, set.Dim())
		for range 200 {
			for i := range c {
				c[i] = r.NormFloat64()
			}
			if _, err := set.Minimize(x, c); err != nil {
				t.Fatal(err)
			}
			if far := vec.Distance2(x, l.center); far > l.o.Radius*(1+1e-9) {
				t.Fatalf("%v: %v is at distance %v of %v, more than %v", set, x, far, l.center, l.o.Radius)
			}
		}
	}
}
