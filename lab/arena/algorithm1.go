package arena

import (
	"math"

	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
)

// violationCost is what a violation of a hard guardrail by its margin costs Algorithm 1, as a share
// of the control's reward.
const violationCost = 0.2

// algorithm1 is the paper's Algorithm 1 with [ascent.PracticalOptions]. Its step depends on the
// units of the metrics, so each is divided by what the control, or else all arms, had in the first
// round. Hard guardrails get a price.
type algorithm1 struct {
	task              *Task
	learner           *ascent.Algorithm // nil before the first observation
	scales, control   []float64
	serving, deployed []float64
}

func newAlgorithm1(task *Task) (Learner, error) {
	a := &algorithm1{
		task: task, scales: make([]float64, task.Goals.Dim()), control: make([]float64, task.Goals.Dim()),
		serving: make([]float64, task.Arms), deployed: make([]float64, task.Arms),
	}
	uniform(a.serving)
	a.deployed[0] = 1
	return a, nil
}

// Serving implements [Learner].
func (a *algorithm1) Serving(int) ([]float64, error) { return a.serving, nil }

// Deployed implements [Learner].
func (a *algorithm1) Deployed() []float64 { return a.deployed }

// Observe implements [Learner].
func (a *algorithm1) Observe(groups []world.Group) error {
	for i := range groups {
		if groups[i].Arm == 0 {
			copy(a.control, groups[i].Means)
		}
	}
	if a.learner == nil {
		if err := a.start(groups); err != nil {
			return err
		}
	}
	obs := make([]pasto.Observation, len(groups))
	control := a.scaled(a.control)
	for i := range groups {
		obs[i] = pasto.Observation{
			Arm: groups[i].Arm, Metrics: a.scaled(groups[i].Means), Control: control, Size: float64(groups[i].Units),
		}
	}
	if err := a.learner.Observe(obs); err != nil {
		return err
	}
	copy(a.serving, a.learner.Serving())
	copy(a.deployed, a.learner.Deployed())
	return nil
}

func (a *algorithm1) scaled(y []float64) []float64 {
	x := make([]float64, len(y))
	for m, v := range y {
		x[m] = v / a.scales[m]
	}
	return x
}

// start makes the algorithm by the first round's groups.
func (a *algorithm1) start(groups []world.Group) error {
	units := 0.0
	for i := range groups {
		n := float64(groups[i].Units)
		units += n
		for m, v := range groups[i].Means {
			a.scales[m] += float64(n / units * (math.Abs(v) - a.scales[m]))
		}
	}
	for m, v := range a.control {
		if v != 0 {
			a.scales[m] = math.Abs(v)
		} else if a.scales[m] == 0 {
			a.scales[m] = 1
		}
	}
	goals, err := a.priced()
	if err != nil {
		return err
	}
	a.learner, err = ascent.New(goals, a.task.Arms, ascent.PracticalOptions(a.task.Arms))
	return err
}

// priced returns the objective in units of the scales, with prices in place of hard guardrails.
func (a *algorithm1) priced() (*pasto.Goals, error) {
	metrics := append([]pasto.Metric(nil), a.task.Goals.Metrics()...)
	weight := func(x *pasto.Metric) float64 {
		if x.Weight == 0 {
			return 1
		}
		return x.Weight
	}
	size := 0.0
	for m := range metrics {
		if metrics[m].Role == pasto.Primary {
			size += float64(weight(&metrics[m]) * a.scales[m])
		}
	}
	for m := range metrics {
		x, scale := &metrics[m], a.scales[m]
		x.Lower, x.Upper, x.Slack = 0, 0, 0
		if x.Role == pasto.Primary {
			x.Weight = float64(weight(x)*scale) / size
			continue
		}
		if x.Role != pasto.Guardrail {
			continue
		}
		margin := math.Abs(x.Threshold)
		if !x.Relative {
			margin = math.Abs(x.Threshold-a.control[m]) / scale
			x.Threshold /= scale
		}
		if x.Hard {
			margin = max(margin, 0.01)
			x.Hard, x.Lambda = false, violationCost/float64(margin*margin)
		} else {
			x.Lambda = float64(x.Lambda*float64(scale*scale)) / size
		}
	}
	return pasto.NewGoals(metrics, 0)
}
