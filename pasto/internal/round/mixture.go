package round

// Drop sets the share of arm k to 0 and scales the other shares of p to sum to 1. A mixture of arm
// k alone becomes uniform over the active arms.
func Drop(p []float64, k int, active []bool) {
	p[k] = 0
	Normalize(p, active)
}

// Normalize scales p to sum to 1, and makes it uniform over the arms in use if it is 0.
func Normalize(p []float64, use []bool) {
	sum, n := 0.0, 0
	for k, v := range p {
		if sum += v; use[k] {
			n++
		}
	}
	for k := range p {
		if sum > 0 {
			p[k] /= sum
		} else if use[k] {
			p[k] = 1 / float64(n)
		}
	}
}
