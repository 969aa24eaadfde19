package measure

import "math"

// Alternate is exact alternating maximization of a [Ratio] measure (AMP, Narasimhan, Kar and Jain
// 2015, algorithm 2; Dinkelbach's method for a ratio). From the level v it calls model, which must
// return the rates (P, N) of a classifier that maximizes k₊(v)·(mean reward on positives),
// k₋(v)·θ·(on negatives), and takes the measure of that classifier as the next level, until the
// level rises by no more than tol or most models have been made. It returns the levels, beginning
// with the start. For exact maximisers every step shrinks the gap to the best level by 1 -
// D(w*)/D(w) with D = 1 + γP + δN, so that four to seven steps suffice at any class ratio. Levels
// are clamped to [0, 1] and to [Coefficients.Levels]. An error of model ends the search.
func Alternate(k Coefficients, start, tol float64, most int,
	model func(level float64) (p, n float64, err error),
) ([]float64, error) {
	if math.IsNaN(start) {
		start = 0
	}
	levels := []float64{k.Clamp(start)}
	for range most {
		v := levels[len(levels)-1]
		p, n, err := model(v)
		if err != nil {
			return levels, err
		}
		next := k.Of(p, n)
		if math.IsNaN(next) || k.Clamp(next) <= v+tol {
			break
		}
		levels = append(levels, k.Clamp(next))
	}
	return levels, nil
}

// Clamp returns the nearest level in [0, 1] and [Coefficients.Levels].
func (k Coefficients) Clamp(v float64) float64 {
	lo, hi := k.Levels()
	return min(max(v, max(0, lo)), min(1, hi))
}
