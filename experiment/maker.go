package experiment

import (
	"encoding"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/box"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/policy"
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
func newMaker(d *definition.Definition, arms int, split []float64) (Maker, error) {
	if d.Policy.Kind == "fixed" {
		return &fixed{split}, nil
	}
	f, err := d.Goals()
	if err != nil {
		return nil, err
	}
	if d.Arms.Box != nil {
		_, low, high := d.Sides()
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
	if _, err := policy.NewSplit(p); err != nil {
		return err
	}
	f.p = p
	return nil
}

// vector is what the objective sees of an arm: its goals' means and its guardrails' slack. Control
// is nil without a control group. Ok is false where something is not known.
func goalVector(dst []float64, d *definition.Definition, a, control *armStats) bool {
	n := len(d.Objective.Goals)
	for i, g := range d.Objective.Goals {
		s := &a.Metrics[d.MetricIndex(g.Metric)]
		if s.N == 0 {
			return false
		}
		dst[i] = s.Mean
	}
	for i := range d.Guardrails {
		z, ok := guardSlack(d, &d.Guardrails[i], a, control)
		if !ok {
			return false
		}
		dst[n+i] = z
	}
	return true
}

// slack is by how much an arm holds a guardrail: y − c for a lower limit, c − y for an upper one,
// with numerator − c·denominator for a ratio, and c = control + change·|control| for a change.
func guardSlack(d *definition.Definition, g *definition.Guardrail, a, control *armStats) (z float64, ok bool) {
	limit, up, relative, _ := g.Limit()
	m := d.MetricIndex(g.Metric)
	if r := d.RatioIndex(m); r >= 0 {
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

// point is the arm of a point of the box.
func point(names []string, number int, x []float64) policy.Arm {
	var b strings.Builder
	for i, n := range names {
		b.WriteString([]string{"{", ","}[min(i, 1)])
		b.WriteString(strconv.Quote(n) + ":" + strconv.FormatFloat(x[i], 'g', -1, 64))
	}
	b.WriteString("}")
	return policy.Arm{Name: "point-" + strconv.Itoa(number+1), Value: json.RawMessage(b.String())}
}
