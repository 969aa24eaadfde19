package random

// Index returns the smallest i with p_1 + ... + p_i > u, a draw from the distribution p for u
// uniform on [0, 1), and the last i with p_i > 0 if rounding leaves none.
func Index(p []float64, u float64) int {
	sum, last := 0.0, 0
	for i, x := range p {
		if x == 0 {
			continue
		}
		last = i
		if sum += x; sum > u {
			break
		}
	}
	return last
}
