package arena

import (
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
)

// defaultLearner is package confident's learner as a host drives it: arm 0 is its control arm, and
// groups come with their raw means and the variances of their units.
type defaultLearner struct{ *confident.Learner }

// Default returns a maker of package confident's learner with these options, beside arm 0 as its
// control arm, for an [Entry].
func Default(o confident.Options) func(*Task) (Learner, error) {
	o.Control = 0
	return func(task *Task) (Learner, error) {
		l, err := confident.New(task.Goals, task.Arms, o)
		return &defaultLearner{l}, err
	}
}

// Serving implements [Learner].
func (d *defaultLearner) Serving(int) ([]float64, error) { return d.Learner.Serving(), nil }

// Observe implements [Learner].
func (d *defaultLearner) Observe(groups []world.Group) error { return observe(d.Learner, groups) }

// observe passes groups to a learner. An arm that has no share in the running round, as feedback
// may come late, is left out.
func observe(l pasto.Learner, groups []world.Group) error {
	var obs []pasto.Observation
	for i := range groups {
		if g := &groups[i]; l.Serving()[g.Arm] > 0 {
			obs = append(obs, pasto.Observation{
				Arm: g.Arm, Metrics: g.Means, Variances: g.Variances, Size: float64(g.Units),
			})
		}
	}
	if len(obs) == 0 {
		return nil
	}
	return l.Observe(obs)
}
