package arena

import (
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
)

// defaultLearner is package confident's learner as a host drives it: the control is arm 0 of the
// learner, which takes the raw values.
type defaultLearner struct{ learner *confident.Learner }

// newDefault makes the learner. All of its options are set here.
func newDefault(task *Task) (Learner, error) {
	o := confident.DefaultOptions()
	o.Control, o.Alpha = 0, Alpha
	l, err := confident.New(task.Goals, task.Arms, o)
	return &defaultLearner{l}, err
}

// Serving implements [Learner].
func (d *defaultLearner) Serving(int) ([]float64, error) { return d.learner.Serving(), nil }

// Deployed implements [Learner].
func (d *defaultLearner) Deployed() []float64 { return d.learner.Deployed() }

// Observe implements [Learner]. An arm that has no share in the running round, as feedback may come
// late, is left out.
func (d *defaultLearner) Observe(groups []Group) error {
	var obs []pasto.Observation
	for i := range groups {
		g := &groups[i]
		if d.learner.Serving()[g.Arm] > 0 {
			obs = append(obs, pasto.Observation{
				Arm: g.Arm, Metrics: g.Means, Variances: g.Variances, Size: float64(g.Units),
			})
		}
	}
	if len(obs) == 0 {
		return nil
	}
	return d.learner.Observe(obs)
}
