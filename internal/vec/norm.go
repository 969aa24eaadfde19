package vec

import "math"

// Norm2 is ‖x‖₂ without overflow or underflow on the way. It is +Inf where a coordinate is
// infinite.
func Norm2(x []float64) float64 {
	if s := Dot(x, x); s > 1e-280 && s < 1e300 {
		return math.Sqrt(s)
	}
	return scaledDistance(x, nil)
}

// Distance2 is ‖x−y‖₂ without overflow or underflow on the way; a nil y is the origin.
func Distance2(x, y []float64) float64 {
	if y == nil {
		return Norm2(x)
	}
	s := 0.0
	for i, v := range x {
		v -= y[i]
		s += float64(v * v)
	}
	if s > 1e-280 && s < 1e300 {
		return math.Sqrt(s)
	}
	return scaledDistance(x, y)
}

// scaledDistance divides the differences by a power of two near the largest before it squares them.
func scaledDistance(x, y []float64) float64 {
	m := MaxDistance(x, y)
	if m == 0 || math.IsInf(m, 0) {
		return m
	}
	_, e := math.Frexp(m)
	// Two factors: 2^-e itself may overflow.
	up, down := math.Ldexp(1, -e/2), math.Ldexp(1, -(e-e/2))
	s := 0.0
	for i, v := range x {
		if y != nil {
			v -= y[i]
		}
		v = float64(float64(v*up) * down)
		s += float64(v * v)
	}
	return math.Ldexp(math.Sqrt(s), e)
}
