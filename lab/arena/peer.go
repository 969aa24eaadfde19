package arena

import (
	"math"

	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// policy chooses mixtures by estimates.
type policy interface {
	// plan writes the mixture to serve in round t and the one to deploy. On entry both are uniform,
	// or as the last call left them.
	plan(t int, e *estimates, serving, deployed []float64) error
}

// peer is a learner made of an estimator and a policy, with or without the last step that makes
// what it serves safe.
type peer struct {
	estimator
	policy
	guard             *guard // nil for none
	estimates         *estimates
	serving, deployed []float64
}

// plain makes peers without the safe last step.
func plain(parts func(*Task) (estimator, policy)) func(*Task) (Learner, error) {
	return func(task *Task) (Learner, error) { return newPeer(task, parts, nil), nil }
}

// safely makes peers that serve within their bounds. Without hard guardrails these are the plain
// ones.
func safely(parts func(*Task) (estimator, policy)) func(*Task) (Learner, error) {
	return func(task *Task) (Learner, error) {
		if !task.Goals.HasHard() {
			return newPeer(task, parts, nil), nil
		}
		safe := *task
		safe.guard = newGuard(task)
		return newPeer(&safe, parts, safe.guard), nil
	}
}

func newPeer(task *Task, parts func(*Task) (estimator, policy), g *guard) *peer {
	p := &peer{guard: g, estimates: newEstimates(task.Arms, task.Goals.Dim())}
	p.estimator, p.policy = parts(task)
	p.serving, p.deployed = make([]float64, task.Arms), make([]float64, task.Arms)
	uniform(p.serving)
	p.deployed[0] = 1
	return p
}

// Serving implements [Learner].
func (p *peer) Serving(t int) ([]float64, error) {
	if err := p.plan(t, p.estimates, p.serving, p.deployed); err != nil {
		return nil, err
	}
	if p.guard != nil {
		p.guard.restrict(p.estimates, p.serving)
	}
	return p.serving, nil
}

// Observe implements [Learner].
func (p *peer) Observe(groups []world.Group) error {
	p.add(groups)
	p.write(p.estimates)
	return nil
}

// Deployed implements [Learner].
func (p *peer) Deployed() []float64 { return p.deployed }

func uniform(p []float64) {
	for k := range p {
		p[k] = 1 / float64(len(p))
	}
}

// only makes p the mixture of arm k alone.
func only(p []float64, k int) {
	clear(p)
	p[k] = 1
}

// program looks for the best mixture of the arms that were seen, by estimates that are moved by
// some standard errors. The zero value is ready to use.
type program struct {
	solver optimum.HardSolver
	part   pasto.Table
	arms   []int
}

// caution returns by how much arm k holds hard guardrail m for certain, less than 0 where it may
// break it.
type caution func(e *estimates, k, m int) float64

// standardErrors is the caution of z standard errors. The control is declared safe.
func standardErrors(goals *pasto.Goals, z float64) caution {
	return func(e *estimates, k, m int) float64 {
		x := &goals.Metrics()[m]
		sign := x.Direction.Sign()
		y := e.mean.Arm(k)[m] - float64(float64(sign*z)*e.error.Arm(k)[m])
		slack := float64(sign * (clip(goals, m, y) - x.Limit()))
		if k == 0 {
			slack = max(slack, 0)
		}
		return slack
	}
}

// maximize writes the best mixture to p: goals and soft guardrails moved by z standard errors in
// their good directions, hard guardrails by their caution. Where none holds the hard guardrails p
// is the control alone.
func (l *program) maximize(goals *pasto.Goals, e *estimates, z float64, hold caution, p []float64) error {
	l.arms = l.arms[:0]
	l.part.Reset(0, goals.Dim())
	for k, seen := range e.seen {
		if !seen {
			continue
		}
		l.arms = append(l.arms, k)
		l.part.Append(e.mean.Arm(k))
		row := l.part.Arm(len(l.arms) - 1)
		for m := range row {
			x := &goals.Metrics()[m]
			sign := x.Direction.Sign()
			if x.Hard {
				row[m] = x.Limit() + float64(sign*hold(e, k, m))
			} else {
				row[m] = clip(goals, m, row[m]+float64(float64(sign*z)*e.error.Arm(k)[m]))
			}
		}
	}
	only(p, 0)
	if len(l.arms) == 0 {
		return nil
	}
	var q []float64
	if !goals.HasHard() {
		o, err := optimum.Maximize(goals, &l.part, optimum.Options{Tolerance: 1e-9, Iterations: 10_000})
		if err != nil {
			return err
		}
		q = o.Mixture
	} else {
		spread := l.solver.Spread(goals, &l.part)
		feasible, err := l.solver.Maximize(goals, &l.part, float64(1e-9*spread), 10_000)
		if err != nil {
			return err
		}
		if !feasible {
			return nil
		}
		q = l.solver.Best.Mixture
	}
	clear(p)
	for i, k := range l.arms {
		p[k] = q[i]
	}
	return nil
}

// clip returns y in the range of metric m.
func clip(goals *pasto.Goals, m int, y float64) float64 {
	low, high := goals.Range(m)
	return min(max(y, low), high)
}

// explored is the share ε_t = min(½, 1/√(t+1)) that ε-greedy learners spread over all arms.
func explored(t int) float64 { return min(0.5, 1/math.Sqrt(float64(t)+1)) }

// spread adds the share ε of the uniform mixture to p.
func spread(p []float64, share float64) {
	for k := range p {
		p[k] = float64((1-share)*p[k]) + share/float64(len(p))
	}
}
