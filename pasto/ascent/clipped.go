package ascent

// Clipped is [IPW] with weights min(1/p, wmax).
func Clipped(wmax float64) Estimator { return Estimator{form: &formClipped, param: wmax} }

var formClipped = form{name: "clipped", centred: true, check: checkClipped, add: addClipped}

func checkClipped(wmax float64) string {
	if wmax >= 1 {
		return ""
	}
	return "a largest weight of at least 1"
}

func addClipped(e *estimate, r *roundOf, i int, omega, _ float64) {
	e.weigh(&r.obs[i], omega, min(1/r.p[r.obs[i].Arm], e.form.param))
}
