package arena

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/pasto"
)

// guard is the last step of a safe learner: it mixes what is to be served with the control, as
// little as makes the mixture hold every hard guardrail by pessimistic bounds (Pacchiano,
// Ghavamzadeh, Bartlett and Jiang, "Stochastic bandits with linear constraints", 2021).
//
// An arm's bound is its estimate moved by z standard errors, where z is the boundary of the
// one-sided normal mixture (Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric,
// nonasymptotic confidence sequences", 2021, equation 14): it holds in all rounds together. The
// probability [Alpha] is divided evenly over arms and hard guardrails. An arm without observations
// has the worst value of the metric's range; without a range, all such arms together get at most
// one hundredth of the traffic. The control is declared safe: its own bound is at least the limit.
type guard struct {
	goals *pasto.Goals
	alpha float64
}

func newGuard(task *Task) *guard {
	hard := 0
	for i := range task.Goals.Metrics() {
		if task.Goals.Metrics()[i].Hard {
			hard++
		}
	}
	return &guard{
		goals: task.Goals, alpha: Alpha / float64(hard*task.Arms),
	}
}

// unknownShare is the largest total share of arms without a known bound.
const unknownShare = 0.01

// tightUnits is the variance of the boundary's normal mixture, in units of an arm. Bounds matter
// most where they are about as wide as the rates themselves, which is at some hundreds to thousands
// of units for rates of some percent.
const tightUnits = 300

// boundary returns z after n units.
func (g *guard) boundary(n float64) float64 {
	x := math.Sqrt(1+n/tightUnits)/(2*g.alpha) + 1
	return math.Sqrt(float64(2 * (1 + tightUnits/n) * portable.Log(x)))
}

// slack returns a lower bound on the distance of arm k inside hard guardrail m, negative if the arm
// may break it, and whether such a bound is known.
func (g *guard) slack(e *estimates, k, m int) (slack float64, known bool) {
	if e.seen[k] {
		return standardErrors(g.goals, g.boundary(e.units[k]))(e, k, m), true
	}
	x := &g.goals.Metrics()[m]
	sign := x.Direction.Sign()
	if k == 0 {
		return 0, true
	}
	if !e.seen[0] { // nothing but the control is safe
		return -1, true
	}
	if x.Lower == x.Upper {
		return 0, false
	}
	worst := x.Lower
	if x.Direction == pasto.Down {
		worst = x.Upper
	}
	if x.Relative {
		worst -= x.Beside(e.control[m])
	}
	return float64(sign * (worst - x.Limit())), true
}

// caution is that of the bounds, for arms that were seen.
func (g *guard) caution(e *estimates, k, m int) float64 {
	slack, _ := g.slack(e, k, m)
	return slack
}

// restrict replaces p by (1−ρ)·e_0 + ρ·p with the largest ρ in [0, 1] for which every hard
// guardrail holds by the arms' bounds.
func (g *guard) restrict(e *estimates, p []float64) {
	rho, unknown := 1.0, 0.0
	for k, share := range p {
		for m := range g.goals.Metrics() {
			if _, known := g.slackOf(e, k, m); !known {
				unknown += share
				break
			}
		}
	}
	if unknown > unknownShare {
		rho = unknownShare / unknown
	}
	for m := range g.goals.Metrics() {
		if !g.goals.Metrics()[m].Hard {
			continue
		}
		own, _ := g.slack(e, 0, m)
		sum := 0.0
		for k, share := range p {
			s, _ := g.slack(e, k, m)
			sum += float64(share * s)
		}
		if sum < 0 {
			rho = min(rho, own/(own-sum))
		}
	}
	for k := range p {
		p[k] = float64(p[k] * rho)
	}
	p[0] += 1 - rho
}

// slackOf is slack for hard guardrails, and known for other metrics.
func (g *guard) slackOf(e *estimates, k, m int) (slack float64, known bool) {
	if !g.goals.Metrics()[m].Hard {
		return 0, true
	}
	return g.slack(e, k, m)
}
