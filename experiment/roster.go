package experiment

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/policy"
)

// roster holds the definition and the arms, and reads their sums.
type roster struct {
	def         *definition.Definition
	goals       *pasto.Goals    // nil without an objective
	priced      *pasto.Goals    // the same with prices for hard guardrails, for reports
	learned     *pasto.Goals    // as the learner has it: of the arms' own means, or goals
	encoder     *policy.Encoder // of the context; nil unless the policy is contextual
	sums        *join.Joiner    // has the sums of the arms, which the roster only reads
	Arms        []armState      `json:"arms"`
	LearnedArms []int           `json:"learn"` // the learner's arms, as indices of Arms
	Control     int             `json:"control"`
	InitialArms int             `json:"founders"` // the number of arms at the beginning
	// EarlyContrasts are of the guardrails with a relative limit on a metric with a default.
	EarlyContrasts []earlyContrast `json:"early_contrasts,omitempty"`
}

// armStats are the statistics of an arm, or of a part of its traffic.
type armStats = compare.Stats

// armState is the state of an arm. Retired arms stay, so that indices never change.
type armState struct {
	policy.Arm
	Active bool  `json:"active"`
	Since  int64 `json:"since"` // units of all arms when it was added
	stopState
}

// push adds an arm, with the number of units of all arms so far.
func (x *roster) push(a policy.Arm, control bool, since int64) {
	k := len(x.Arms)
	x.Arms = append(x.Arms, armState{Arm: a, Active: true, Since: since})
	if control {
		x.Control = k
	}
	if x.learns(k) {
		x.LearnedArms = append(x.LearnedArms, k)
	}
}

// learns reports whether an arm is one of the learner's: all but a control arm with a fixed share
// under the policy pasto.
func (x *roster) learns(k int) bool {
	return k != x.Control || x.def.Policy.Kind != "pasto" || x.def.LearnsControl()
}

// relist lists the learner's arms anew, after a change of the definition.
func (x *roster) relist() {
	x.LearnedArms = nil
	for k := range x.Arms {
		if x.learns(k) {
			x.LearnedArms = append(x.LearnedArms, k)
		}
	}
}

// units returns the number of units that were exposed and not held back.
func (x *roster) units() (n int64) {
	for i := range x.sums.Arms {
		n += x.sums.Arms[i].Units
	}
	return n
}

// fixedSplit returns the shares of a fixed policy, by arm; retired arms have none.
func (x *roster) fixedSplit() []float64 {
	p := make([]float64, len(x.LearnedArms))
	if x.def.Policy.Kind != "fixed" {
		return p
	}
	for i, k := range x.LearnedArms {
		p[i] = x.def.Policy.Split[x.Arms[k].Name]
	}
	return p
}

// armChanges returns the arms that a definition adds and the indices of those that it removes.
func (x *roster) armChanges(d *definition.Definition) (added []policy.Arm, retired []int, err error) {
	arms, err := d.NamedArms()
	if err != nil {
		return nil, nil, err
	}
	have := make(map[string]int, len(x.Arms))
	for k := range x.Arms {
		have[x.Arms[k].Name] = k
	}
	wanted := make(map[string]bool, len(arms))
	for _, a := range arms {
		wanted[a.Name] = true
		k, ok := have[a.Name]
		switch {
		case !ok:
			added = append(added, a)
		case !x.Arms[k].Active:
			return nil, nil, noregret.BadInputf("arms",
				"%q was retired and cannot return: give the new arm a new name", a.Name)
		case !definition.SameValue(x.Arms[k].Value, a.Value):
			return nil, nil, noregret.BadInputf("arms",
				"%q has another value: an arm's value cannot change, give the new value a new name",
				a.Name)
		}
	}
	if n := len(x.Arms) + len(added); n > 2*definition.MaxArms {
		return nil, nil, noregret.BadInputf("arms",
			"there would have been %d arms in all, more than %d: make a new experiment", n,
			2*definition.MaxArms)
	}
	for k := range x.Arms {
		if box := d.Arms.Box != nil && k != x.Control; x.Arms[k].Active && !box && !wanted[x.Arms[k].Name] {
			retired = append(retired, k)
		}
	}
	return added, retired, nil
}

func (x *roster) controlStats() *armStats {
	if x.Control < 0 {
		return nil
	}
	return &x.sums.Arms[x.Control]
}

// denominator returns the mean of a ratio's denominator in the served mixture.
func (x *roster) denominator(ratio int, mixture []float64) float64 {
	sum := 0.0
	for k, p := range mixture {
		sum += float64(p * x.sums.Arms[k].Pairs[ratio].Y)
	}
	return sum
}

// allDenominators returns the mean of a ratio's denominator over all units.
func (x *roster) allDenominators(ratio int) float64 {
	var all confseq.Pair
	for k := range x.Arms {
		all.Merge(x.sums.Arms[k].Pairs[ratio])
	}
	return all.Y
}

// shares returns a mixture by name, without retired arms that have no share.
func (x *roster) shares(p []float64) map[string]float64 {
	out := make(map[string]float64, len(p))
	for k, v := range p {
		if v > 0 || x.Arms[k].Active {
			out[x.Arms[k].Name] = v
		}
	}
	return out
}

// armReport returns the report of an arm. The factors are those by which returning units raise the
// variance of each metric, nil for none.
func (x *roster) armReport(a *armStats, factors []float64) api.ArmReport {
	const alpha = 0.05
	in := &guardInput{roster: x, inflation: factors}
	r := api.ArmReport{N: a.Units, Metrics: map[string]api.MetricReport{}}
	for i := range x.def.Metrics {
		var m api.MetricReport
		if j := x.def.RatioIndex(i); j >= 0 {
			parts := x.def.Ratios()[j]
			p := deflatePair(a.Pairs[j], in.inflated(i))
			ratio, low, high, ok := p.IntervalWithin(alpha,
				[2]float64{x.def.Lowest(parts.Numerator), x.def.Highest(parts.Numerator)},
				[2]float64{x.def.Lowest(parts.Denominator), x.def.Highest(parts.Denominator)})
			if m.N = a.Pairs[j].N; ok {
				m.Mean, m.Low, m.High = known(ratio), known(low), known(high)
			}
		} else if s := &a.Metrics[i]; s.N > 0 && x.def.Privacy != nil {
			m = api.MetricReport{Mean: known(s.Mean), N: s.N}
		} else if s.N > 0 {
			d := deflate(*s, in.inflated(i))
			low, high := d.Interval(alpha, x.def.Lowest(i), x.def.Highest(i))
			m = api.MetricReport{Mean: known(s.Mean), Low: known(low), High: known(high), N: s.N}
		}
		r.Metrics[x.def.Metrics[i].Name] = m
	}
	return r
}

// guardSlack returns the slack of an arm in a guardrail: y − c for a lower limit, c − y for an
// upper one, with numerator − c·denominator for a ratio, and c = control + change·|control| for a
// change.
func guardSlack(d *definition.Definition, g *definition.Guardrail, a, control *armStats) (z, err float64, ok bool) {
	limit, up, relative, _ := g.Limit()
	m := d.MetricIndex(g.Metric)
	if r := d.RatioIndex(m); r >= 0 {
		p := &a.Pairs[r]
		if relative { // to the control's ratio
			if control == nil {
				return 0, 0, false
			}
			ratio, ok := control.Pairs[r].Ratio()
			if !ok {
				return 0, 0, false
			}
			limit = ofControl(ratio, limit)
		}
		s := p.Contrast(limit)
		z, err, ok = s.Mean, meanError(&s), p.N > 0
	} else {
		s := &a.Metrics[m]
		ok = s.N > 0
		if relative {
			if control == nil || control.Metrics[m].N == 0 {
				return 0, 0, false
			}
			limit = ofControl(control.Metrics[m].Mean, limit)
		}
		z, err = s.Mean-limit, meanError(s)
	}
	if !up {
		z = -z
	}
	return z, err, ok
}

// meanError returns the standard error of a mean, 0 for less than two values.
func meanError(s *confseq.Sequence) float64 {
	if s.N < 2 {
		return 0
	}
	return math.Sqrt(s.M2 / (float64(s.N) * float64(s.N-1)))
}

// priceUnit returns what the slack of a soft guardrail is divided by, so that its price is that of
// the definition: the size of the mean of a reference for a change or a limit of 0, and for another
// limit of a ratio that of the denominator's. It is 1 for hard guardrails, and while there is no
// mean but 0.
func priceUnit(d *definition.Definition, g *definition.Guardrail, reference *armStats) float64 {
	limit, _, relative, _ := g.Limit()
	m, unit := d.MetricIndex(g.Metric), 0.0
	r := d.RatioIndex(m)
	own := relative || limit == 0
	switch {
	case g.Hard || reference == nil || r < 0 && !own:
	case r < 0:
		unit = math.Abs(reference.Metrics[m].Mean)
	case own:
		unit = math.Abs(reference.Pairs[r].X)
	default:
		unit = math.Abs(reference.Pairs[r].Y)
	}
	if unit == 0 {
		return 1
	}
	return unit
}

// goalVector writes an arm's goal vector: the means of the goals and the slacks of the guardrails,
// those of soft ones in the units of their prices. Control is nil without a control group;
// reference has the means for these units, nil for none. It returns false if a value is unobserved.
func goalVector(dst []float64, d *definition.Definition, a, control, reference *armStats) bool {
	n := len(d.Objective.Goals)
	for i, g := range d.Objective.Goals {
		s := &a.Metrics[d.MetricIndex(g.Metric)]
		if s.N == 0 {
			return false
		}
		dst[i] = s.Mean
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		z, _, ok := guardSlack(d, g, a, control)
		if !ok {
			return false
		}
		dst[n+i] = z / priceUnit(d, g, reference)
	}
	return true
}

// Columns of a snapshot.
type (
	u64s = column.Uint64s
	f64s = column.Float64s
)
