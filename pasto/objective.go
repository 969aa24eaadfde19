package pasto

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// Objective is a concave function f of the metric means θ = μp of a mixture p (spec 1.2). It is a pure
// function; the methods may be called concurrently unless a type says otherwise.
type Objective interface {
	// Dim is M, the number of metrics.
	Dim() int
	// Value is f(θ), for θ of length Dim; −Inf where a hard guardrail is broken.
	Value(theta []float64) float64
	// Gradient writes ∇f(θ) to dst, which is not theta. Hard guardrails have no part in it.
	Gradient(dst, theta []float64)
	// Constants are bounds on the box [lower, upper]: lipschitz G_f ≥ ‖∇f‖₂, and smooth L_f with
	// ‖∇f(a) − ∇f(b)‖₂ ≤ L_f·‖a − b‖₂.
	Constants(lower, upper []float64) (lipschitz, smooth float64)
	// Validate reports why the function cannot be used, or nil.
	Validate() error
}

// Goals is the objective made of metrics: (L), (Q) and (P) of spec 1.2, with softness b > 0 also (S), and the
// hard form (H) for guardrails that are Hard:
//
//	f(θ) = Σ_a w_a·x_a − Σ_j λ_j·v_j²            or    −(1/b)·ln Σ_a exp(−b·w_a·x_a) − Σ_j λ_j·v_j²,
//
// where x_a is the primary metric in its good direction and v_j = (c_j − y_j)₊ the guardrail's
// violation: the square is of the truncated value (erratum E2). A value exactly at c is no violation
// (erratum E1). Value and Gradient cost O(M).
type Goals struct {
	metrics []Metric
	soft    float64
}

// NewGoals validates the metrics and copies them. Soft is b ≥ 0, in reciprocal units of the primary
// metrics; 0 is the weighted sum.
func NewGoals(metrics []Metric, soft float64) (*Goals, error) {
	g := &Goals{slices.Clone(metrics), soft}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return g, nil
}

// Validate implements [Objective].
func (g *Goals) Validate() error {
	if !(g.soft >= 0) || math.IsInf(g.soft, 1) {
		return bad("soft", "%v: want a finite number, at least 0", g.soft)
	}
	return validateMetrics(g.metrics)
}

// Metrics returns the metrics; do not write to them.
func (g *Goals) Metrics() []Metric { return g.metrics }

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
	total := 0.0
	for i := range g.metrics {
		m := &g.metrics[i]
		switch m.Role {
		case Primary:
			if g.soft == 0 {
				total += float64(float64(m.weight()*m.Direction.sign()) * theta[i])
			}
		case Guardrail:
			v := m.violation(theta[i])
			if m.Hard {
				if v > 0 {
					return math.Inf(-1)
				}
				continue
			}
			total -= float64(m.lambda() * float64(v*v))
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
	return -float64(float64(g.soft*float64(m.weight()*m.Direction.sign())) * x)
}

// Gradient implements [Objective].
func (g *Goals) Gradient(dst, theta []float64) {
	var top, sum float64
	if g.soft > 0 {
		top, sum = g.softTerms(theta)
	}
	for i := range g.metrics {
		m := &g.metrics[i]
		dst[i] = 0
		switch {
		case m.Role == Primary:
			dst[i] = float64(m.weight() * m.Direction.sign())
			if g.soft > 0 {
				dst[i] = float64(dst[i] * (portable.Exp(g.softTerm(i, theta[i])-top) / sum))
			}
		case m.Role == Guardrail && !m.Hard:
			dst[i] = float64(float64(2*m.lambda()*m.Direction.sign()) * m.violation(theta[i]))
		}
	}
}

// Violations writes the violation of each guardrail (0 for other metrics) and returns their sum.
func (g *Goals) Violations(dst, theta []float64) float64 {
	sum := 0.0
	for i := range g.metrics {
		dst[i] = 0
		if g.metrics[i].Role == Guardrail {
			dst[i] = g.metrics[i].violation(theta[i])
		}
		sum += dst[i]
	}
	return sum
}

// Constants implements [Objective]: L_f = max(2·max λ_j, b·max w²) and G_f = √(‖w‖² +
// Σ(2λ_j·v_j)²) with the largest violations v_j on the box (spec 1.2; for the soft form max w replaces
// ‖w‖).
func (g *Goals) Constants(lower, upper []float64) (lipschitz, smooth float64) {
	weights, squares, largest := 0.0, 0.0, 0.0
	for i := range g.metrics {
		m := &g.metrics[i]
		switch {
		case m.Role == Primary:
			weights += float64(m.weight() * m.weight())
			largest = max(largest, m.weight())
		case m.Role == Guardrail && !m.Hard:
			s := float64(2 * m.lambda() * max(m.violation(lower[i]), m.violation(upper[i])))
			squares += float64(s * s)
			smooth = max(smooth, float64(2*m.lambda()))
		}
	}
	if g.soft > 0 {
		weights = float64(largest * largest)
		smooth = max(smooth, float64(g.soft*weights))
	}
	return math.Sqrt(weights + squares), smooth
}

// Contrast writes the values the objective sees to dst, which may be values: relative guardrails become
// y − (1 + δ)·y_control. Control may be nil when no guardrail is relative.
func (g *Goals) Contrast(dst, values, control []float64) error {
	if err := checkVector("metrics", values, g.Dim()); err != nil {
		return err
	}
	if g.HasRelative() {
		if control == nil {
			return bad("control", "none in this round: a relative guardrail needs the control group's metrics")
		}
		if err := checkVector("control", control, g.Dim()); err != nil {
			return err
		}
	}
	if err := g.checkRange(values); err != nil {
		return err
	}
	for i := range g.metrics {
		dst[i] = values[i]
		if m := &g.metrics[i]; m.Relative {
			dst[i] = values[i] - float64((1+m.Threshold)*control[i])
		}
	}
	return nil
}

func (g *Goals) checkRange(values []float64) error {
	for i := range g.metrics {
		m := &g.metrics[i]
		if (m.Lower != 0 || m.Upper != 0) && (values[i] < m.Lower || values[i] > m.Upper) {
			return bad(fmt.Sprintf("metrics[%d]", i), "%v of %q: want a number in [%v, %v]", values[i], m.Name, m.Lower, m.Upper)
		}
	}
	return nil
}

// Utility is a user's own concave objective: U(θ) with gradient DU. Lipschitz and Smooth are G_f and L_f;
// 0 means unknown (+Inf). Check it with [CheckConcave]. The functions must be pure and fast: they are
// called every round.
type Utility struct {
	Metrics   int
	U         func(theta []float64) float64
	DU        func(dst, theta []float64)
	Lipschitz float64
	Smooth    float64
	// Directions are the metrics' good ones, for learners that move estimates by their errors; nil means Up
	// for all.
	Directions []Direction
}

// Sign implements [Directed].
func (u *Utility) Sign(metric int) float64 {
	if u.Directions == nil {
		return 1
	}
	return u.Directions[metric].sign()
}

// Dim implements [Objective].
func (u *Utility) Dim() int { return u.Metrics }

// Value implements [Objective].
func (u *Utility) Value(theta []float64) float64 { return u.U(theta) }

// Gradient implements [Objective].
func (u *Utility) Gradient(dst, theta []float64) { u.DU(dst, theta) }

// Constants implements [Objective].
func (u *Utility) Constants(_, _ []float64) (lipschitz, smooth float64) {
	lipschitz, smooth = u.Lipschitz, u.Smooth
	if lipschitz == 0 {
		lipschitz = math.Inf(1)
	}
	if smooth == 0 {
		smooth = math.Inf(1)
	}
	return lipschitz, smooth
}

// Validate implements [Objective].
func (u *Utility) Validate() error {
	switch {
	case u.Metrics < 1:
		return bad("utility", "it is of %d metrics: want at least 1", u.Metrics)
	case u.U == nil || u.DU == nil:
		return bad("utility", "value or gradient is nil: want both")
	case u.Directions != nil && len(u.Directions) != u.Metrics:
		return bad("utility", "it has %d directions for %d metrics", len(u.Directions), u.Metrics)
	case !(u.Lipschitz >= 0) || !(u.Smooth >= 0):
		return bad("utility", "constants %v and %v: want numbers, at least 0", u.Lipschitz, u.Smooth)
	}
	return nil
}

// CheckConcave tests f on n random pairs of points of the box [lower, upper]: the tangent inequality f(b)
// ≤ f(a) + ⟨∇f(a), b − a⟩, the midpoint inequality f((a+b)/2) ≥ (f(a)+f(b))/2, and, where
// finite, the constants. It returns an error that names the two points of the first breach. It can refute
// concavity and not prove it. The same seed tests the same points.
func CheckConcave(f Objective, lower, upper []float64, n int, seed uint64) error {
	if err := f.Validate(); err != nil {
		return err
	}
	d := f.Dim()
	if err := checkVector("lower", lower, d); err != nil {
		return err
	}
	if err := checkVector("upper", upper, d); err != nil {
		return err
	}
	lipschitz, smooth := f.Constants(lower, upper)
	r := random.New(seed, "pasto: concavity")
	a, b, mid, ga, gb := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	for range n {
		for i := range a {
			a[i] = lower[i] + float64(r.Float64()*(upper[i]-lower[i]))
			b[i] = lower[i] + float64(r.Float64()*(upper[i]-lower[i]))
			mid[i] = (a[i] + b[i]) / 2
		}
		fa, fb, fm := f.Value(a), f.Value(b), f.Value(mid)
		if !finite(fa) || !finite(fb) {
			continue // hard guardrails
		}
		f.Gradient(ga, a)
		f.Gradient(gb, b)
		tangent := 0.0
		for i := range a {
			tangent += float64(ga[i] * (b[i] - a[i]))
			mid[i] = ga[i] - gb[i]
		}
		slack := float64(1e-9 * (1 + math.Abs(fa) + math.Abs(fb) + math.Abs(tangent)))
		distance := 0.0
		for i := range a {
			distance += float64((a[i] - b[i]) * (a[i] - b[i]))
		}
		distance = math.Sqrt(distance)
		switch norm := convex.Norm2(mid); {
		case !(fb <= fa+tangent+slack):
			return bad("objective", "it is not concave: f(%v) = %v is above its tangent at %v, %v", b, fb, a, fa+tangent)
		case !(fm >= float64((fa+fb)/2)-slack):
			return bad("objective", "it is not concave: between %v and %v the midpoint has %v, below the mean of the ends %v", a, b, fm, (fa+fb)/2)
		case convex.Norm2(ga) > lipschitz*(1+1e-9):
			return bad("objective", "its gradient at %v has norm %v, above the stated %v", a, convex.Norm2(ga), lipschitz)
		case norm > float64(float64(smooth*distance)*(1+1e-9))+1e-9:
			return bad("objective", "its gradient moves by %v between %v and %v, above the stated %v·%v", norm, a, b, smooth, distance)
		}
	}
	return nil
}
