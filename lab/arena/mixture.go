package arena

import (
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
)

// mixtureLearner is package mixture's policy beside the store of package compare, as a host drives
// them.
type mixtureLearner struct {
	policy            *mixture.Policy
	store             *compare.Store
	sums              []compare.Sums
	serving, deployed []float64
}

// Mixture returns a maker of package mixture's policy with these options, for an [Entry].
func Mixture(o mixture.Options) func(*Task) (Learner, error) {
	return func(task *Task) (Learner, error) {
		p := problem(task.Goals, task.Arms)
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

// problem returns the problem of an objective, whose metrics are numbered alike.
func problem(goals *pasto.Goals, arms int) *propose.Problem {
	p := &propose.Problem{Arms: make([]propose.Arm, arms)}
	for k := range p.Arms {
		p.Arms[k].Most = 1
	}
	for i := range goals.Metrics() {
		x := goals.Metrics()[i].EnsureDefaults()
		p.Metrics = append(p.Metrics, propose.Metric{Name: x.Name, Lower: x.Lower, Upper: x.Upper})
		down := x.Direction == pasto.Down
		switch x.Role {
		case pasto.Primary:
			p.Goals = append(p.Goals, propose.Goal{Metric: i, Down: down, Weight: x.Weight})
		case pasto.Guardrail:
			g := propose.Guardrail{
				Metric: i, Down: down, Limit: x.Threshold, Relative: x.Relative, Hard: x.Hard,
			}
			if !x.Hard {
				g.Price, g.Absolute = x.Lambda, true
			}
			p.Guardrails = append(p.Guardrails, g)
		}
	}
	return p
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
