package arena

import (
	"math"

	"github.com/noregret/noregret/pasto"
)

// small is a plain design for relative and absolute hard guardrails: one least squares of arms
// beside rounds, one linear program under the arms' own errors, one rule of exploration, one step
// towards the control until the guardrails hold by three standard errors of the mixture. It is what
// package mixture must beat.
type small struct {
	goals   *pasto.Goals
	effects *effects
	program program
	hopeful []bool
}

const (
	smallServed, smallDeployed = 3, 2
	smallHope                  = 2.5
)

func newSmall(task *Task) (estimator, policy) {
	e := newEffects(task)
	return e, &small{goals: task.Goals, effects: e, hopeful: make([]bool, task.Arms)}
}

// plan implements policy.
func (s *small) plan(t int, e *estimates, serving, deployed []float64) error {
	if err := s.program.maximize(s.goals, e, 0, standardErrors(s.goals, smallDeployed), deployed); err != nil {
		return err
	}
	if err := s.program.maximize(s.goals, e, 1, standardErrors(s.goals, smallServed), serving); err != nil {
		return err
	}
	s.explore(t, e, serving)
	s.restrict(e, serving)
	return nil
}

// explore adds what explores: the arms that may be better than what is served, alike, the others a
// tenth of that, and a third for the control.
func (s *small) explore(t int, e *estimates, p []float64) {
	value := func(k int, z float64) float64 {
		v := 0.0
		for m := range s.goals.Metrics() {
			if x := &s.goals.Metrics()[m]; x.Role == pasto.Primary {
				sign := x.Direction.Sign()
				v += float64(x.EnsureDefaults().Weight *
					(float64(sign*e.mean.Arm(k)[m]) + float64(z*e.error.Arm(k)[m])))
			}
		}
		return v
	}
	best := 0.0
	for k, share := range p {
		if share > 0 {
			best += float64(share * value(k, 0))
		}
	}
	sum := 0.0
	weight := func(k int) float64 {
		if k > 0 && e.seen[k] && value(k, smallHope) <= best {
			return 0.1
		}
		return 1
	}
	for k := 1; k < len(p); k++ {
		sum += weight(k)
	}
	share := explored(t)
	for k := range p {
		q := 1.0 / 3
		if k > 0 {
			q = 2.0 / 3 * weight(k) / sum
		}
		p[k] = float64((1-share)*p[k]) + float64(share*q)
	}
}

// restrict moves p towards the control until the guardrails hold, by at most 98 % of the way.
func (s *small) restrict(e *estimates, p []float64) {
	rho := 1.0
	for m := range s.goals.Metrics() {
		x := &s.goals.Metrics()[m]
		if !x.Hard {
			continue
		}
		sign := x.Direction.Sign()
		own := max(float64(sign*(e.mean.Arm(0)[m]-x.Limit())), 0)
		if x.Relative && e.seen[0] {
			own = max(float64(-sign*float64(x.Threshold*math.Abs(e.control[m]))), 0)
		} else {
			own = max(own-e.error.Arm(0)[m], 0)
		}
		gain, worst := 0.0, 0.0
		for k, share := range p {
			switch {
			case k == 0:
			case e.seen[k]:
				slack := float64(sign * (e.mean.Arm(k)[m] - x.Limit()))
				gain += float64(share * (slack - float64(sign*(e.mean.Arm(0)[m]-x.Limit()))))
			case x.Lower != x.Upper:
				low := x.Lower
				if x.Direction == pasto.Down {
					low = x.Upper
				}
				if x.Relative {
					low -= x.Beside(e.control[m])
				}
				worst += float64(share * min(float64(sign*(low-x.Limit()))-own, 0))
			}
		}
		slack := own + gain + worst - float64(smallServed*s.error(p, m))
		if slack < 0 {
			rho = min(rho, own/(own-slack))
		}
	}
	rho = max(rho, 0.02)
	for k := range p {
		p[k] = float64(p[k] * rho)
	}
	p[0] += 1 - rho
}

// error is the standard error of a mixture's contrast with the control in metric m.
func (s *small) error(p []float64, m int) float64 {
	l, v := s.effects, 0.0
	n := len(l.index)
	if len(l.inverse) != n*n {
		return 0
	}
	for i, k := range l.index {
		for j, other := range l.index {
			noise := math.Sqrt(float64(l.variance(k, m) * l.variance(other, m)))
			v += float64(float64(p[k]*p[other]) * float64(l.inverse[i*n+j]*noise))
		}
	}
	return math.Sqrt(max(v, 0))
}
