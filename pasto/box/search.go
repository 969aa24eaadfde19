package box

import (
	"math"

	"github.com/noregret/noregret/pasto"

	"github.com/noregret/noregret/internal/vec"
)

const (
	// leastGain is the gain that candidates must promise to become nodes, in ranges of the nodes'
	// values.
	leastGain = 0.002
	// Perturbations have the width firstWidth, in sides of the box, times shrink for each plan.
	firstWidth = 0.25
	shrink     = 0.9
	leastWidth = 1.0 / 64
	// bold is the number of plans for each plan that treats hard guardrails with optimism.
	bold = 4
	// servedCaution is the number of standard errors by which the serving distribution is to hold
	// hard guardrails.
	servedCaution = 1
)

// view is the input of a plan: points with the surfaces' means and standard errors. The nodes that
// have been served come first, then the other nodes, then candidates.
type view struct {
	points        [][]float64
	numbers       []int // of the nodes
	served, nodes int
	means, errors *pasto.Table
}

// look makes the view of the nodes and, if more nodes are allowed, of new candidates.
func (c *Learner) look(surfaces []*surface) *view {
	v := &view{nodes: len(c.s.Points)}
	for _, fresh := range []bool{false, true} {
		for k, n := range c.s.Evidence.Size {
			if (n == 0) == fresh {
				v.numbers, v.points = append(v.numbers, k), append(v.points, c.s.Points[k])
			}
		}
		if !fresh {
			v.served = len(v.points)
		}
	}
	if !c.s.Done && v.nodes < c.options.MaxNodes {
		v.points = append(v.points, c.candidates()...)
	}
	v.means, v.errors = c.tables(surfaces, v.points)
	return v
}

// plan is steps 1 to 4. Where a step fails the mixtures stay as they are.
func (c *Learner) plan() {
	surfaces := c.surfaces(true)
	if surfaces == nil {
		return
	}
	v := c.look(surfaces)
	down, up := c.choose(v)
	if down == nil || up == nil {
		return
	}
	for i, g := range surfaces {
		c.s.Kernel[i] = g.kernel
	}
	c.s.Plans++
	c.measure(v, down)
	c.s.Share = min(c.s.Share, c.safeShare(v, down, up))
	for k := v.nodes; k < len(up.mixture); k++ {
		if up.mixture[k] > 0 {
			for len(v.numbers) <= k {
				v.numbers = append(v.numbers, -1)
			}
			v.numbers[k] = c.push(v.points[k])
		}
	}
	c.s.Down, c.s.Up, c.s.Planned = c.overNodes(v, down), c.overNodes(v, up), true
	c.s.Width = max(float64(c.s.Width*shrink), leastWidth)
}

// choose returns the mixture to deploy, of nodes that have been served, and the one to learn by:
// the optimistic mixture and, where that promises enough more, in equal shares with it the cautious
// mixture of all points.
func (c *Learner) choose(v *view) (down, up *solution) {
	down, part := c.cautious(v.means, v.errors, v.served)
	if down == nil {
		return nil, nil
	}
	z := 0.0
	if !down.feasible || c.s.Plans%bold == 0 {
		z = c.options.Optimism // look for where the guardrails may hold
	}
	if up = c.optimistic(v.means, v.errors, v.nodes, z); up == nil {
		return nil, nil
	}
	all, room := v.means.Arms(), c.options.MaxNodes-v.nodes
	if all == v.served {
		return down, up
	}
	next, more := c.cautious(v.means, v.errors, all)
	if next != nil && (next.fresh(v.nodes) > room || !c.better(v, next, down, more > part)) {
		next = nil
	}
	if next != nil {
		room -= next.fresh(v.nodes)
	}
	wide := c.optimistic(v.means, v.errors, all, z)
	if wide != nil && wide.fresh(v.nodes) <= room && c.better(v, wide, up, false) {
		up = wide
	}
	if next != nil {
		mean := make([]float64, all)
		for _, s := range []*solution{up, next} {
			for k, w := range s.mixture {
				mean[k] += float64(w / 2)
			}
		}
		up = &solution{mixture: mean, feasible: up.feasible}
	}
	return down, up
}

// fresh is the number of candidates in the mixture, which follow the nodes.
func (s *solution) fresh(nodes int) (n int) {
	for _, w := range s.mixture[min(nodes, len(s.mixture)):] {
		if w > 0 {
			n++
		}
	}
	return n
}

// better reports whether a mixture of more points promises enough above one of fewer, or holds the
// hard guardrails where that does not, or with more caution.
func (c *Learner) better(v *view, wide, narrow *solution, safer bool) bool {
	if wide.feasible != narrow.feasible || wide.feasible && safer {
		return wide.feasible
	}
	return wide.value-narrow.value > max(c.options.Tolerance, float64(leastGain*c.spread(v)))
}

// spread is the range of the values of the nodes that have been served.
func (c *Learner) spread(v *view) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for k := range v.served {
		if f := c.value(v.means.Arm(k)); vec.IsFinite(f) {
			low, high = min(low, f), max(high, f)
		}
	}
	return max(high-low, 0)
}

// overNodes is a mixture of the points of a view as one of the nodes.
func (c *Learner) overNodes(v *view, s *solution) []float64 {
	p, sum := make([]float64, len(c.s.Points)), 0.0
	for k, w := range s.mixture {
		if w > 0 {
			p[v.numbers[k]] += w
			sum += w
		}
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// measure sets the gap and the share of the mixture to learn by.
func (c *Learner) measure(v *view, down *solution) {
	c.s.Gap, c.s.Share = math.Inf(1), 0.5
	if !down.feasible {
		return
	}
	most := c.optimistic(v.means, v.errors, v.means.Arms(), c.options.Optimism)
	if most == nil || !most.feasible {
		return
	}
	theta := make([]float64, v.means.Metrics())
	for k, w := range down.mixture {
		for i, mean := range v.means.Arm(k) {
			theta[i] += float64(w * mean)
		}
	}
	c.s.Gap = max(most.value-c.value(theta), 0)
	c.s.Done = c.s.Done || c.options.Stop && c.s.Gap <= c.options.Tolerance
	if width := c.spread(v); width > 0 {
		c.s.Share = min(max(float64(c.options.Explore*(c.s.Gap/width)), c.options.LeastShare), 0.5)
	}
}

// safeShare is the largest share, at most 1, that the mixture up may have beside down such that the
// sum holds the hard guardrails, by the surfaces moved against them by servedCaution standard
// errors at each point.
func (c *Learner) safeShare(v *view, down, up *solution) float64 {
	share := 1.0
	if c.hard == nil || !down.feasible {
		return share
	}
	for i := range c.hard.Metrics() {
		m := &c.hard.Metrics()[i]
		if !m.Hard {
			continue
		}
		slack := func(s *solution) (sum float64) {
			for k, w := range s.mixture {
				margin := float64(c.sign[i]*(v.means.Arm(k)[i]-m.Limit())) - float64(servedCaution*v.errors.Arm(k)[i])
				sum += float64(w * margin)
			}
			return sum
		}
		if a, b := slack(down), slack(up); b < 0 {
			share = min(share, max(a, 0)/(max(a, 0)-b))
		}
	}
	return share
}
