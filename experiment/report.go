package experiment

import (
	"encoding/json"
	"math"
	"time"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// Report is how an experiment stands, in the form of the API (docs/formats/report.md). Numbers that
// are not known are null.
type Report struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	State       Status `json:"state"`
	Version     uint64 `json:"version"`
	Round       uint64 `json:"round"`
	// Created and Time are when the experiment and the last event were.
	Created time.Time `json:"created"`
	Time    time.Time `json:"time"`
	// Mixture are the exact shares by arm among units that are not held back.
	Mixture map[string]float64 `json:"mixture"`
	// Arms are by name, retired ones too.
	Arms map[string]ArmReport `json:"arms"`
	// HoldBack are the units held back, nil without.
	HoldBack   *ArmReport        `json:"hold_back,omitempty"`
	Feedback   Counts            `json:"feedback"`
	Guardrails []GuardrailReport `json:"guardrails"`
	Health     Health            `json:"health"`
	// Regret is nil without an objective.
	Regret *Regret `json:"regret"`
	// History are versions, the oldest first: at most 256, the older ones thinned out.
	History []HistoryPoint `json:"history"`
	// Notes are what happened last, the oldest first.
	Notes []NoteReport `json:"notes"`
}

// ArmReport is what is known of an arm.
type ArmReport struct {
	// N is the number of units exposed.
	N       int64                   `json:"n"`
	Active  bool                    `json:"active"`
	Control bool                    `json:"control"`
	Value   json.RawMessage         `json:"value,omitempty"`
	Metrics map[string]MetricReport `json:"metrics"`
}

// MetricReport is a mean with a 95 % confidence sequence, of N units; of a ratio, that of the
// means.
type MetricReport struct {
	Mean *float64 `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	N    int64    `json:"n"`
}

// GuardrailReport is a guardrail by the served mixture: the value that the limit is for (a change
// relative to the control arm for min_change and max_change), and its confidence sequence.
type GuardrailReport struct {
	Metric   string     `json:"metric"`
	Kind     string     `json:"kind"` // min, max, min_change or max_change
	Limit    float64    `json:"limit"`
	State    GuardState `json:"state"`
	Since    time.Time  `json:"since"`
	Estimate *float64   `json:"estimate"`
	Low      *float64   `json:"low"`
	High     *float64   `json:"high"`
	Alpha    float64    `json:"alpha"`
	Action   string     `json:"action"`
}

// Regret compares what was served with the best single arm, by the means as they are known now. The
// numbers are of the objective per unit; a negative regret is a gain.
type Regret struct {
	// BestSingle is the arm that would have been the best alone, and its value.
	BestSingle struct {
		Arm   string   `json:"arm"`
		Value *float64 `json:"value"`
	} `json:"best_single"`
	// Mixture is the value of the mixture served now, Average that of all that was served and is
	// kept.
	Mixture *float64 `json:"mixture"`
	Average *float64 `json:"average"`
	// PerUnit is BestSingle − Average, Total that times Units.
	PerUnit *float64 `json:"per_unit"`
	Total   *float64 `json:"total"`
	Units   int64    `json:"units"`
}

// HistoryPoint is a policy version: what it served and, once its window has closed, what it
// brought.
type HistoryPoint struct {
	Version uint64             `json:"version"`
	Round   uint64             `json:"round"`
	Time    time.Time          `json:"time"`
	Cause   string             `json:"cause"`
	Mixture map[string]float64 `json:"mixture"`
	// Value is the objective of the mixture by what was known then.
	Value *float64 `json:"value"`
	// Units and Metrics are what was observed under the version; 0 and null until its window has
	// closed.
	Units   int64               `json:"units"`
	Metrics map[string]*float64 `json:"metrics"`
	// Regret is by how much a unit would have been better off with the best single arm, on average
	// over all units so far, by the means as they are known now; null without an objective.
	Regret *float64 `json:"regret"`
}

// NoteReport is a [Note].
type NoteReport struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

func stamp(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// known is nil for a number that is not finite.
func known(v float64) *float64 {
	if !finite(v) {
		return nil
	}
	return &v
}

// Report makes the report of an experiment. It costs O(K·M) and the length of the history.
func (s *State) Report(name string) (*Report, error) {
	x := s.live[name]
	if x == nil {
		return nil, notThere(name)
	}
	r := &Report{
		Name: name, Description: x.def.Description, State: x.Status, Version: x.Version, Round: x.Round,
		Created: stamp(x.Created), Time: stamp(s.time),
		Mixture: x.shares(x.cohorts[len(x.cohorts)-1].Mixture), Arms: map[string]ArmReport{}, Feedback: x.Feedback,
		Guardrails: []GuardrailReport{}, Health: x.health(), History: []HistoryPoint{}, Notes: []NoteReport{},
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
		p := HistoryPoint{
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
		r.Notes = append(r.Notes, NoteReport{stamp(n.Time), n.Text})
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

func (x *live) armReport(a *armStats) ArmReport {
	const alpha = 0.05
	r := ArmReport{N: a.Units, Metrics: map[string]MetricReport{}}
	for i := range x.def.Metrics {
		var m MetricReport
		if j := x.def.ratioIndex(i); j >= 0 {
			ratio, low, high, ok := x.ratioInterval(&a.Pairs[j], j, alpha)
			if m.N = a.Pairs[j].N; ok {
				m.Mean, m.Low, m.High = known(ratio), known(low), known(high)
			}
		} else if s := &a.Metrics[i]; s.N > 0 {
			low, high := s.Interval(alpha, x.lowest(i), x.highest(i))
			m = MetricReport{known(s.Mean), known(low), known(high), s.N}
		}
		r.Metrics[x.def.Metrics[i].Name] = m
	}
	return r
}

// ratioInterval is X/Y with a confidence sequence. Where both parts have a range it is exact: the
// quotients of the two parts' sequences at alpha/2 each. Otherwise it is asymptotic, as
// [Pair.Interval].
func (x *live) ratioInterval(p *Pair, ratio int, alpha float64) (value, low, high float64, ok bool) {
	if value, low, high, ok = p.Interval(alpha); !ok {
		return value, low, high, ok
	}
	parts := x.def.ratios()[ratio]
	least, most := x.lowest(parts.numerator), x.highest(parts.numerator)
	bottom, top := x.lowest(parts.denominator), x.highest(parts.denominator)
	if !finite(least) || !finite(most) || !finite(bottom) || !finite(top) {
		return value, low, high, ok
	}
	a, b := boundedInterval(&Sequence{p.N, p.X, p.XX}, alpha/2, least, most)
	c, d := boundedInterval(&Sequence{p.N, p.Y, p.YY}, alpha/2, bottom, top)
	if !(c > 0) {
		return value, math.Inf(-1), inf(), ok
	}
	return value, min(a/c, a/d), max(b/c, b/d), ok
}

func (x *live) guardrailReport(i int) GuardrailReport {
	g, s := &x.def.Guardrails[i], &x.Guards[i]
	limit, up, relative, _ := g.limit()
	r := GuardrailReport{
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
		scale = math.Abs(x.controlStats().Metrics[x.def.metricIndex(g.Metric)].Mean)
	} else if j := x.def.ratioIndex(x.def.metricIndex(g.Metric)); j >= 0 {
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
func (x *live) regret() (*Regret, map[uint64]*float64) {
	means, seen := x.means()
	if means == nil {
		return nil, nil
	}
	r := &Regret{}
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
