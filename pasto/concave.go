package pasto

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto/internal/check"
)

// CheckConcave tests f on n random pairs of points of the box [lower, upper]: the tangent
// inequality f(b) ≤ f(a) + ⟨∇f(a), b − a⟩, the midpoint inequality f((a+b)/2) ≥ (f(a)+f(b))/2, and,
// where finite, the constants, which must be numbers from 0 to +Inf. It returns an error that names
// the two points of the first breach. It can refute concavity but not prove it. A point of value
// −Inf is forbidden and skipped; NaN and +Inf are errors. Differences of 1e-12 of the size of the
// terms, the points included, count as rounding. The same seed tests the same points. Constructors
// of learners make this test with 100 pairs for a [Utility] with a finite box; they allow 1e-6 for
// rounding, as its gradient may be computed by differences.
func CheckConcave(f Objective, lower, upper []float64, n int, seed uint64) error {
	return checkConcave(f, lower, upper, n, seed, 1e-12)
}

// boxed reports whether the utility has a box that points can be drawn from.
func (u *Utility) boxed() bool {
	for i := range u.Metrics {
		if lower, upper := u.Range(i); !(math.Abs(lower) <= check.Largest && math.Abs(upper) <= check.Largest) {
			return false
		}
	}
	return true
}

// checkConcave is [CheckConcave] with the given share of the terms' size as rounding.
func checkConcave(f Objective, lower, upper []float64, n int, seed uint64, rounding float64) error {
	if err := validate(f); err != nil {
		return err
	}
	d := f.Dim()
	if err := check.Vector("lower", lower, d); err != nil {
		return err
	}
	if err := check.Vector("upper", upper, d); err != nil {
		return err
	}
	for i := range lower {
		if !(lower[i] <= upper[i]) || math.Abs(lower[i]) > check.Largest || math.Abs(upper[i]) > check.Largest {
			return noregret.BadInputf(fmt.Sprintf("box[%d]", i), "[%v, %v]: want sides in order, of size at most %v",
				lower[i],
				upper[i], check.Largest)
		}
	}
	if n < 1 {
		return noregret.BadInputf("n", "%d: at least one pair of points is required", n)
	}
	lipschitz, smooth := f.Constants(lower, upper)
	if !(lipschitz >= 0) || !(smooth >= 0) {
		return noregret.BadInputf("objective", "%s: its constants are %v and %v: want numbers, at least 0",
			check.Name(f),
			lipschitz,
			smooth)
	}
	r := random.New(seed, "pasto: concavity")
	a, b, mid, ga, gb := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d),
		make([]float64, d)
	for range n {
		for i := range a {
			a[i] = lower[i] + float64(r.Float64()*(upper[i]-lower[i]))
			b[i] = lower[i] + float64(r.Float64()*(upper[i]-lower[i]))
			mid[i] = (a[i] + b[i]) / 2
		}
		fa, fb, fm := f.Value(a), f.Value(b), f.Value(mid)
		for _, v := range [][2]any{{a, fa}, {b, fb}, {mid, fm}} {
			if y := v[1].(float64); y != y || math.IsInf(y, 1) {
				return noregret.BadInputf("objective",
					"%s: it is %v at %v: want a finite number, or -Inf where θ is forbidden",
					check.Name(f), y, v[0])
			}
		}
		if !vec.IsFinite(fa) || !vec.IsFinite(fb) {
			continue // hard guardrails
		}
		f.Gradient(ga, a)
		f.Gradient(gb, b)
		tangent, size := 0.0, math.Abs(fa)+math.Abs(fb)
		for i := range a {
			tangent += float64(ga[i] * (b[i] - a[i]))
			size += float64(math.Abs(ga[i]) * (math.Abs(a[i]) + math.Abs(b[i])))
		}
		slack := float64(rounding * size)
		switch {
		case !(fb <= fa+tangent+slack):
			return noregret.BadInputf("objective", "not concave: f(%v) = %v is above its tangent at %v, %v", b,
				fb, a,
				fa+tangent)
		case !(fm >= float64((fa+fb)/2)-slack):
			return noregret.BadInputf("objective",
				"not concave: between %v and %v the midpoint has %v, below the mean "+
					"of the "+
					"ends %v", a, b, fm, (fa+fb)/2)
		case vec.Norm2(ga) > float64(lipschitz*(1+float64(1e3*rounding))):
			return noregret.BadInputf("objective", "its gradient at %v has norm %v, above the stated %v", a,
				vec.Norm2(ga),
				lipschitz)
		}
		if err := checkSmooth(a, b, ga, gb, smooth, rounding); err != nil {
			return err
		}
	}
	return nil
}

// checkSmooth tests ‖∇f(a) − ∇f(b)‖ ≤ smooth·‖a − b‖, to within rounding of the sizes of the
// gradients and, as they move with the rounding of a and b, of smooth times those of the points.
func checkSmooth(a, b, ga, gb []float64, smooth, rounding float64) error {
	if math.IsInf(smooth, 1) {
		return nil
	}
	apart, moved := make([]float64, len(a)), make([]float64, len(a))
	for i := range a {
		apart[i], moved[i] = a[i]-b[i], ga[i]-gb[i]
	}
	distance, norm := vec.Norm2(apart), vec.Norm2(moved)
	points := float64(smooth * (vec.Norm2(a) + vec.Norm2(b)))
	slack := float64(rounding*(vec.Norm2(ga)+vec.Norm2(gb)+points)) + 1e-9
	if norm > float64(float64(smooth*distance)*(1+float64(1e3*rounding)))+slack {
		return noregret.BadInputf("objective", "its gradient moves by %v between %v and %v, above the stated %v·%v",
			norm, a, b,
			smooth, distance)
	}
	return nil
}
