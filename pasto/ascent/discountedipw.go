package ascent

// DiscountedIPW is V̂ ← (1−ρ)·V̂ + ρ·Û, a window of about 1/ρ rounds.
func DiscountedIPW(rho float64) Estimator { return Estimator{form: &formDiscountedIPW, param: rho} }

var formDiscountedIPW = form{
	name: "discounted-ipw", centred: true, check: checkDiscount, add: addDiscountedIPW,
}

func checkDiscount(rho float64) string {
	if rho > 0 && rho <= 1 {
		return ""
	}
	return "ρ in (0, 1]"
}

func addDiscountedIPW(e *estimate, r *roundOf, i int, omega, _ float64) {
	e.weigh(&r.obs[i], omega, float64(e.form.param/e.s.Scale)*(1/r.p[r.obs[i].Arm]))
}

// leastScale is the smallest scale: smaller ones are multiplied into the sums.
const leastScale = 1e-100

// discount scales the sum by 1 − ρ.
func (e *estimate) discount() {
	e.s.Scale *= 1 - e.form.param
	if e.s.Scale < leastScale { // multiply the scale in before it underflows
		for i := range e.s.Sum {
			e.s.Sum[i] *= e.s.Scale
		}
		e.s.Scale = 1
	}
}
