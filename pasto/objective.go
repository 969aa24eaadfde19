package pasto

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/pasto/internal/check"
)

// Directed is an objective that knows the good direction of each metric: +1 or −1. For other
// objectives larger is better in every metric.
type Directed interface{ Sign(metric int) float64 }

// Sign implements [Directed].
func (g *Goals) Sign(metric int) float64 { return g.metrics[metric].Direction.Sign() }

// Harden returns g with exactly those guardrails hard for which hard reports true.
func (g *Goals) Harden(hard func(*Metric) bool) *Goals {
	metrics := slices.Clone(g.given)
	for i := range metrics {
		metrics[i].Hard = metrics[i].Role == Guardrail && hard(&g.given[i])
	}
	return newGoals(metrics, g.soft)
}

// Objective is a concave function f of the metric means θ = μp of a mixture p. It is a
// pure function; the methods may be called concurrently unless a type says otherwise.
type Objective interface {
	// Dim is M, the number of metrics.
	Dim() int
	// Value is f(θ), for θ of length Dim; −Inf where a hard guardrail is broken.
	Value(theta []float64) float64
	// Gradient writes ∇f(θ) to dst, which must not be theta. Hard guardrails have no part in it.
	Gradient(dst, theta []float64)
	// Constants are bounds on the box [lower, upper]: lipschitz G_f ≥ ‖∇f‖₂, and smooth L_f with
	// ‖∇f(a) − ∇f(b)‖₂ ≤ L_f·‖a − b‖₂.
	Constants(lower, upper []float64) (lipschitz, smooth float64)
	// Validate returns an error if the function cannot be used.
	Validate() error
}

// Goals is the objective made of metrics: a weighted sum or, with softness b > 0, a soft minimum of
// the primary metrics, and guardrails with a price or hard:
//
//	f(θ) = Σ_a w_a·x_a − Σ_j λ_j·v_j²   or
//	f(θ) = −(1/b)·ln Σ_a exp(−b·w_a·x_a) − Σ_j λ_j·v_j²,
//
// where x_a is the primary metric in its good direction and v_j = (c_j − y_j)₊ the violation of the
// guardrail: a value equal to c is no violation. With hard guardrails, f = −Inf where one of them
// is violated by more than its slack ([Metric.Slack]); guardrails with a price keep it. Value and
// Gradient cost O(M).
type Goals struct {
	given   []Metric // as the user gave them: what a snapshot compares
	metrics []Metric // with their defaults
	soft    float64
	slopes  []slope
}

// slope holds the derivative of f in one metric y: reward + price·(sign·(limit − y))₊.
type slope struct{ reward, price, sign, limit float64 }

// newGoals keeps the metrics, which are valid or are validated later.
func newGoals(given []Metric, soft float64) *Goals {
	g := &Goals{given, make([]Metric, len(given)), soft, make([]slope, len(given))}
	for i := range given {
		g.metrics[i] = given[i].EnsureDefaults()
		m := &g.metrics[i]
		s := slope{sign: m.Direction.Sign(), limit: m.Limit()}
		switch {
		case m.Role == Primary:
			s.reward = float64(m.Weight * s.sign)
		case m.Role == Guardrail && !m.Hard:
			s.price = float64(2 * m.Lambda * s.sign)
		}
		g.slopes[i] = s
	}
	return g
}

// NewGoals validates the metrics and copies them. Soft is b ≥ 0, in reciprocal units of the primary
// metrics; 0 is the weighted sum.
func NewGoals(metrics []Metric, soft float64) (*Goals, error) {
	g := newGoals(slices.Clone(metrics), soft)
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return g, nil
}

// Validate implements [Objective].
func (g *Goals) Validate() error {
	if g == nil {
		return noregret.BadInputf("objective", "nil: want an objective")
	}
	if !(g.soft >= 0) || math.IsInf(g.soft, 1) {
		return noregret.BadInputf("soft", "%v: want a finite number, at least 0", g.soft)
	}
	return validateMetrics(g.given)
}

// Metrics returns the metrics as they were given to [NewGoals]. Do not write to them.
func (g *Goals) Metrics() []Metric { return g.given }

// Soft is the softness b, 0 for a sum.
func (g *Goals) Soft() float64 { return g.soft }

// Dim implements [Objective].
func (g *Goals) Dim() int { return len(g.metrics) }

// HasHard reports whether a guardrail is hard.
func (g *Goals) HasHard() bool {
	return slices.ContainsFunc(g.metrics, func(m Metric) bool { return m.Hard })
}

// HasRelative reports whether a guardrail is relative to a control group.
func (g *Goals) HasRelative() bool {
	return slices.ContainsFunc(g.metrics, func(m Metric) bool { return m.Relative })
}

// Value implements [Objective].
func (g *Goals) Value(theta []float64) float64 {
	for i := range g.metrics {
		if m := &g.metrics[i]; m.Hard && !(m.Violation(theta[i]) <= m.Slack) {
			return math.Inf(-1)
		}
	}
	return g.Reward(theta)
}

// Holds reports whether θ satisfies every guardrail, hard or not, within its slack.
func (g *Goals) Holds(theta []float64) bool {
	for i := range g.metrics {
		if m := &g.metrics[i]; m.Role == Guardrail && !(m.Violation(theta[i]) <= m.Slack) {
			return false
		}
	}
	return true
}

// Reward is f without the hard guardrails: finite wherever θ is.
func (g *Goals) Reward(theta []float64) float64 {
	total := 0.0
	for i := range g.metrics {
		m := &g.metrics[i]
		switch m.Role {
		case Primary:
			if g.soft == 0 {
				total += float64(float64(m.Weight*m.Direction.Sign()) * theta[i])
			}
		case Guardrail:
			if m.Hard {
				continue
			}
			v := m.Violation(theta[i])
			total -= float64(m.Lambda * float64(v*v))
		}
	}
	if g.soft > 0 {
		top, sum := g.softTerms(theta)
		total -= (top + portable.Log(sum)) / g.soft
	}
	return total
}

// softTerms returns the largest of z_a = −b·w_a·x_a and Σ exp(z_a − top).
func (g *Goals) softTerms(theta []float64) (top, sum float64) {
	top = math.Inf(-1)
	for i := range g.metrics {
		if g.metrics[i].Role == Primary {
			top = max(top, g.softTerm(i, theta[i]))
		}
	}
	for i := range g.metrics {
		if g.metrics[i].Role == Primary {
			sum += portable.Exp(g.softTerm(i, theta[i]) - top)
		}
	}
	return top, sum
}

func (g *Goals) softTerm(i int, x float64) float64 {
	m := &g.metrics[i]
	return -float64(float64(g.soft*float64(m.Weight*m.Direction.Sign())) * x)
}

// Gradient implements [Objective].
func (g *Goals) Gradient(dst, theta []float64) {
	var top, sum float64
	if g.soft > 0 {
		top, sum = g.softTerms(theta)
	}
	for i := range g.slopes {
		switch m := &g.slopes[i]; {
		case m.price != 0:
			dst[i] = float64(m.price * max(0, float64(m.sign*(m.limit-theta[i]))))
		case g.soft > 0 && m.reward != 0:
			dst[i] = float64(m.reward * (portable.Exp(g.softTerm(i, theta[i])-top) / sum))
		default:
			dst[i] = m.reward
		}
	}
}

// Violations writes the violation of each guardrail (0 for other metrics) and returns their sum.
func (g *Goals) Violations(dst, theta []float64) float64 {
	sum := 0.0
	for i := range g.metrics {
		dst[i] = 0
		if g.metrics[i].Role == Guardrail {
			dst[i] = g.metrics[i].Violation(theta[i])
		}
		sum += dst[i]
	}
	return sum
}

// Constants implements [Objective]: L_f = max(2·max λ_j, b·max w²) and G_f = √(‖w‖² + Σ(2λ_j·v_j)²)
// with the largest violations v_j on the box (for the soft form max w replaces ‖w‖).
func (g *Goals) Constants(lower, upper []float64) (lipschitz, smooth float64) {
	weights, squares, largest := 0.0, 0.0, 0.0
	for i := range g.metrics {
		m := &g.metrics[i]
		switch {
		case m.Role == Primary:
			weights += float64(m.Weight * m.Weight)
			largest = max(largest, m.Weight)
		case m.Role == Guardrail && !m.Hard:
			s := float64(2 * m.Lambda * max(m.Violation(lower[i]), m.Violation(upper[i])))
			squares += float64(s * s)
			smooth = max(smooth, float64(2*m.Lambda))
		}
	}
	if g.soft > 0 {
		weights = float64(largest * largest)
		smooth = max(smooth, float64(g.soft*weights))
	}
	return math.Sqrt(weights + squares), smooth
}

// Ranged is an objective that knows the range of each metric, ±Inf where it has none.
type Ranged interface {
	// Range is the range of a unit's value, and so of the means.
	Range(metric int) (lower, upper float64)
}

// Range implements [Ranged]. Contrasts have no range.
func (g *Goals) Range(metric int) (lower, upper float64) {
	if m := &g.metrics[metric]; !m.Relative && m.HasRange() {
		return m.Lower, m.Upper
	}
	return math.Inf(-1), math.Inf(1)
}

// Contrast writes the values that the objective sees to dst, which may be values: a relative
// guardrail becomes y − (y_control + δ·|y_control|), other metrics stay. Control may be nil if no
// guardrail is relative. It returns an error for values outside a metric's range, those of the
// control group included. Learners call it with [Observation.Control]; hosts that add up rounds
// themselves may too.
func (g *Goals) Contrast(dst, values, control []float64) error {
	if len(dst) != g.Dim() {
		return noregret.BadInputf("dst", "%d values: want %d", len(dst), g.Dim())
	}
	if err := check.Vector("metrics", values, g.Dim()); err != nil {
		return err
	}
	relative := g.HasRelative()
	if relative {
		if control == nil {
			return noregret.BadInputf("control", "none in this round: %q is relative to the control group's metrics",
				g.relative())
		}
		if err := check.Vector("control", control, g.Dim()); err != nil {
			return err
		}
	}
	for i := range g.metrics {
		m := &g.metrics[i]
		if !m.Admits(values[i]) {
			return noregret.BadInputf(fmt.Sprintf("metrics[%d]", i), "%q is %v: want a number in its range [%v, %v]",
				m.Name, values[i], m.Lower, m.Upper)
		}
		if m.Relative && !m.Admits(control[i]) {
			return noregret.BadInputf(fmt.Sprintf("control[%d]", i), "%q is %v: want a number in its range [%v, %v]",
				m.Name, control[i], m.Lower, m.Upper)
		}
	}
	for i := range g.metrics {
		dst[i] = values[i]
		if m := &g.metrics[i]; m.Relative {
			dst[i] = values[i] - m.Beside(control[i])
		}
	}
	return nil
}

// relative is the name of the first relative guardrail.
func (g *Goals) relative() string {
	for i := range g.metrics {
		if g.metrics[i].Relative {
			return g.metrics[i].Name
		}
	}
	return ""
}

// validate calls f.Validate; f may be nil or a nil pointer.
func validate(f Objective) error {
	if f == nil {
		return noregret.BadInputf("objective", "nil: want an objective")
	}
	if v := reflect.ValueOf(f); v.Kind() == reflect.Pointer && v.IsNil() {
		return noregret.BadInputf("objective", "nil: want an objective")
	}
	return f.Validate()
}

// String describes the objective in full: objectives with equal texts are equal.
func (g *Goals) String() string { return fmt.Sprintf("goals(soft=%v, %+v)", g.soft, g.given) }
