package bandit

import (
	"math"

	"github.com/noregret/noregret/internal/random"
)

// Elimination is successive elimination (Even-Dar, Mannor and Mansour 2006) with an estimated
// variance: all arms that are left are drawn evenly, and an arm leaves for good when its lower
// confidence bound is above the lowest upper one. An interval is the mean ± [EliminationWidth]
// standard errors; the variance is pooled over the arms, with one degree of freedom for each loss
// of an arm beyond its first. All arms are drawn evenly until it has ten.
//
// Arms without a loss come first, evenly. If none of the arms left is allowed, the allowed arm of
// the lowest mean is drawn. Losses are finite numbers of size at most 1e100. A round costs O(d) and
// allocates nothing.
type Elimination struct{}

func (Elimination) plan(int) (*plan, error) {
	return &plan{name: "elimination", low: -maxLoss, high: maxLoss, method: &elimination{}}, nil
}

// elimination is the method of [Elimination].
type elimination struct {
	p            []float64 // for choose
	score, width []float64
}

// minFreedom is the number of degrees of freedom from which a pooled variance is used: with fewer,
// intervals would often be too narrow.
const minFreedom = 10

// freedom is that of the pooled variance.
func (e *elimination) freedom(s *state) int { return s.Rounds - (len(s.Pulls) - s.unseen) }

func (e *elimination) renew(s *state) {
	d := len(s.Pulls)
	for len(s.In) < d {
		s.In = append(s.In, true)
	}
	e.p, e.score, e.width = make([]float64, d), make([]float64, d), make([]float64, d)
}

func (e *elimination) choose(s *state, c *drawn, v *view, r Rand) {
	e.distribution(s, e.p, v)
	arm := random.Index(e.p, r.Float64())
	*c = drawn{Arm: arm, Propensity: e.p[arm]}
}

func (e *elimination) distribution(s *state, p []float64, v *view) float64 {
	due := func(k int) bool { return s.Pulls[k] > 0 && (s.In[k] || e.freedom(s) < minFreedom) }
	if s.fresh(v) != none {
		due = func(k int) bool { return s.Pulls[k] == 0 }
	}
	n := 0.0
	for k := range p {
		p[k] = 0
		if v.allows(k) && due(k) {
			p[k] = 1
			n++
		}
	}
	if n == 0 {
		return one(p, s.lowestArm(v))
	}
	for k := range p {
		p[k] /= n
	}
	return 0
}

func (e *elimination) learn(s *state, c *drawn, loss float64) {
	// The mean has moved by (loss − the mean before)/n, so that the deviations multiply to this.
	n := float64(s.Pulls[c.Arm])
	s.Squares += float64(square(loss-s.Means[c.Arm]) * n / max(n-1, 1))
	if e.freedom(s) < minFreedom {
		return
	}
	variance := s.Squares / float64(e.freedom(s))
	for k, n := range s.Pulls {
		e.score[k], e.width[k] = 0, math.Inf(1)
		if n > 0 {
			e.score[k] = -s.Means[k]
			e.width[k] = float64(EliminationWidth(len(s.Pulls), float64(n)) * math.Sqrt(variance/float64(n)))
		}
	}
	Eliminate(s.In, e.score, e.width)
}

func (e *elimination) valid(s *state) bool {
	left := 0
	for _, in := range s.In {
		if in {
			left++
		}
	}
	return len(s.In) == len(s.Pulls) && left > 0 && s.Squares >= 0 && finite([]float64{s.Squares})
}
