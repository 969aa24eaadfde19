package arena

import (
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
)

// defaultLearner is package confident's learner as a host drives it.
type defaultLearner struct {
	learner *confident.Learner
	holdout float64   // the share of the control group beside the learner
	control []float64 // the control's means in the last round that had some
	serving []float64
}

// controlShare is the share of a control group beside the learner, where guardrails are relative.
const controlShare = 0.1

// newDefault makes the learner. All of its options are set here.
func newDefault(task *Task) (Learner, error) {
	d := &defaultLearner{serving: make([]float64, task.Arms), control: make([]float64, task.Goals.Dim())}
	if task.Goals.HasRelative() {
		d.holdout = controlShare
	}
	var err error
	d.learner, err = confident.New(task.Goals, task.Arms, confident.DefaultOptions())
	return d, err
}

// Serving implements [Learner].
func (d *defaultLearner) Serving(int) ([]float64, error) {
	for k, v := range d.learner.Serving() {
		d.serving[k] = float64((1 - d.holdout) * v)
	}
	d.serving[0] += d.holdout
	return d.serving, nil
}

// Deployed implements [Learner].
func (d *defaultLearner) Deployed() []float64 { return d.learner.Deployed() }

// Observe implements [Learner]. An arm that has no share in the running round, as feedback may come
// late, is left out.
func (d *defaultLearner) Observe(groups []Group) error {
	for i := range groups {
		if groups[i].Arm == 0 {
			copy(d.control, groups[i].Means)
		}
	}
	var obs []pasto.Observation
	for i := range groups {
		g := &groups[i]
		if d.learner.Serving()[g.Arm] > 0 {
			obs = append(obs, pasto.Observation{
				Arm: g.Arm, Metrics: g.Means, Variances: g.Variances, Control: d.control, Size: float64(g.Units),
			})
		}
	}
	if len(obs) == 0 {
		return nil
	}
	return d.learner.Observe(obs)
}
