package scored

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
)

// Estimate is a value on examples, and its standard error: the standard deviation of the value over
// other examples of the same distribution, as many as these. Both are NaN where they are undefined.
type Estimate struct {
	Value, Error float64
}

var undefined = Estimate{math.NaN(), math.NaN()}

// Unit is the interval of the given confidence, in (0, 1), for a value between 0 and 1: symmetric
// for ln(v/(1−v)), and so inside (0, 1). It is NaN where the error is 0 or undefined, as it is
// where the value is 0 or 1.
func (e Estimate) Unit(confidence float64) (low, high float64) {
	v, s := e.Value, e.Error
	if !(v > 0 && v < 1 && s > 0) {
		return math.NaN(), math.NaN()
	}
	logit := portable.Log(v / (1 - v))
	half := float64(stat.NormalAbove((1-confidence)/2) * s / (v * (1 - v)))
	// v may be a rounding beyond the ends.
	return min(v, sigmoid(logit-half)), max(v, sigmoid(logit+half))
}

// Positive is the interval of the given confidence, in (0, 1), for a value above 0: symmetric for
// ln(v). It is NaN where the error is 0 or undefined.
func (e Estimate) Positive(confidence float64) (low, high float64) {
	v, s := e.Value, e.Error
	if !(v > 0 && s > 0) {
		return math.NaN(), math.NaN()
	}
	factor := portable.Exp(float64(stat.NormalAbove((1-confidence)/2) * s / v))
	return v / factor, float64(v * factor) // the factor is 1 or more
}

// sigmoid is 1/(1 + e⁻ᶻ).
func sigmoid(z float64) float64 {
	if z < 0 {
		e := portable.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + portable.Exp(-z))
}
