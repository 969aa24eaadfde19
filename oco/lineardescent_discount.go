package oco

// Discount multiplies the past of the average, and the sums of squares of the adaptive steps, by
// factors in [0, 1]; an average factor of 1 and a squares factor of 1 change nothing. The average
// itself stays, but later iterates weigh more in it. O(d).
//
// It serves discounted averages and steps: give the k-th iterate the weight γ^(−k) and the k-th
// direction the factor γ^(−k/2), which cancels in an adaptive step, and discount by γ^K after every
// K steps so that the numbers stay in range.
func (l *LinearDescent) Discount(average, squares float64) {
	if average != 1 {
		l.flush()
		for i := range l.acc {
			l.acc[i] *= average
		}
		l.omega *= average
		l.biasSum *= average
		l.accKappa *= average
		l.dotAcc *= average
	}
	if squares != 1 {
		for i := range l.squares {
			l.squares[i] *= squares
		}
		l.biasSquares *= squares
	}
}
