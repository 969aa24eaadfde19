package ascent

import (
	"github.com/noregret/noregret/pasto"
)

// IPW is the importance-weighted average of the paper (eq. 5, line 5 of Algorithm 1): V̂_t =
// (n_0·U_0 + Σ_s Û_s)/(n_0 + t). With n_0 = 1 it is V̂_t = t/(t+1)·V̂_{t−1} + Û_t/(t+1), with n_0 =
// 0 the plain mean of eq. (6).
func IPW() Estimator { return Estimator{form: &formIPW} }

var formIPW = form{name: "ipw", centred: true, add: addIPW}

func addIPW(e *estimate, r *roundOf, i int, omega, _ float64) {
	e.weigh(&r.obs[i], omega, 1/r.p[r.obs[i].Arm])
}

// weigh adds ω·w·(û − b) to the sum.
func (e *estimate) weigh(o *pasto.Observation, omega, w float64) {
	w *= omega
	row := e.s.Sum[o.Arm*e.m : (o.Arm+1)*e.m]
	for m, v := range o.Metrics {
		row[m] += float64(w * (v - e.base(m)))
	}
}
