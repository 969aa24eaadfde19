package ascent

import (
	"math"
)

// ImplicitExploration is [IPW] with weights 1/(p + zeta) (IX).
func ImplicitExploration(zeta float64) Estimator { return Estimator{form: &formImplicit, param: zeta} }

var formImplicit = form{name: "ix", centred: true, check: checkImplicit, add: addImplicit}

func checkImplicit(zeta float64) string {
	if zeta >= 0 && !math.IsInf(zeta, 1) {
		return ""
	}
	return "a finite ζ, at least 0"
}

func addImplicit(e *estimate, r *roundOf, i int, omega, _ float64) {
	e.weigh(&r.obs[i], omega, 1/(r.p[r.obs[i].Arm]+e.form.param))
}
