package arena

import "github.com/noregret/noregret/lab/world"

// oracle serves and deploys the certified optimum of the means and masks of the running
// round.
type oracle struct {
	w        *world.World
	deployed []float64
}

func newOracle(task *Task) (Learner, error) {
	return &oracle{w: task.world, deployed: task.world.Truth(0).Best}, nil
}

// Serving implements [Learner].
func (o *oracle) Serving(t int) ([]float64, error) {
	o.deployed = o.w.Truth(o.w.StateAt(t)).Best
	return o.deployed, nil
}

// Observe implements [Learner].
func (o *oracle) Observe([]world.Group) error { return nil }

// Deployed implements [Learner].
func (o *oracle) Deployed() []float64 { return o.deployed }

// control serves and deploys the control alone.
type control struct{ p []float64 }

func newControl(task *Task) (Learner, error) {
	c := &control{p: make([]float64, task.Arms)}
	only(c.p, 0)
	return c, nil
}

// Serving implements [Learner].
func (c *control) Serving(int) ([]float64, error) { return c.p, nil }

// Observe implements [Learner].
func (c *control) Observe([]world.Group) error { return nil }

// Deployed implements [Learner].
func (c *control) Deployed() []float64 { return c.p }
