package experiment

import (
	"encoding"
	"slices"

	"github.com/noregret/noregret"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/box"
	"github.com/noregret/noregret/pasto/confident"
)

// Maker makes the mixture of the arms that a policy may choose among. Its arms are numbered on
// their own: the control arm with its fixed share is not among them. A Maker is deterministic: no
// clock, no randomness of its own.
type Maker interface {
	// Mixture is the distribution to serve, over all arms, retired ones with 0. Do not write to it.
	Mixture() []float64
	// Observe ends a round with what each arm's units have shown: an observation for each arm with
	// data, Size units each. What breaks a rule is refused and changes nothing.
	Observe(round []pasto.Observation) error
	// AddArm adds an arm at the end, RetireArm takes one out for good.
	AddArm() error
	RetireArm(k int) error
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// pointer is a Maker that chooses its arms itself, as points of a box.
type pointer interface {
	Arms() int
	Point(k int) []float64
}

// newMaker makes the maker of a definition for so many arms; split are the fixed policy's shares.
func newMaker(d *Definition, arms int, split []float64) (Maker, error) {
	if d.Policy.Kind == "fixed" {
		return &fixed{split}, nil
	}
	f, err := d.goals()
	if err != nil {
		return nil, err
	}
	if d.Arms.Box != nil {
		_, low, high := d.sides()
		c, err := box.New(f, low, high,
			box.Options{Nodes: int(d.Arms.Nodes), Every: int(d.Arms.Every)})
		if err != nil {
			return nil, err
		}
		return &boxed{learned{Learner: c}, c}, nil
	}
	if d.Drift.Kind == "none" {
		c, err := confident.New(f, arms, confident.Options{})
		if err != nil {
			return nil, err
		}
		return &learned{c, c.AddArm, c.RetireArm}, nil
	}
	o := ascent.PracticalOptions(arms)
	if o.Estimator = ascent.DiscountedMeans(d.Drift.Rate); d.Drift.Kind == "window" {
		o.Estimator = ascent.WindowMeans(int(d.Drift.Rounds))
	}
	a, err := ascent.New(f, arms, o)
	if err != nil {
		return nil, err
	}
	return &learned{a, a.AddArm, a.RetireArm}, nil
}

// learned is a learner of package pasto.
type learned struct {
	pasto.Learner
	add    func() (int, error)
	retire func(k int) error
}

// Mixture implements [Maker].
func (l *learned) Mixture() []float64 { return l.Serving() }

// AddArm implements [Maker].
func (l *learned) AddArm() error {
	_, err := l.add()
	return err
}

// RetireArm implements [Maker].
func (l *learned) RetireArm(k int) error { return l.retire(k) }

// boxed is a learner that chooses points of a box.
type boxed struct {
	learned
	c *box.Learner
}

// Point is where arm k is.
func (b *boxed) Point(k int) []float64 { return b.c.Point(k) }

// AddArm implements [Maker].
func (b *boxed) AddArm() error {
	return noregret.BadInputf("arm", "the points of a box are chosen by the policy")
}

// RetireArm implements [Maker].
func (b *boxed) RetireArm(int) error {
	return noregret.BadInputf("arm", "the points of a box are chosen by the policy")
}

// fixed is a mixture that never changes by itself.
type fixed struct{ p []float64 }

// Mixture implements [Maker].
func (f *fixed) Mixture() []float64 { return f.p }

// Observe implements [Maker].
func (f *fixed) Observe([]pasto.Observation) error { return nil }

// AddArm implements [Maker].
func (f *fixed) AddArm() error {
	f.p = append(slices.Clone(f.p), 0)
	return nil
}

// RetireArm implements [Maker]: what the arm had goes to the others in proportion, or, where it had
// everything, to the newest of the others.
func (f *fixed) RetireArm(k int) error {
	if k < 0 || k >= len(f.p) || len(f.p) < 2 {
		return noregret.BadInputf("arm", "%d is unknown, or the only one", k)
	}
	rest := 1 - f.p[k]
	p := slices.Clone(f.p)
	p[k] = 0
	if !(rest > 1e-9) {
		last := len(p) - 1
		if last == k {
			last--
		}
		p[last], rest = 1, 1
	}
	for i := range p {
		p[i] /= rest
	}
	f.p = p
	return nil
}

// MarshalBinary implements [Maker].
func (f *fixed) MarshalBinary() ([]byte, error) { return f64s(f.p).MarshalJSON() }

// UnmarshalBinary implements [Maker].
func (f *fixed) UnmarshalBinary(b []byte) error {
	var p f64s
	if err := p.UnmarshalJSON(b); err != nil {
		return err
	}
	if _, err := NewSplit(p); err != nil {
		return err
	}
	f.p = p
	return nil
}

// goals is the objective of package pasto: the goals, then each guardrail as a number that is to be
// at least 0 ([Guardrail] explains in which form).
func (d *Definition) goals() (*pasto.Goals, error) {
	if d.Objective == nil {
		return nil, noregret.BadInputf("objective", "there is none")
	}
	var metrics []pasto.Metric
	for _, g := range d.Objective.Goals {
		m := pasto.Metric{Name: "goal " + g.Metric, Weight: g.Weight}
		if d.metric(g.Metric).Direction == "down" {
			m.Direction = pasto.Down
		}
		metrics = append(metrics, m)
	}
	for i := range d.Guardrails {
		g := &d.Guardrails[i]
		metrics = append(metrics, pasto.Metric{
			Name: "guardrail " + itoa(i) + " " + g.Metric, Role: pasto.Guardrail,
			Lambda: g.Penalty, Hard: g.Hard,
		})
	}
	return pasto.NewGoals(metrics, d.Objective.Soft)
}

// vector is what the objective sees of an arm: its goals' means and its guardrails' slack. Control
// is nil without a control group. Ok is false where something is not known.
func (d *Definition) vector(dst []float64, a, control *armStats) bool {
	n := len(d.Objective.Goals)
	for i, g := range d.Objective.Goals {
		s := &a.Metrics[d.metricIndex(g.Metric)]
		if s.N == 0 {
			return false
		}
		dst[i] = s.Mean
	}
	for i := range d.Guardrails {
		z, ok := d.slack(&d.Guardrails[i], a, control)
		if !ok {
			return false
		}
		dst[n+i] = z
	}
	return true
}

// slack is by how much an arm holds a guardrail: y − c for a lower limit, c − y for an upper one,
// with numerator − c·denominator for a ratio, and c = control + change·|control| for a change.
func (d *Definition) slack(g *Guardrail, a, control *armStats) (z float64, ok bool) {
	limit, up, relative, _ := g.limit()
	m := d.metricIndex(g.Metric)
	if r := d.ratioIndex(m); r >= 0 {
		p := &a.Pairs[r]
		s := p.Contrast(limit)
		z, ok = s.Mean, p.N > 0
	} else {
		s := &a.Metrics[m]
		ok = s.N > 0
		if relative {
			if control == nil || control.Metrics[m].N == 0 {
				return 0, false
			}
			limit = ofControl(control.Metrics[m].Mean, limit)
		}
		z = s.Mean - limit
	}
	if !up {
		z = -z
	}
	return z, ok
}
