package plan

import (
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
)

// expected is the default policy on expected sums: what it serves if every round brings exactly the
// means and variances that the definition's plan states. Arm 0 of the store is the control, arm 1
// the best one, and the others are like the control.
type expected struct {
	store   *compare.Store
	policy  propose.Policy
	serving []float64
	have    []int // the entries of the history in the store, by metric
	// Added and slow are those of the judged metric with the shortest and the longest window, and
	// asked and askedSlow those when the policy was asked last.
	added, slow, asked, askedSlow int
	// Before are those when it was asked the time before, and was the best arm's share then.
	before int
	was    float64
	round  []compare.Sums
	// carried are units of arms that had fewer than one in a round, by metric.
	carried [][]float64
}

// leastUnits is the number of units that an arm has in a round, or is carried to the next one.
const leastUnits = 5

// newExpected returns the policy of a definition, nil if another policy serves it.
func newExpected(c *closedForm) (*expected, error) {
	if !c.d.Mixes() || c.d.Control == nil {
		return nil, nil
	}
	names := []string{c.d.Control.Arm}
	list, err := c.d.NamedArms()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Name != names[0] {
			names = append(names, list[i].Name)
		}
	}
	p, err := propose.Of(c.d, names)
	if err != nil {
		return nil, err
	}
	e := &expected{asked: -1, have: make([]int, len(c.d.Metrics)), carried: make([][]float64, len(c.d.Metrics))}
	if e.store, err = p.Store(); err != nil {
		return nil, err
	}
	if e.policy, err = mixture.New(p, mixture.OptionsOf(c.d)); err != nil {
		return nil, err
	}
	return e, nil
}

// shares returns the shares of the best arm and of each other arm after the history's entries whose
// windows have closed, each metric's its own. The policy is asked again when a fifth more rounds of
// a metric are known.
func (e *expected) shares(x *course) (best, other float64, err error) {
	for m := range e.have {
		for known := x.closed(m); e.have[m] < known; {
			e.have[m]++
			if err := e.add(x, m, x.history[e.have[m]-1], x.history[e.have[m]]); err != nil {
				return 0, 0, err
			}
		}
	}
	e.slow, e.added = x.closedAll(x.learned)
	if e.serving == nil || e.added > e.asked+e.asked/5 || e.slow > e.askedSlow+e.askedSlow/5 {
		p, err := e.policy.Propose(e.store)
		if err != nil {
			return 0, 0, err
		}
		if e.before = e.asked; e.serving != nil {
			e.was = e.serving[1]
		}
		e.serving, e.asked, e.askedSlow = p.Serving, e.added, e.slow
	}
	for _, share := range e.serving[2:] { // they are alike but for the draws of a round
		other += share / float64(len(e.serving)-2)
	}
	return e.serving[1], other, nil
}

// add adds the round of a metric between two entries of the history.
func (e *expected) add(x *course, metric int, from, to units) error {
	if e.carried[metric] == nil {
		e.carried[metric] = make([]float64, e.store.Arms())
	}
	carried := e.carried[metric]
	e.round = e.round[:0]
	for k := range carried {
		switch k {
		case 0:
			carried[k] += to.control - from.control
		case 1:
			carried[k] += to.best - from.best
		default:
			carried[k] += to.other - from.other
		}
		n := carried[k]
		if n < leastUnits {
			continue
		}
		value := x.improved
		if k != 1 {
			value = func(metric int) float64 { return mean(x.d, metric) }
		}
		e.round = append(e.round, sumsOf(x.d, metric, k, n, value))
		carried[k] = 0
	}
	if len(e.round) == 0 {
		return nil
	}
	return e.store.Add(metric, e.round)
}

// sumsOf returns the expected sums of n units of an arm in a metric, of which value has the means.
// The parts of a ratio are independent.
func sumsOf(d *definition.Definition, metric, arm int, n float64, value func(metric int) float64) compare.Sums {
	s := compare.Sums{Arm: arm, N: n}
	if r := d.RatioIndex(metric); r >= 0 {
		parts := d.Ratios()[r]
		s.X, s.Y = value(parts.Numerator), value(parts.Denominator)
		s.XX, s.YY = float64((n-1)*variance(d, parts.Numerator)), float64((n-1)*variance(d, parts.Denominator))
		return s
	}
	s.X, s.XX = value(metric), float64((n-1)*variance(d, metric))
	return s
}
