package dp

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
)

// Charge is what a mechanism costs the units that it protects, in every currency. A mechanism
// states its charge before its first step; an account adds charges of the same protection, that is,
// of the same adjacency and the same unit.
type Charge struct {
	// Protection is the adjacency and the unit that the costs are about.
	Protection Protection `json:"protection"`
	// Accounting is the currency of the budget that the mechanism was made for.
	Accounting Accounting `json:"accounting"`
	// Rho is the cost in zCDP.
	Rho float64 `json:"rho,omitempty"`
	// MuSq is μ², the cost in Gaussian differential privacy, of a mechanism made for that
	// accounting, and Slack the distance in total variation of its discrete noise from noise that
	// has this cost, which adds (1 + e^ε)·Slack to δ.
	MuSq  float64 `json:"mu_squared,omitempty"`
	Slack float64 `json:"slack,omitempty"`
	// PureEps is the cost ε of a mechanism made for pure accounting.
	PureEps float64 `json:"pure_epsilon,omitempty"`
	// ApproxEps and ApproxDelta are the cost of a mechanism of which nothing but (ε, δ) is known.
	// They are added as they are.
	ApproxEps   float64 `json:"approximate_epsilon,omitempty"`
	ApproxDelta float64 `json:"approximate_delta,omitempty"`
	// Refundable says that the mechanism spends step by step, so that a run that ends early may
	// give the rest back.
	Refundable bool `json:"refundable,omitempty"`
	// Insecure marks noise from a seed, and mechanisms without noise. Their costs mean nothing.
	Insecure bool `json:"insecure,omitempty"`
}

// check refuses costs that are negative or not finite, and a charge without any cost.
func (c Charge) check() error {
	sum := 0.0
	for _, v := range []float64{c.Rho, c.MuSq, c.Slack, c.PureEps, c.ApproxEps, c.ApproxDelta} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return noregret.BadInputf("charge", "a cost of %g: %w", v, ErrEpsilon)
		}
		sum += v
	}
	if sum == 0 {
		return noregret.BadInputf("charge", "no cost at all: %w", ErrEpsilon)
	}
	return nil
}

// costs returns the charge without its flags, for comparisons: first its cost in each currency.
func (c Charge) costs() [6]float64 {
	return [...]float64{c.Rho, c.MuSq, c.PureEps, c.Slack, c.ApproxEps, c.ApproxDelta}
}

// currencies is the number of currencies.
const currencies = 3

// exact reports whether the charge has a cost in a currency, beside one of which only (ε, δ) is
// known.
func (c Charge) exact() bool { return c.Rho > 0 || c.MuSq > 0 || c.PureEps > 0 }

// Epsilon returns the ε that the charge spends for the given δ in its accounting, with everything
// that it adds to ε and δ, [Charge].Slack included: what an account spends that holds this charge
// alone. It is rounded up, +Inf if δ is used up, and for [Pure] accounting independent of δ. The
// errors are ErrDelta and those of a charge with impossible costs. An insecure charge counts as if
// its noise were secure.
func (c Charge) Epsilon(delta float64) (float64, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	a := accountRow{Accounting: c.Accounting, Runs: []Run{{Charge: c}}}
	if c.Accounting == Pure {
		cost, used, _ := a.spent(0)
		return cost + used, nil
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	return a.epsilon(delta)
}

// SlackDelta is what the discreteness of the noise adds to δ if the cost in Gaussian differential
// privacy is converted to the given ε: (1 + e^ε)·Slack. An account converts to its own ε, which may
// be larger than that of the run, and then pays more for the same noise.
func (c Charge) SlackDelta(epsilon float64) float64 {
	if c.Slack == 0 {
		return 0
	}
	return float64(c.Slack * (1 + portable.Exp(epsilon)))
}

// Add returns the charge of both mechanisms on the same units, rounded up. It has a cost in those
// currencies only in which both mechanisms state one: noise made for zCDP has no μ², so that its
// sum with noise made for Gaussian differential privacy has none. The error is ErrUnitMismatch if
// their protections differ or no currency is left.
func (c Charge) Add(d Charge) (Charge, error) {
	if c.Protection != d.Protection {
		return Charge{}, noregret.BadInputf("charge", "%s and %s: %w", c.Protection, d.Protection, ErrUnitMismatch)
	}
	up := func(a, b float64) float64 { return (a + b) * (1 + margin) }
	both := func(a, b float64) float64 {
		if a == 0 && c.exact() || b == 0 && d.exact() {
			return 0
		}
		return up(a, b)
	}
	sum := Charge{
		Protection:  c.Protection,
		Accounting:  max(c.Accounting, d.Accounting),
		Rho:         both(c.Rho, d.Rho),
		MuSq:        both(c.MuSq, d.MuSq),
		PureEps:     both(c.PureEps, d.PureEps),
		ApproxEps:   up(c.ApproxEps, d.ApproxEps),
		ApproxDelta: up(c.ApproxDelta, d.ApproxDelta),
		Refundable:  c.Refundable && d.Refundable,
		Insecure:    c.Insecure || d.Insecure,
	}
	if c.Accounting != d.Accounting && min(c.Accounting, d.Accounting) > 0 {
		sum.Accounting = ZCDP
	}
	if sum.MuSq > 0 {
		sum.Slack = up(c.Slack, d.Slack)
	}
	if !sum.exact() && (c.exact() || d.exact()) {
		return Charge{}, noregret.BadInputf("charge", "%s and %s have no currency in common: %w", c.Accounting,
			d.Accounting, ErrUnitMismatch)
	}
	return sum, nil
}
