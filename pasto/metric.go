package pasto

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Direction says which way a metric should go.
type Direction int

const (
	// Up is a metric of which more is better; the zero value.
	Up Direction = iota
	// Down is a metric of which less is better.
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
	// Primary is a metric to improve; the zero value.
	Primary Role = iota
	// Guardrail is a metric that must not pass its threshold.
	Guardrail
	// Report is a metric that is only watched: it has no part in the objective.
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

// Metric describes one number that is measured for every group of units: data, so that a definition
// can be read from a file. The value of an arm is its mean per unit; a ratio such as clicks per
// impression is not linear in the mixture and must be given as numerator − c·denominator with
// threshold 0.
type Metric struct {
	// Name is unique among the metrics of an objective.
	Name string `json:"name"`
	// Direction is the good one. A guardrail that goes Up demands value ≥ Threshold, one that goes
	// Down value ≤ Threshold.
	Direction Direction `json:"direction,omitempty"`
	// Role is Primary, Guardrail or Report.
	Role Role `json:"role,omitempty"`
	// Weight is that of a primary metric, at least 0; 0 means 1.
	Weight float64 `json:"weight,omitempty"`
	// Threshold is the guardrail's c, in the metric's units; with Relative a fraction: −0.02 is "2
	// % below the control".
	Threshold float64 `json:"threshold,omitempty"`
	// Relative makes the guardrail one against a concurrent control group: the objective then sees
	// the contrast y − (1 + Threshold)·y_control, which the learner forms of each observation and
	// its Control, and the threshold is 0.
	Relative bool `json:"relative,omitempty"`
	// Lambda is the price λ > 0 of the squared violation; 0 means 5, as in all of the paper's
	// experiments.
	Lambda float64 `json:"lambda,omitempty"`
	// Hard makes the guardrail absolute: a mixture beyond it by more than Slack has value −Inf, and
	// there is no price. Algorithms that follow gradients refuse it; the default and
	// [optimum.Maximize] take it.
	Hard bool `json:"hard,omitempty"`
	// Slack ≥ 0 is by how much a guardrail may be passed and still count as held, in the metric's
	// units; what solves for a mixture makes use of it. 0 is room for rounding only, as a sum of
	// shares times means seldom equals a threshold exactly: 1e-9 of the largest of |Threshold|,
	// |Lower| and |Upper|, and 1e-9 where these are all 0 or the guardrail is relative.
	Slack float64 `json:"slack,omitempty"`
	// Lower and Upper are the range of a unit's value, and so of a group's mean; both 0 means
	// unknown. Every learner refuses an observation outside; of a relative guardrail the range is
	// that of the raw values, of the arm's group and of the control's, not that of the contrast.
	Lower float64 `json:"lower,omitempty"`
	Upper float64 `json:"upper,omitempty"`
}

// Limit is the threshold of the value the objective sees: 0 for contrasts.
func (m *Metric) Limit() float64 {
	if m.Relative {
		return 0
	}
	return m.Threshold
}

// Tolerance is by how much the guardrail may be passed and still count as held: Slack, or room for
// rounding where that is 0.
func (m *Metric) Tolerance() float64 {
	if m.Slack > 0 {
		return m.Slack
	}
	if scale := max(math.Abs(m.Threshold), math.Abs(m.Lower), math.Abs(m.Upper)); scale > 0 && !m.Relative {
		return float64(1e-9 * scale)
	}
	return 1e-9
}

func (m *Metric) lambda() float64 {
	if m.Lambda == 0 {
		return 5
	}
	return m.Lambda
}

func (m *Metric) weight() float64 {
	if m.Weight == 0 {
		return 1
	}
	return m.Weight
}

// Admits reports whether y is in the declared range.
func (m *Metric) Admits(y float64) bool {
	return m.Lower == 0 && m.Upper == 0 || y >= m.Lower && y <= m.Upper
}

// Violation is how far value y is beyond the guardrail, at least 0.
func (m *Metric) Violation(y float64) float64 {
	return max(0, float64(m.Direction.Sign()*(m.Limit()-y)))
}

func (m *Metric) validate(i int) error {
	place := fmt.Sprintf("metrics[%d]", i)
	switch {
	case m.Name == "":
		return noregret.BadInputf(place, "it has no name")
	case m.Direction != Up && m.Direction != Down:
		return noregret.BadInputf(place, "direction %d of %q: want up or down", int(m.Direction), m.Name)
	case m.Role < Primary || m.Role > Report:
		return noregret.BadInputf(place, "role %d of %q: want primary, guardrail or report", int(m.Role), m.Name)
	case !(m.Weight >= 0) || math.IsInf(m.Weight, 1):
		return noregret.BadInputf(place,
			"weight %v of %q: want a finite number, at least 0 (else the objective is not "+
				"concave and "+
				"increasing)", m.Weight, m.Name)
	case !check.Finite(m.Threshold):
		return noregret.BadInputf(place, "threshold %v of %q: want a finite number", m.Threshold, m.Name)
	case !(m.Lambda >= 0) || math.IsInf(m.Lambda, 1):
		return noregret.BadInputf(place, "lambda %v of %q: want a finite number above 0, as a negative price of "+
			"violations is "+
			"not "+
			"concave", m.Lambda, m.Name)
	case !check.Finite(m.Lower) || !check.Finite(m.Upper) || m.Upper < m.Lower:
		return noregret.BadInputf(place, "range [%v, %v] of %q: want finite numbers in order", m.Lower, m.Upper, m.Name)
	case !(m.Slack >= 0) || math.IsInf(m.Slack, 1):
		return noregret.BadInputf(place, "slack %v of %q: want a finite number, at least 0", m.Slack, m.Name)
	case m.Role != Guardrail && (m.Hard || m.Relative):
		return noregret.BadInputf(place, "%q is hard or relative and no guardrail", m.Name)
	case m.Role != Guardrail && (m.Threshold != 0 || m.Lambda != 0 || m.Slack != 0):
		return noregret.BadInputf(place,
			"%q has a threshold of %v, a lambda of %v and a slack of %v and is no guardrail: leave "+
				"them out, or give it the role", m.Name, m.Threshold, m.Lambda, m.Slack)
	case m.Role != Primary && m.Weight != 0:
		return noregret.BadInputf(place, "%q has a weight of %v and is not primary: leave it out", m.Name, m.Weight)
	case m.Relative && !(math.Abs(m.Threshold) <= check.MostRelative):
		return noregret.BadInputf(place, "threshold %v of %q: want a fraction of the control's value, of size at "+
			"most %v",
			m.Threshold,
			m.Name, check.MostRelative)
	}
	return nil
}

func validateMetrics(metrics []Metric) error {
	if len(metrics) == 0 {
		return noregret.BadInputf("metrics", "none: want at least one")
	}
	seen := make(map[string]int, len(metrics))
	primaries := 0
	for i := range metrics {
		m := &metrics[i]
		if err := m.validate(i); err != nil {
			return err
		}
		if j, ok := seen[m.Name]; ok {
			return noregret.BadInputf(fmt.Sprintf("metrics[%d]", i), "the name %q is that of metrics[%d] too", m.Name,
				j)
		}
		seen[m.Name] = i
		if m.Role == Primary {
			primaries++
		}
	}
	if primaries == 0 {
		return noregret.BadInputf("metrics", "none of the %d is primary: want at least one to improve", len(metrics))
	}
	return nil
}

// ValidateNames refuses an empty list of arms and names that are empty or repeated.
func ValidateNames(arms []string) error {
	if len(arms) == 0 {
		return noregret.BadInputf("arms", "none: want at least one")
	}
	seen := make(map[string]int, len(arms))
	for i, a := range arms {
		if a == "" {
			return noregret.BadInputf(fmt.Sprintf("arms[%d]", i), "it has no name")
		}
		if j, ok := seen[a]; ok {
			return noregret.BadInputf(fmt.Sprintf("arms[%d]", i), "the name %q is that of arms[%d] too", a, j)
		}
		seen[a] = i
	}
	return nil
}
