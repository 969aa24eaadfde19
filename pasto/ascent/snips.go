package ascent

// SelfNormalized is Σwû/Σw for each arm (SNIPS).
func SelfNormalized() Estimator { return Estimator{form: &formSelfNormalized} }

var formSelfNormalized = form{name: "snips", direct: true, add: addSelfNormalized}

func addSelfNormalized(e *estimate, r *roundOf, i int, omega, _ float64) {
	e.blend(&r.obs[i], omega/r.p[r.obs[i].Arm])
}
