package arena

import (
	"slices"

	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/drifting"
)

// DriftLearners lists the default learner, without and with ways to forget, and two oracles. The
// first has the change test of package confident, which "no-change-test" is without.
func DriftLearners() []Entry {
	safe := Caution{Deployed: 2, Served: true}
	never := confident.DefaultOptions()
	never.ChangeThreshold = 0
	list := []Entry{
		{
			"default", "the default learner: its change test and no other drift handling", safe,
			Default(confident.DefaultOptions()),
		},
		{"no-change-test", "the same without the change test", safe, Default(never)},
	}
	for _, x := range []struct {
		name, about string
		drift       forget.Rule
	}{
		{"restart-64", "begun anew every 64 rounds", forget.Rule{Kind: forget.Restart, Rounds: 64}},
		{"discount-.02", "weights fall by 2 % a round", forget.Rule{Kind: forget.Discount, Rate: 0.02}},
		{"window-50", "the last 50 rounds", forget.Rule{Kind: forget.Window, Rounds: 50}},
		{"cusum", "CUSUM of residuals", forget.Rule{Kind: forget.Detector, Detector: "cusum"}},
		{
			"page-hinkley", "Page–Hinkley of residuals",
			forget.Rule{Kind: forget.Detector, Detector: "page-hinkley"},
		},
		{"adwin", "ADWIN of residuals", forget.Rule{Kind: forget.Detector, Detector: "adwin"}},
		{"kswin", "KSWIN of residuals", forget.Rule{Kind: forget.Detector, Detector: "kswin"}},
		{"adaptive", "the discount that has predicted best", forget.Rule{Kind: forget.Adaptive}},
	} {
		list = append(list, Entry{x.name, x.about, safe, Drifting(confident.DefaultOptions(), x.drift)})
	}
	return append(list,
		Entry{"told", "the default, told of each change: it begins the arms that changed anew", safe, newTold},
		Entry{"control", "the control alone", safe, newControl},
		Entry{"oracle", "the optimum of the true means", Caution{}, newOracle})
}

// driftingLearner is [drifting.Learner] as a host drives it.
type driftingLearner struct{ learner *drifting.Learner }

// Drifting returns a maker of package drifting's learner, beside arm 0 as its control arm, for an
// [Entry].
func Drifting(o confident.Options, x forget.Rule) func(*Task) (Learner, error) {
	o.Control = 0
	return func(task *Task) (Learner, error) {
		l, err := drifting.New(task.Goals, task.Arms, o, x)
		return &driftingLearner{learner: l}, err
	}
}

// Serving implements [Learner].
func (d *driftingLearner) Serving(int) ([]float64, error) { return d.learner.Serving(), nil }

// Deployed implements [Learner].
func (d *driftingLearner) Deployed() []float64 { return d.learner.Deployed() }

// Observe implements [Learner].
func (d *driftingLearner) Observe(groups []world.Group) error { return observe(d.learner, groups) }

// told is the default without a change test, which hears of each change from the world.
type told struct {
	w       *world.World
	learner *drifting.Learner
	phase   int
}

func newTold(task *Task) (Learner, error) {
	o := confident.DefaultOptions()
	o.Control, o.ChangeThreshold = 0, 0
	l, err := drifting.New(task.Goals, task.Arms, o, forget.Rule{Kind: forget.Restart, Rounds: 100_000})
	return &told{w: task.world, learner: l}, err
}

// Serving implements [Learner].
func (d *told) Serving(t int) ([]float64, error) {
	if phase := d.w.PhaseAt(t); phase != d.phase {
		var arms []int
		for k := range d.w.Arms() {
			if !slices.Equal(d.w.Phases[phase].Means.Arm(k), d.w.Phases[d.phase].Means.Arm(k)) {
				arms = append(arms, k)
			}
		}
		d.phase = phase
		if err := d.learner.Begin(arms); err != nil {
			return nil, err
		}
	}
	return d.learner.Serving(), nil
}

// Deployed implements [Learner].
func (d *told) Deployed() []float64 { return d.learner.Deployed() }

// Observe implements [Learner].
func (d *told) Observe(groups []world.Group) error { return observe(d.learner, groups) }
