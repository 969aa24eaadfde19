package arena

import (
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
)

// defaultLearner is package confident's learner as a host drives it: arm 0 is its control arm, and
// groups come with their raw means and the variances of their units. A learner that refuses a
// control arm has a control group beside it instead, of a fixed share, whose means come with each
// group.
type defaultLearner struct {
	learner *confident.Learner
	beside  float64   // the share of the control group beside the learner
	control []float64 // the control group's means in the last round that had some, nil for none
	serving []float64
}

// controlShare is the share of a control group beside the learner.
const controlShare = 0.1

// newDefault makes the learner. All of its options are set here.
func newDefault(task *Task) (Learner, error) {
	d, o := &defaultLearner{serving: make([]float64, task.Arms)}, confident.DefaultOptions()
	o.Control = 0
	var err error
	if d.learner, err = confident.New(task.Goals, task.Arms, o); err == nil {
		return d, nil
	}
	if task.Goals.HasRelative() {
		d.beside, d.control = controlShare, make([]float64, task.Goals.Dim())
	}
	d.learner, err = confident.New(task.Goals, task.Arms, confident.DefaultOptions())
	return d, err
}

// Serving implements [Learner].
func (d *defaultLearner) Serving(int) ([]float64, error) {
	for k, v := range d.learner.Serving() {
		d.serving[k] = float64((1 - d.beside) * v)
	}
	d.serving[0] += d.beside
	return d.serving, nil
}

// Deployed implements [Learner].
func (d *defaultLearner) Deployed() []float64 { return d.learner.Deployed() }

// Observe implements [Learner]. An arm that has no share in the running round, as feedback may come
// late, is left out.
func (d *defaultLearner) Observe(groups []Group) error {
	for i := range groups {
		if d.control != nil && groups[i].Arm == 0 {
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
