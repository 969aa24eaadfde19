package arena

import (
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/lab/world"
)

// mixtureLearner is package mixture's policy beside the store of package compare, as a host drives
// them.
type mixtureLearner struct {
	policy            *mixture.Policy
	store             *compare.Store
	sums              []compare.Sums
	serving, deployed []float64
}

// Mixture returns a maker of package mixture's policy with these options and this
// [propose.Problem.Memory], for an [Entry].
func Mixture(o mixture.Options, memory int) func(*Task) (Learner, error) {
	return func(task *Task) (Learner, error) {
		p := propose.OfGoals(task.Goals, task.Arms)
		p.Memory = memory
		store, err := p.Store()
		if err != nil {
			return nil, err
		}
		policy, err := mixture.New(p, o)
		if err != nil {
			return nil, err
		}
		deployed := make([]float64, task.Arms)
		only(deployed, 0)
		return &mixtureLearner{policy: policy, store: store, deployed: deployed}, nil
	}
}

// Serving implements [Learner].
func (l *mixtureLearner) Serving(int) ([]float64, error) {
	p, err := l.policy.Propose(l.store)
	if err != nil {
		return nil, err
	}
	l.serving, l.deployed = p.Serving, p.Deployed
	return l.serving, nil
}

// Deployed implements [Learner].
func (l *mixtureLearner) Deployed() []float64 { return l.deployed }

// Observe implements [Learner].
func (l *mixtureLearner) Observe(groups []world.Group) error {
	for m := range l.store.Metrics() {
		if err := l.observeMetric(m, groups); err != nil {
			return err
		}
	}
	return nil
}

// observeMetric implements metricObserver.
func (l *mixtureLearner) observeMetric(m int, groups []world.Group) error {
	l.sums = l.sums[:0]
	for i := range groups {
		g := &groups[i]
		s := compare.Sums{Arm: g.Arm, N: float64(g.Units), X: g.Means[m]}
		if g.Units > 1 {
			s.XX = float64(g.Variances[m] * float64(g.Units-1))
		}
		l.sums = append(l.sums, s)
	}
	return l.store.Add(m, l.sums)
}
