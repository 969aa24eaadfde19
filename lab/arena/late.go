package arena

import (
	"slices"

	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/lab/world"
)

// Late returns a maker of package mixture's policy, for an [Entry], that hosts at the edge of a
// network serve: a share of each round's units gets the mixture of the round before, as the new one
// has not reached all of them, and the sums of as many units come after the round's end, with those
// of the next round. The share is from 0 to 1.
func Late(share float64) func(*Task) (Learner, error) {
	inner := Mixture(mixture.DefaultOptions(), 0)
	return func(task *Task) (Learner, error) {
		l, err := inner(task)
		if err != nil {
			return nil, err
		}
		return &lateLearner{Learner: l, share: share}, nil
	}
}

// lateLearner is a learner whose mixtures and groups are late.
type lateLearner struct {
	Learner
	share    float64
	previous []float64     // the mixture of the round before
	late     []world.Group // what came too late of the round before
}

// Serving implements [Learner].
func (l *lateLearner) Serving(t int) ([]float64, error) {
	p, err := l.Learner.Serving(t)
	if err != nil {
		return nil, err
	}
	served := slices.Clone(p)
	for i := range l.previous {
		served[i] = float64((1-l.share)*p[i]) + float64(l.share*l.previous[i])
	}
	l.previous = append(l.previous[:0], p...)
	return served, nil
}

// Observe implements [Learner].
func (l *lateLearner) Observe(groups []world.Group) error {
	arrived := l.late
	l.late = nil
	for i := range groups {
		g := groups[i]
		late := g
		late.Units = int(l.share * float64(g.Units))
		if late.Units > 0 { // groups are valid during the call only
			late.Means, late.Variances = slices.Clone(g.Means), slices.Clone(g.Variances)
			l.late = append(l.late, late)
		}
		if g.Units -= late.Units; g.Units > 0 {
			arrived = join(arrived, g)
		}
	}
	return l.Learner.Observe(arrived)
}

// join adds a group to groups with one for each arm. It may change the means and variances of the
// group that it joins.
func join(groups []world.Group, g world.Group) []world.Group {
	i := slices.IndexFunc(groups, func(x world.Group) bool { return x.Arm == g.Arm })
	if i < 0 {
		return append(groups, g)
	}
	x := &groups[i]
	n, k := float64(x.Units), float64(g.Units)
	for m := range x.Means {
		within := 0.0
		if x.Units > 1 {
			within += float64((n - 1) * x.Variances[m])
		}
		if g.Units > 1 {
			within += float64((k - 1) * g.Variances[m])
		}
		d := g.Means[m] - x.Means[m]
		x.Means[m] += float64(d * k / (n + k))
		x.Variances[m] = (within + float64(d*d*n*k/(n+k))) / (n + k - 1)
	}
	x.Units += g.Units
	return groups
}
