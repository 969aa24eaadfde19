package experiment

import (
	"math"
	"time"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/policy"
)

func stamp(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// known is nil for a number that is not finite.
func known(v float64) *float64 {
	if !finite(v) {
		return nil
	}
	return &v
}

// Report makes the report of an experiment. It costs O(K·M) and the length of the history.
func (s *State) Report(name string) (*policy.Report, error) {
	x := s.live[name]
	if x == nil {
		return nil, notThere(name)
	}
	r := &policy.Report{
		Name: name, Description: x.def.Description, State: x.Status, Version: x.Version, Round: x.Round,
		Created: stamp(x.Created), Time: stamp(s.time),
		Mixture: x.shares(x.cohorts[len(x.cohorts)-1].Mixture), Arms: map[string]policy.ArmReport{},
		Feedback:   x.Feedback,
		Guardrails: []policy.GuardrailReport{}, Health: x.health(), History: []policy.HistoryPoint{},
		Notes: []policy.NoteReport{},
	}
	var regrets map[uint64]*float64
	r.Regret, regrets = x.regret()
	for k := range x.Arms {
		a := x.armReport(&x.Arms[k].Stats)
		a.Active, a.Control, a.Value = x.Arms[k].Active, k == x.Control, x.Arms[k].Value
		r.Arms[x.Arms[k].Name] = a
	}
	if x.def.HoldBack > 0 {
		h := x.armReport(&x.Held)
		h.Active, h.Control = true, true
		r.HoldBack = &h
	}
	for i := range x.Guards {
		r.Guardrails = append(r.Guardrails, x.guardrailReport(i))
	}
	for _, v := range x.thinned() {
		p := policy.HistoryPoint{
			Version: v.Version, Round: v.Round, Time: stamp(v.Time), Cause: v.Cause,
			Mixture: x.shares(v.Split.Shares()), Value: v.Value,
			Units: v.Seen, Metrics: map[string]*float64{}, Regret: regrets[v.Version],
		}
		for i, m := range v.Observed {
			p.Metrics[x.def.Metrics[i].Name] = m
		}
		r.History = append(r.History, p)
	}
	for _, n := range x.Notes {
		r.Notes = append(r.Notes, policy.NoteReport{Time: stamp(n.Time), Text: n.Text})
	}
	return r, nil
}

// thinned are the versions of a report: at most 256, fewer for many arms. The newer half are all
// that there were, the older half are spread evenly over the rest.
func (x *live) thinned() []*version {
	most := min(max(20_000/len(x.Arms), 32), 256)
	n := len(x.Versions)
	if n <= most {
		return x.Versions
	}
	half := most / 2
	var out []*version
	for i := range half {
		out = append(out, x.Versions[i*(n-half)/half])
	}
	return append(out, x.Versions[n-half:]...)
}

// shares is a mixture by name; arms without a share that are retired are left out.
func (x *live) shares(p []float64) map[string]float64 {
	out := make(map[string]float64, len(p))
	for k, v := range p {
		if v > 0 || x.Arms[k].Active {
			out[x.Arms[k].Name] = v
		}
	}
	return out
}

func (x *live) armReport(a *armStats) policy.ArmReport {
	const alpha = 0.05
	r := policy.ArmReport{N: a.Units, Metrics: map[string]policy.MetricReport{}}
	for i := range x.def.Metrics {
		var m policy.MetricReport
		if j := x.def.RatioIndex(i); j >= 0 {
			parts := x.def.Ratios()[j]
			ratio, low, high, ok := a.Pairs[j].IntervalWithin(alpha,
				[2]float64{x.lowest(parts.Numerator), x.highest(parts.Numerator)},
				[2]float64{x.lowest(parts.Denominator), x.highest(parts.Denominator)})
			if m.N = a.Pairs[j].N; ok {
				m.Mean, m.Low, m.High = known(ratio), known(low), known(high)
			}
		} else if s := &a.Metrics[i]; s.N > 0 {
			low, high := s.Interval(alpha, x.lowest(i), x.highest(i))
			m = policy.MetricReport{Mean: known(s.Mean), Low: known(low), High: known(high), N: s.N}
		}
		r.Metrics[x.def.Metrics[i].Name] = m
	}
	return r
}

func (x *live) guardrailReport(i int) policy.GuardrailReport {
	g, s := &x.def.Guardrails[i], &x.Guards[i]
	limit, up, relative, _ := g.Limit()
	r := policy.GuardrailReport{
		Metric: g.Metric, Limit: limit, State: s.State, Since: stamp(s.Since), Alpha: g.Alpha,
		Action: g.Action,
	}
	r.Kind = map[bool]string{true: "min", false: "max"}[up] + map[bool]string{true: "_change"}[relative]
	b := x.slack(g, x.cohorts[len(x.cohorts)-1].Mixture, nil)
	estimate, low, high := b.estimate, b.low, b.high
	if math.IsNaN(estimate) {
		return r
	}
	if !up {
		estimate, low, high = -estimate, -high, -low
	}
	// From the slack to the value: y = slack + limit; a change is slack/|control| + limit; a ratio
	// of means slack/denominator + limit.
	scale := 1.0
	if relative {
		scale = math.Abs(x.controlStats().Metrics[x.def.MetricIndex(g.Metric)].Mean)
	} else if j := x.def.RatioIndex(x.def.MetricIndex(g.Metric)); j >= 0 {
		scale = x.denominator(j)
	}
	if !(scale > 0) {
		return r
	}
	r.Estimate, r.Low, r.High = known(estimate/scale+limit), known(low/scale+limit), known(high/scale+limit)
	return r
}

// denominator is the mean of a ratio's denominator in the served mixture.
func (x *live) denominator(r int) float64 {
	sum := 0.0
	for k, p := range x.cohorts[len(x.cohorts)-1].Mixture {
		sum += float64(p * x.Arms[k].Stats.Pairs[r].Y)
	}
	return sum
}

// regret is the regret against the best single arm, and that per unit up to each version.
func (x *live) regret() (*policy.Regret, map[uint64]*float64) {
	means, seen := x.means()
	if means == nil {
		return nil, nil
	}
	r := &policy.Regret{}
	best, arm := math.Inf(-1), -1
	for k := range means {
		if v := x.goals.Value(means[k]); seen[k] && x.Arms[k].Active && v > best {
			best, arm = v, k
		}
	}
	if arm < 0 {
		return r, nil
	}
	r.BestSingle.Arm, r.BestSingle.Value = x.Arms[arm].Name, known(best)
	if v, ok := x.valueBy(x.cohorts[len(x.cohorts)-1].Mixture, means, seen); ok {
		r.Mixture = &v
	}
	sum, course := 0.0, make(map[uint64]*float64, len(x.Versions))
	for _, v := range x.Versions {
		units := v.Seen
		if c := x.cohortOf(v.Version); c != nil {
			for k := range c.Mixture {
				units += c.Stats[k].Units
			}
		}
		if value, ok := x.valueBy(v.Split.Shares(), means, seen); ok && units > 0 {
			sum += float64(value * float64(units))
			r.Units += units
			course[v.Version] = known(best - sum/float64(r.Units))
		}
	}
	if r.Units > 0 {
		average := sum / float64(r.Units)
		r.Average, r.PerUnit, r.Total = known(average), known(best-average),
			known(float64((best-average)*float64(r.Units)))
	}
	return r, course
}

// Optimum is the best mixture of the active arms by the means as they are known now, with a
// certificate: no mixture is better by more than its Gap. It is nil without an objective, with hard
// guardrails, or while nothing is known. What solves for it takes its time, and does not look at
// the state any more.
func (s *State) Optimum(name string) (solve func() (*optimum.Optimum, error), err error) {
	x := s.live[name]
	if x == nil {
		return nil, notThere(name)
	}
	means, seen := x.means()
	var arms []int
	for k := range means {
		if seen[k] && x.Arms[k].Active {
			arms = append(arms, k)
		}
	}
	if len(arms) == 0 || x.goals.HasHard() {
		return nil, nil
	}
	t, err := pasto.NewTable(len(arms), x.goals.Dim())
	if err != nil {
		return nil, err
	}
	for i, k := range arms {
		copy(t.Arm(i), means[k])
	}
	goals, all := x.goals, len(x.Arms)
	return func() (*optimum.Optimum, error) {
		o, err := optimum.Maximize(goals, t, optimum.Options{Tolerance: 1e-6, Iterations: 10_000})
		if err != nil {
			return nil, err
		}
		p := make([]float64, all)
		for i, k := range arms {
			p[k] = o.Mixture[i]
		}
		o.Mixture = p
		return o, nil
	}, nil
}
