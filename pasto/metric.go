package pasto

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Direction says which way a metric should go.
type Direction int

const (
	// Up says that more is better. It is the zero value.
	Up Direction = iota
	// Down says that less is better.
	Down
)

// Sign is +1 for Up and −1 for Down.
func (d Direction) Sign() float64 {
	if d == Down {
		return -1
	}
	return 1
}

// String is "up" or "down".
func (d Direction) String() string {
	if d == Down {
		return "down"
	}
	return "up"
}

// MarshalText implements [encoding.TextMarshaler].
func (d Direction) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Direction) UnmarshalText(text []byte) error {
	switch string(text) {
	case "up":
		*d = Up
	case "down":
		*d = Down
	default:
		return noregret.BadInputf("direction", "%q: want up or down", text)
	}
	return nil
}

// Role says what a metric is for.
type Role int

const (
	// Primary is a metric to improve. It is the zero value.
	Primary Role = iota
	// Guardrail is a metric that must stay on the good side of its threshold.
	Guardrail
	// Report is a metric that is measured only: it has no part in the objective.
	Report
)

var roles = [...]string{"primary", "guardrail", "report"}

// String is "primary", "guardrail" or "report".
func (r Role) String() string {
	if r < Primary || r > Report {
		return "unknown"
	}
	return roles[r]
}

// MarshalText implements [encoding.TextMarshaler].
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Role) UnmarshalText(text []byte) error {
	for i, name := range roles {
		if name == string(text) {
			*r = Role(i)
			return nil
		}
	}
	return noregret.BadInputf("role", "%q: want primary, guardrail or report", text)
}

// Metric describes a number that is measured for every group of units. It can be read from a JSON
// file; what the file leaves out is 0 here, and [Metric.EnsureDefaults] says what is used for it.
// The value of an arm is its mean per unit. A ratio such as clicks per impression is not linear in
// the mixture: give it as numerator − c·denominator with threshold 0.
type Metric struct {
	// Name is unique among the metrics of an objective.
	Name string `json:"name"`
	// Direction is the good one. A guardrail that goes Up requires value ≥ Threshold, one that goes
	// Down value ≤ Threshold.
	Direction Direction `json:"direction,omitempty"`
	// Role is Primary, Guardrail or Report.
	Role Role `json:"role,omitempty"`
	// Weight > 0 is the weight of a primary metric in the objective, 1 if left out.
	Weight float64 `json:"weight,omitempty"`
	// Threshold is the guardrail's c, in the metric's units. With Relative it is a fraction: −0.02
	// is 2 % below the control.
	Threshold float64 `json:"threshold,omitempty"`
	// Relative compares the guardrail with a concurrent control group: the objective then sees the
	// contrast y − c with c = y_control + Threshold·|y_control| ([Metric.Beside]), which the
	// learner forms from each observation and its Control, with threshold 0. So −0.02 is below the
	// control also where that is negative. A learner takes the control for negative in rounds in
	// which all values are; where noise leaves that open, make the control an arm of the learner.
	Relative bool `json:"relative,omitempty"`
	// Lambda > 0 is the price λ of the squared violation, 5 if left out, as in all of the paper's
	// experiments.
	Lambda float64 `json:"lambda,omitempty"`
	// Hard makes the guardrail absolute: a mixture that violates it by more than Slack has value
	// −Inf, and there is no price. Algorithms that follow gradients refuse hard guardrails; the
	// default learner and [optimum.Maximize] accept them.
	Hard bool `json:"hard,omitempty"`
	// Slack > 0 is the largest violation, in the metric's units, at which the guardrail still
	// counts as held; solvers make use of it. If it is left out it allows for rounding only, as a
	// sum of shares times means seldom equals a threshold exactly: 1e-9 of the largest of
	// |Threshold|, |Lower| and |Upper|, or 1e-9 if these are all 0 or the guardrail is relative.
	Slack float64 `json:"slack,omitempty"`
	// Lower and Upper are the range of a unit's value, and so of a group's mean. If both are left
	// out the range is unknown ([Metric.HasRange]). Every learner refuses an observation outside
	// the range. For a relative guardrail it applies to the raw values of the arm's group and of
	// the control group, not to their contrast.
	Lower float64 `json:"lower,omitempty"`
	Upper float64 `json:"upper,omitempty"`
}

// EnsureDefaults returns the metric with the values that it leaves out: Weight 1 for a primary
// metric, and for a guardrail [Metric.Tolerance] as its Slack and, unless it is hard, Lambda 5.
// [NewGoals] does so itself.
func (m Metric) EnsureDefaults() Metric {
	switch {
	case m.Role == Primary && m.Weight == 0:
		m.Weight = 1
	case m.Role == Guardrail:
		if m.Lambda == 0 && !m.Hard {
			m.Lambda = 5
		}
		m.Slack = m.Tolerance()
	}
	return m
}

// HasRange reports whether the range of the metric is known.
func (m *Metric) HasRange() bool { return m.Lower != 0 || m.Upper != 0 }

// Limit is the threshold for the value that the objective sees: 0 for contrasts.
func (m *Metric) Limit() float64 {
	if m.Relative {
		return 0
	}
	return m.Threshold
}

// Factor returns what a relative guardrail multiplies the control's value by: 1 + Threshold, or
// 1 − Threshold where that value is negative.
func (m *Metric) Factor(control float64) float64 {
	if control < 0 {
		return 1 - m.Threshold
	}
	return 1 + m.Threshold
}

// Beside returns the limit of a relative guardrail beside a control of the given value: c =
// y_control + Threshold·|y_control|, as the decision service has it.
func (m *Metric) Beside(control float64) float64 { return float64(m.Factor(control) * control) }

// Tolerance is the largest violation at which the guardrail still counts as held: Slack, or an
// allowance for rounding if that is left out.
func (m *Metric) Tolerance() float64 {
	if m.Slack > 0 {
		return m.Slack
	}
	if scale := max(math.Abs(m.Threshold), math.Abs(m.Lower), math.Abs(m.Upper)); scale > 0 && !m.Relative {
		return float64(1e-9 * scale)
	}
	return 1e-9
}

// Admits reports whether y is in the range, or no range is known.
func (m *Metric) Admits(y float64) bool {
	return !m.HasRange() || y >= m.Lower && y <= m.Upper
}

// Violation is the distance by which y misses the guardrail, 0 if y holds it.
func (m *Metric) Violation(y float64) float64 {
	return max(0, float64(m.Direction.Sign()*(m.Limit()-y)))
}

func (m *Metric) validate(i int) error {
	place := fmt.Sprintf("metrics[%d]", i)
	switch {
	case m.Name == "":
		return noregret.BadInputf(place, "no name")
	case m.Direction != Up && m.Direction != Down:
		return noregret.BadInputf(place, "direction %d of %q: want up or down", int(m.Direction), m.Name)
	case m.Role < Primary || m.Role > Report:
		return noregret.BadInputf(place, "role %d of %q: want primary, guardrail or report", int(m.Role), m.Name)
	case !(m.Weight >= 0) || math.IsInf(m.Weight, 1):
		return noregret.BadInputf(place, "weight %v of %q: want a finite number above 0, as the objective must "+
			"increase in it", m.Weight, m.Name)
	case !vec.IsFinite(m.Threshold):
		return noregret.BadInputf(place, "threshold %v of %q: want a finite number", m.Threshold, m.Name)
	case !(m.Lambda >= 0) || math.IsInf(m.Lambda, 1):
		return noregret.BadInputf(place, "lambda %v of %q: want a finite number above 0, as the objective must "+
			"be concave", m.Lambda, m.Name)
	case !vec.IsFinite(m.Lower) || !vec.IsFinite(m.Upper) || m.Upper < m.Lower:
		return noregret.BadInputf(place, "range [%v, %v] of %q: want finite numbers in order", m.Lower, m.Upper, m.Name)
	case !(m.Slack >= 0) || math.IsInf(m.Slack, 1):
		return noregret.BadInputf(place, "slack %v of %q: want a finite number, at least 0", m.Slack, m.Name)
	case m.Role != Guardrail && (m.Hard || m.Relative):
		return noregret.BadInputf(place, "%q is hard or relative: only a guardrail can be", m.Name)
	case m.Role != Guardrail && (m.Threshold != 0 || m.Lambda != 0 || m.Slack != 0):
		return noregret.BadInputf(place, "%q has threshold %v, lambda %v and slack %v, which only a guardrail has: "+
			"leave them out or make it a guardrail", m.Name, m.Threshold, m.Lambda, m.Slack)
	case m.Role != Primary && m.Weight != 0:
		return noregret.BadInputf(place, "%q has weight %v, which only a primary metric has: leave it out", m.Name,
			m.Weight)
	case m.Relative && !(math.Abs(m.Threshold) <= check.MostRelative):
		return noregret.BadInputf(place, "threshold %v of %q: want a fraction of the control's value, from -%v to %v",
			m.Threshold, m.Name, check.MostRelative, check.MostRelative)
	}
	return nil
}

func validateMetrics(metrics []Metric) error {
	if len(metrics) == 0 {
		return noregret.BadInputf("metrics", "none: at least one is required")
	}
	seen := make(map[string]int, len(metrics))
	primaries := 0
	for i := range metrics {
		m := &metrics[i]
		if err := m.validate(i); err != nil {
			return err
		}
		if j, ok := seen[m.Name]; ok {
			return noregret.BadInputf(fmt.Sprintf("metrics[%d]", i), "duplicate name %q: metrics[%d] has it", m.Name, j)
		}
		seen[m.Name] = i
		if m.Role == Primary {
			primaries++
		}
	}
	if primaries == 0 {
		return noregret.BadInputf("metrics", "none of the %d is primary: at least one is required", len(metrics))
	}
	return nil
}

// ValidateNames returns an error if there are no arms, or a name is empty or repeated.
func ValidateNames(arms []string) error {
	if len(arms) == 0 {
		return noregret.BadInputf("arms", "none: at least one is required")
	}
	seen := make(map[string]int, len(arms))
	for i, a := range arms {
		if a == "" {
			return noregret.BadInputf(fmt.Sprintf("arms[%d]", i), "no name")
		}
		if j, ok := seen[a]; ok {
			return noregret.BadInputf(fmt.Sprintf("arms[%d]", i), "duplicate name %q: arms[%d] has it", a, j)
		}
		seen[a] = i
	}
	return nil
}
