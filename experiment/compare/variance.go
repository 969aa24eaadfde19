package compare

import "math"

// variances are the variances of one unit's value of a metric. Invariant: all have one number for
// each arm, at least 0 but for the products xy.
type variances struct {
	together   bool      // arms have their own beside that of all arms together, not the control's
	free       []float64 // degrees of freedom: Σ (n − 1)
	xx, xy, yy []float64 // Σ of squares and products about the means of arms' rounds
}

func (v *variances) addArm() {
	v.free, v.xx, v.xy, v.yy = append(v.free, 0), append(v.xx, 0), append(v.xy, 0), append(v.yy, 0)
}

// squares is the sum of squares of x − r·y in arm k.
func (v *variances) squares(k int, r float64) float64 {
	return residual(v.xx[k], v.xy[k], v.yy[k], r)
}

// residual is the sum of squares of x − r·y, 0 where it leaves the range of float64, as with a
// denominator of nearly 0: the metric then compares nothing.
func residual(xx, xy, yy, r float64) float64 {
	q := xx - float64(float64(2*r)*xy) + float64(float64(r*r)*yy)
	if !(q > 0) || math.IsInf(q, 1) {
		return 0
	}
	return q
}

const (
	// noisy is the multiple of [variances.beside] from which on an arm has its own variance, and
	// veryNoisy that from which on it is not drawn towards that of all arms.
	noisy, veryNoisy = 2, 4
	// noisyUnits is the number of units from which on an arm may have its own variance, and
	// drawnUnits that by which it is drawn towards that of all arms.
	noisyUnits, drawnUnits = 5, 50
)

// beside returns the squares of what an arm's variance is compared with, and their degrees of
// freedom: the control's, or without one those of all arms.
func (v *variances) beside(r float64) (squares, free float64) {
	if !v.together {
		return v.squares(0, r), v.free[0]
	}
	for k, n := range v.free {
		squares += v.squares(k, r)
		free += n
	}
	return squares, free
}

// pooled returns the variance of a unit of the arms together, 0 if nothing is known: of those that
// have no variance of their own. Own says which have.
func (v *variances) pooled(r float64, own []bool) float64 {
	control, free := v.beside(r)
	sum, n := 0.0, 0.0
	for k := range v.free {
		q := v.squares(k, r)
		own[k] = (k > 0 || v.together) && free >= noisyUnits && control > 0 && v.free[k] >= noisyUnits &&
			q/v.free[k] >= float64(noisy*(control/free))
		if !own[k] {
			sum += q
			n += v.free[k]
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// of returns the variance of a unit of arm k, which has its own, beside the given one of all arms.
func (v *variances) of(k int, r, all float64) float64 {
	q, n := v.squares(k, r), v.free[k]
	if control, free := v.beside(r); q/n >= float64(veryNoisy*(control/free)) {
		return q / n
	}
	return (q + float64(drawnUnits*all)) / (n + drawnUnits)
}

const (
	// fewVariance is the multiple of the known variance above which a few units may rule an arm's
	// round, and fewShare the share of the units expected to count below which they do.
	fewVariance, fewShare = 4, 0.25
)

// ruledByFew reports whether few units rule an arm's round: its variance is far above the known
// one, and the number of units that count, (Σx)²/Σx², is far below what n units of that mean and
// variance let expect.
func ruledByFew(o *Sums, squares, variance, mean float64) bool {
	if !(variance > 0) || o.N <= 1 || squares/(o.N-1) <= float64(fewVariance*variance) {
		return false
	}
	count := o.N * (o.X * (o.X / (float64(o.X*o.X) + o.XX/o.N)))
	expected := o.N * (mean * (mean / (float64(mean*mean) + variance)))
	return !math.IsNaN(count) && count < float64(fewShare*expected)
}
