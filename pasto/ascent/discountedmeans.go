package ascent

import (
	"github.com/noregret/noregret/internal/portable"
)

// DiscountedMeans is [ArmMeans] with weight (1−ρ)^age for each observation.
func DiscountedMeans(rho float64) Estimator { return Estimator{form: &formDiscountedMeans, param: rho} }

var formDiscountedMeans = form{
	name: "discounted-means", direct: true, check: checkDiscount, add: addDiscountedMeans,
}

func addDiscountedMeans(e *estimate, r *roundOf, i int, _, size float64) {
	k := r.obs[i].Arm
	if age := e.s.T - e.s.Last[k]; age > 0 && e.s.Weight[k] > 0 {
		if e.form.param == 1 {
			e.s.Weight[k] = 0
		} else {
			e.s.Weight[k] *= portable.Exp(float64(float64(age) * portable.Log1p(-e.form.param)))
		}
	}
	e.s.Last[k] = e.s.T
	e.blend(&r.obs[i], size)
}
