package report

import (
	"math"
	"slices"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
)

// Uniform compares what was served with the uniform policy, which gives all arms that a unit
// allows the same share, from the units that were served (Horvitz and Thompson 1952). A unit that
// allowed K arms and had the arm k by the probability p_k > 0, given these arms, with the reward r
// has the weight w = 1/(K·p_k), and
//
//	uniform: the mean of c + w·(r − c)
//	gain:    the mean of (1 − w)·(r − c)
//
// over the units with a reward are unbiased for the value of the uniform policy and for what was
// gained over it, for each c that does not depend on the version's rewards, since w has the mean 1.
// With c near the rewards' mean they vary least. Versions in which some arm had no share, or less
// than leastExpected expected units, say little about the uniform policy and are left out: in most
// of these, the arm would have no unit, and in the others one of a large weight. Where the policy
// is contextual, p_k is the unit's own, in its context, and each arm has a share if the kind of
// policy gives it one in all contexts: lin-ucb does with an exploration floor only. The mean of w
// over the units with a reward is reported: it is 1 up to chance if these are a fair sample of all.
type Uniform struct {
	Units   int64         `json:"units"`   // of all matured versions
	Covered int64         `json:"covered"` // of those that count
	Goals   []UniformGoal `json:"goals"`
}

// leastExpected is the least expected number of units of an arm in a version that counts.
const leastExpected = 10

// UniformGoal holds the sums of a goal's metric over the covered versions.
type UniformGoal struct {
	Metric  string           `json:"metric"`
	Served  confseq.Sequence `json:"served"`
	Uniform confseq.Sequence `json:"uniform"`
	Gain    confseq.Sequence `json:"gain"`
	// Weight is Σ w.
	Weight float64 `json:"weight"`
}

// Copy returns a copy that shares nothing with x.
func (x *Uniform) Copy() *Uniform {
	if x == nil {
		return nil
	}
	y := *x
	y.Goals = slices.Clone(x.Goals)
	return &y
}

// goal returns the sums of a metric.
func (x *Uniform) goal(metric string) *UniformGoal {
	i := slices.IndexFunc(x.Goals, func(g UniformGoal) bool { return g.Metric == metric })
	if i < 0 {
		i = len(x.Goals)
		x.Goals = append(x.Goals, UniformGoal{Metric: metric})
	}
	return &x.Goals[i]
}

// Close returns the sums with those of a version whose window has closed; x may be nil, before the
// first version with units. Planned are the arms that may get a share, by index. It does nothing
// without an objective, or where the points of a box come and go.
func (x *Uniform) Close(d *definition.Definition, c *join.Version, planned func(k int) bool) *Uniform {
	if d.Objective == nil || d.Arms.Box != nil {
		return x
	}
	units, arms, covered := int64(0), 0, spreads(d, c)
	for k, p := range c.Mixture {
		units += c.Stats[k].Units
		if p > 0 || planned(k) {
			arms++
			covered = covered && p > 0
		}
	}
	if units == 0 {
		return x
	}
	u := x
	if u == nil {
		u = &Uniform{}
	}
	u.Units += units
	rows := c.Contextual() || c.Masks != nil
	// Of sums it is not known which arms their units allowed.
	if rows && !d.Contextual() && c.Sums.Units > 0 {
		covered = false
	}
	if !covered || slices.Min(c.Expected()) < leastExpected*(1-1e-9) {
		return u
	}
	u.Covered += units
	for _, g := range d.Objective.Goals {
		m := d.MetricIndex(g.Metric)
		sums := u.goal(g.Metric)
		centre := sums.centre(d, m)
		if rows {
			sums.addRows(c, m, d.Metrics[m].Default, arms, centre)
		} else {
			sums.add(c, m, arms, centre)
		}
	}
	return u
}

// spreads reports whether a version of the experiment gave each of its arms a share in every
// context.
func spreads(d *definition.Definition, c *join.Version) bool {
	return !c.Contextual() || d.Policy.Kind != policy.LinUCB || d.ExplorationFloor > 0
}

// centre returns the number c for the next version of a goal: the mean of the versions before, or
// the middle of the metric's range, or 0.
func (g *UniformGoal) centre(d *definition.Definition, metric int) float64 {
	if g.Served.N > 0 {
		return g.Served.Mean
	}
	low, high := d.Lowest(metric), d.Highest(metric)
	if vec.IsFinite(low) && vec.IsFinite(high) {
		return low + float64(0.5*(high-low))
	}
	return 0
}

// add adds the units of a version. It adds nothing if the sums would leave the range of float64.
func (g *UniformGoal) add(c *join.Version, metric, arms int, centre float64) {
	next, fits := *g, true
	merge := func(to *confseq.Sequence, s confseq.Sequence) {
		merged, ok := to.Merged(s)
		*to, fits = merged, fits && ok
	}
	for k, p := range c.Mixture {
		s := &c.Stats[k].Metrics[metric]
		if !(p > 0) || s.N == 0 {
			continue
		}
		w := 1 / float64(float64(arms)*p)
		merge(&next.Served, *s)
		merge(&next.Uniform, affine(s, w, float64((1-w)*centre)))
		merge(&next.Gain, affine(s, 1-w, -float64((1-w)*centre)))
		next.Weight += float64(w * float64(s.N))
	}
	if fits {
		*g = next
	}
}

// addRows adds the units of a version that decided by contexts, or among some arms.
func (g *UniformGoal) addRows(c *join.Version, metric int, missing *float64, arms int, centre float64) {
	next := *g
	for at, r := range c.Rows() {
		v, ok := r.Values[metric], r.Has(metric)
		if !ok && missing != nil {
			v, ok = *missing, true
		}
		if !ok || !r.Seen() || r.Slot() == len(c.Mixture) {
			continue
		}
		p, among := c.ChanceOf(at, r, arms)
		if !(p > 0) {
			continue
		}
		w := 1 / float64(float64(among)*p)
		next.Weight += w
		for _, s := range []struct {
			to *confseq.Sequence
			v  float64
		}{
			{&next.Served, v},
			{&next.Uniform, centre + float64(w*(v-centre))},
			{&next.Gain, float64((1 - w) * (v - centre))},
		} {
			if s.to.Add(s.v) != nil {
				return // the sums would leave the range of float64
			}
		}
	}
	*g = next
}

// affine returns the sequence of a·x + b for the observations x of s.
func affine(s *confseq.Sequence, a, b float64) confseq.Sequence {
	out := confseq.Sequence{N: s.N, Mean: float64(a*s.Mean) + b, M2: float64(a * a * s.M2)}
	out.Low, out.High = float64(a*s.Low)+b, float64(a*s.High)+b
	if a < 0 {
		out.Low, out.High = out.High, out.Low
	}
	return out
}

// Report returns the comparison with the uniform policy, nil without an objective or where the
// points of a box come and go.
func (x *Uniform) Report(d *definition.Definition, inflation compare.Inflation) *api.UniformReport {
	const alpha = 0.05
	if d.Objective == nil || d.Arms.Box != nil {
		return nil
	}
	out := &api.UniformReport{Goals: []api.UniformGoal{}}
	u := x
	if u == nil {
		u = &Uniform{}
	}
	out.Units, out.Covered = u.Units, u.Covered
	for _, g := range d.Objective.Goals {
		m := d.MetricIndex(g.Metric)
		i := slices.IndexFunc(u.Goals, func(s UniformGoal) bool { return s.Metric == g.Metric })
		goal := api.UniformGoal{Metric: g.Metric}
		if i >= 0 && u.Goals[i].Served.N > 0 {
			interval := func(s confseq.Sequence, low, high float64) api.Interval {
				q := compare.Deflate(s, inflation.Of(d, m))
				from, to := q.Interval(alpha, low, high)
				return guard.Interval(s.Mean, from, to)
			}
			s := &u.Goals[i]
			goal.MeanWeight = known(s.Weight / float64(s.Served.N))
			goal.Served = interval(s.Served, d.Lowest(m), d.Highest(m))
			goal.Uniform = interval(s.Uniform, math.Inf(-1), math.Inf(1))
			goal.Gain = interval(s.Gain, math.Inf(-1), math.Inf(1))
		}
		out.Goals = append(out.Goals, goal)
	}
	return out
}
