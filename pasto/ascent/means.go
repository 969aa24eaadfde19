package ascent

import (
	"github.com/noregret/noregret/pasto"
)

// ArmMeans is the mean of the arm's groups, weighted by size. It uses no propensities.
func ArmMeans() Estimator { return Estimator{form: &formMeans} }

var formMeans = form{name: "arm-means", direct: true, add: addMeans}

func addMeans(e *estimate, r *roundOf, i int, _, size float64) { e.blend(&r.obs[i], size) }

// blend moves the arm's mean towards û with weight w.
func (e *estimate) blend(o *pasto.Observation, w float64) {
	k := o.Arm
	n := e.s.Weight[k] + w
	e.s.Weight[k] = n
	if n == 0 {
		return
	}
	share := w / n
	row := e.s.Sum[k*e.m : (k+1)*e.m]
	for m, v := range o.Metrics {
		row[m] += float64(share * (v - row[m]))
	}
}
