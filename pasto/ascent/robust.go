package ascent

// DoublyRobust averages m_k + 1{i_s = k}·(û_s − m_k)/p_{s,k}, where m_k is the arm's mean before
// round s.
func DoublyRobust() Estimator { return Estimator{form: &formRobust} }

var formRobust = form{name: "doubly-robust", add: addRobust}

// addRobust adds ω·(û − m)/p with the model m from before the round, and updates m after the arm's
// last group. As V̂·(n_0+t) = m·(n_0+t) + Sum, a change of m by δ at round t subtracts δ·(n_0+t)
// from the sum of all rounds up to t.
func addRobust(e *estimate, r *roundOf, i int, omega, _ float64) {
	obs := r.obs
	o := &obs[i]
	k := o.Arm
	sum, base := e.s.Sum[k*e.m:(k+1)*e.m], e.s.Base[k*e.m:(k+1)*e.m]
	w := omega / r.p[k]
	for m, v := range o.Metrics {
		sum[m] += float64(w * (v - base[m]))
	}
	for j := i + 1; j < len(obs); j++ {
		if obs[j].Arm == k {
			return
		}
	}
	rounds := e.s.N0 + float64(e.s.T-e.s.Start[k])
	for j := range obs {
		if obs[j].Arm != k {
			continue
		}
		size := 1.0
		if obs[j].Size > 0 {
			size = obs[j].Size
		}
		e.s.Weight[k] += size
		share := size / e.s.Weight[k]
		for m, v := range obs[j].Metrics {
			step := float64(share * (v - base[m]))
			base[m] += step
			sum[m] -= float64(step * rounds)
		}
	}
}
