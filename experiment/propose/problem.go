package propose

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/internal/vec"
)

// Problem says what a policy is to propose shares for. Arm 0 is the control.
type Problem struct {
	// Arms has one entry for each arm of the store, the control first.
	Arms []Arm
	// Metrics has one entry for each metric of the store.
	Metrics []Metric
	// Goals are to be improved; there is at least one.
	Goals []Goal
	// Soft is the b ≥ 0 of the soft minimum −(1/b)·ln Σ exp(−b·w·x) of the goals; 0 is their sum.
	Soft float64
	// Guardrails are limits.
	Guardrails []Guardrail
	// Control is the least share of the control, in [0, 1].
	Control float64
	// NoControl says that arm 0 is an arm like all others: they are compared with the pool of them.
	// It implies HoldDeployed.
	NoControl bool
	// HoldDeployed says that hard guardrails are to hold in what would be deployed only.
	HoldDeployed bool
	// Memory is the number of rounds that all estimates remember; 0 lets the store's memories
	// decide, and AllRounds takes all.
	Memory int
	// Floor is the share of what is served that is spread evenly over the arms, as far as the hard
	// guardrails let it, in [0, 1].
	Floor float64
}

// AllRounds is the [Problem.Memory] of all rounds.
const AllRounds = -1

// Rule is that of the estimates in the problem's memory.
func (p *Problem) Rule() compare.Rule {
	switch {
	case p.Memory == AllRounds:
		return compare.All
	case p.Memory > 0:
		return compare.Fixed
	}
	return compare.Bank
}

// Arm says what a problem has on an arm.
type Arm struct {
	// Most is the largest share of the arm, in [0, 1]. That of the control is not used.
	Most float64
	// Retired arms get nothing.
	Retired bool
}

// Metric says what a problem has on a metric.
type Metric struct {
	Name string
	// Ratio reports whether the metric is a ratio, whose units have two parts.
	Ratio bool
	// Lower and Upper are the range of a unit's value; both 0 if it is unknown. A ratio has none.
	Lower, Upper float64
	// Event is the size of one event of a metric without a range, or of the part above the line of
	// a ratio; 0 if it is unknown. While no two units differ, it says how much one more may.
	Event float64
}

// HasRange reports whether the range of the metric is known.
func (m *Metric) HasRange() bool { return m.Lower != 0 || m.Upper != 0 }

// Goal is a metric to improve. For a ratio it is the ratio's change to first order at the control.
type Goal struct {
	// Metric is its index.
	Metric int
	// Down says that less is better.
	Down bool
	// Weight is above 0.
	Weight float64
}

// Guardrail is a limit of a metric.
type Guardrail struct {
	// Metric is its index.
	Metric int
	// Down makes it an upper limit.
	Down bool
	// Limit is in the metric's units or, with Relative, a fraction of the control's mean: −0.02 is
	// 2 % below it.
	Limit float64
	// Relative compares with the control.
	Relative bool
	// Hard guardrails hold in what is proposed; others have a price.
	Hard bool
	// Price is the λ > 0 of a soft guardrail: λ times the square of the mixture's violation is
	// subtracted from the goals. The violation is in units of the limit, or of the control's mean
	// where the limit is relative or 0.
	Price float64
	// Absolute says that the violation is in the metric's own units instead.
	Absolute bool
}

// Sign is +1 for a lower limit and −1 for an upper one.
func (g *Guardrail) Sign() float64 { return sign(g.Down) }

// Sign is +1 where more is better and −1 where less is.
func (g *Goal) Sign() float64 { return sign(g.Down) }

func sign(down bool) float64 {
	if down {
		return -1
	}
	return 1
}

// Validate returns an error of code bad_input if the problem makes no sense.
func (p *Problem) Validate() error {
	if len(p.Arms) < 1 {
		return noregret.BadInputf("arms", "none: want at least one, the control first")
	}
	if !slices.ContainsFunc(p.Arms, func(a Arm) bool { return !a.Retired }) {
		return noregret.BadInputf("arms", "all are retired: want one that can be served")
	}
	if len(p.Goals) == 0 {
		return noregret.BadInputf("goals", "none: want at least one")
	}
	if p.Arms[0].Retired && !p.NoControl {
		return noregret.BadInputf("arms[0]", "the control is retired: want a control that can be served")
	}
	share := func(place string, v float64) error {
		if !(v >= 0 && v <= 1) {
			return noregret.BadInputf(place, "%v: want a share from 0 to 1", v)
		}
		return nil
	}
	for i := range p.Arms {
		if err := share(fmt.Sprintf("arms[%d].most", i), p.Arms[i].Most); err != nil {
			return err
		}
	}
	if p.Memory != 0 && p.Memory != AllRounds && (p.Memory < compare.LeastFixed || p.Memory > compare.MostFixed) {
		return noregret.BadInputf("memory", "%d rounds: want %d to %d", p.Memory, compare.LeastFixed, compare.MostFixed)
	}
	if err := share("control", p.Control); err != nil {
		return err
	}
	if err := share("floor", p.Floor); err != nil {
		return err
	}
	if !(p.Soft >= 0) || math.IsInf(p.Soft, 1) {
		return noregret.BadInputf("soft", "%v: want a finite number, at least 0", p.Soft)
	}
	for i := range p.Metrics {
		if e := p.Metrics[i].Event; !(e >= 0 && e <= math.MaxFloat64) {
			return noregret.BadInputf(fmt.Sprintf("metrics[%d]", i), "an event of size %v: want a finite number, at "+
				"least 0", e)
		}
		if m := &p.Metrics[i]; !vec.IsFinite(m.Lower) || !vec.IsFinite(m.Upper) || m.Lower > m.Upper {
			return noregret.BadInputf(fmt.Sprintf("metrics[%d]", i), "range [%v, %v]: want finite numbers in order",
				m.Lower, m.Upper)
		}
	}
	for i := range p.Goals {
		g := &p.Goals[i]
		place := fmt.Sprintf("goals[%d]", i)
		if g.Metric < 0 || g.Metric >= len(p.Metrics) {
			return noregret.BadInputf(place, "metric %d: want one of the %d metrics, from 0 on", g.Metric,
				len(p.Metrics))
		}
		if !(g.Weight > 0) || math.IsInf(g.Weight, 1) {
			return noregret.BadInputf(place, "weight %v: want a finite number above 0", g.Weight)
		}
	}
	for i := range p.Guardrails {
		if err := p.Guardrails[i].validate(fmt.Sprintf("guardrails[%d]", i), len(p.Metrics)); err != nil {
			return err
		}
	}
	return nil
}

func (g *Guardrail) validate(place string, metrics int) error {
	switch {
	case g.Metric < 0 || g.Metric >= metrics:
		return noregret.BadInputf(place, "metric %d: want one of the %d metrics, from 0 on", g.Metric, metrics)
	case !vec.IsFinite(g.Limit):
		return noregret.BadInputf(place, "limit %v: want a finite number", g.Limit)
	case !g.Hard && (!(g.Price > 0) || math.IsInf(g.Price, 1)):
		return noregret.BadInputf(place, "price %v of a soft guardrail: want a finite number above 0", g.Price)
	}
	return nil
}

// Store returns an empty store for the problem.
func (p *Problem) Store() (*compare.Store, error) {
	metrics := make([]compare.Metric, len(p.Metrics))
	for i := range metrics {
		metrics[i].Ratio, metrics[i].Width = p.Metrics[i].Ratio, p.Metrics[i].Event
		if x := &p.Metrics[i]; !x.Ratio && x.HasRange() && !math.IsInf(x.Upper-x.Lower, 1) {
			metrics[i].Width = x.Upper - x.Lower
		}
	}
	create := compare.New
	if p.NoControl {
		create = compare.NewFree
	}
	s, err := create(len(p.Arms), metrics)
	if err == nil && p.Memory > 0 {
		err = s.Fix(p.Memory)
	}
	return s, err
}

// Check returns an error if a store is not one of the problem.
func (p *Problem) Check(s *compare.Store) error {
	if s.Arms() != len(p.Arms) || s.Metrics() != len(p.Metrics) {
		return noregret.BadInputf("store", "%d arms and %d metrics: want %d and %d", s.Arms(), s.Metrics(), len(p.Arms),
			len(p.Metrics))
	}
	if s.Free() != p.NoControl {
		return noregret.BadInputf("store", "of a problem that has a control, or has none: want one of this problem")
	}
	if p.Memory > 0 && s.Fixed() != p.Memory {
		return noregret.BadInputf("store", "a memory of %d rounds: want %d", s.Fixed(), p.Memory)
	}
	return nil
}
