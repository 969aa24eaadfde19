package dp

import (
	"fmt"

	"github.com/noregret/noregret"
)

// Accounting is the currency in which the costs of mechanisms on the same units, under the same
// adjacency, are added: see [Protection].
type Accounting uint8

const (
	// ZCDP adds ρ of zero-concentrated differential privacy. It takes every mechanism of this
	// package.
	ZCDP Accounting = iota + 1
	// GDP adds μ² of Gaussian differential privacy. It is tighter, by a tenth of the noise at (1,
	// 1e-4), and takes Gaussian noise only.
	GDP
	// Pure adds ε with δ = 0. It takes selections only.
	Pure
)

// MarshalText implements [encoding.TextMarshaler] by the name, empty for 0.
func (a Accounting) MarshalText() ([]byte, error) {
	if a == 0 {
		return nil, nil
	}
	return []byte(a.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *Accounting) UnmarshalText(text []byte) error {
	if *a = 0; len(text) == 0 {
		return nil
	}
	for v := ZCDP; v <= Pure; v++ {
		if v.String() == string(text) {
			*a = v
			return nil
		}
	}
	return noregret.BadInputf("accounting", "unknown %q, want zCDP, GDP or pure", text)
}

// String returns "zCDP", "GDP" or "pure".
func (a Accounting) String() string {
	switch a {
	case ZCDP:
		return "zCDP"
	case GDP:
		return "GDP"
	case Pure:
		return "pure"
	default:
		return fmt.Sprintf("Accounting(%d)", uint8(a))
	}
}

// Budget is what a mechanism may cost in total: a pair (ε, δ) in one accounting. Make one with
// [ZCDPBudget], [GDPBudget], [PureBudget] or [RhoBudget]; the zero value is refused everywhere.
//
// A budget is a pair of numbers and has no adjacency and no unit of privacy: what it limits, a
// [StreamConfig], a [SelectorConfig] or an [AccountConfig], states a [Protection] beside it.
type Budget struct {
	accounting     Accounting
	epsilon, delta float64
	cost           float64 // ρ, μ or ε, rounded down
}

// ZCDPBudget is the budget (ε, δ) spent in zCDP: ρ = [Rho](ε, δ).
func ZCDPBudget(epsilon, delta float64) (Budget, error) {
	cost, err := Rho(epsilon, delta)
	return Budget{accounting: ZCDP, epsilon: epsilon, delta: delta, cost: cost}, err
}

// GDPBudget is the budget (ε, δ) spent in Gaussian differential privacy: μ = [GaussianMu](ε, δ).
func GDPBudget(epsilon, delta float64) (Budget, error) {
	mu, err := GaussianMu(epsilon, delta)
	return Budget{accounting: GDP, epsilon: epsilon, delta: delta, cost: mu}, err
}

// PureBudget is the budget (ε, 0), which only a selector can keep.
func PureBudget(epsilon float64) (Budget, error) {
	if err := checkEpsilon("epsilon", epsilon); err != nil {
		return Budget{}, err
	}
	return Budget{accounting: Pure, epsilon: epsilon, cost: epsilon * (1 - budgetMargin)}, nil
}

// RhoBudget is a part ρ of a larger zCDP budget, stated as (ε, δ) for the given δ.
func RhoBudget(rho, delta float64) (Budget, error) {
	epsilon, err := RhoEpsilon(rho, delta)
	return Budget{accounting: ZCDP, epsilon: epsilon, delta: delta, cost: rho * (1 - budgetMargin)}, err
}

// Accounting returns the currency.
func (b Budget) Accounting() Accounting { return b.accounting }

// Epsilon returns ε.
func (b Budget) Epsilon() float64 { return b.epsilon }

// Delta returns δ.
func (b Budget) Delta() float64 { return b.delta }

// Rho returns ρ: what a zCDP budget holds, μ²/2 for GDP and ε²/2 for a pure budget.
func (b Budget) Rho() float64 {
	switch b.accounting {
	case GDP:
		return GaussianRho(b.cost)
	case Pure:
		return PureRho(b.cost)
	default:
		return b.cost
	}
}

// String states the budget: "ε = 1, δ = 0.0001 (zCDP, ρ = 0.0406)".
func (b Budget) String() string {
	return fmt.Sprintf("ε = %.6g, δ = %.6g (%s, ρ = %.6g)", b.epsilon, b.delta, b.accounting, b.Rho())
}

// limit is the cost that a budget allows in total, ρ, μ² or ε, after the parts of ε and δ that are
// spent otherwise; 0 if nothing is left. It is rounded down by less than the constructors round.
func (b Budget) limit(epsilonUsed, deltaUsed float64) float64 {
	epsilon, delta := b.epsilon-epsilonUsed, b.delta-deltaUsed
	if !(epsilon > 0) || b.accounting != Pure && !(delta > 0) {
		return 0
	}
	switch b.accounting {
	case GDP:
		mu := gaussianMu(epsilon, delta)
		return mu * mu * (1 - limitMargin)
	case Pure:
		return epsilon * (1 - limitMargin)
	default:
		return rho(epsilon, delta) * (1 - limitMargin)
	}
}

// check refuses a budget that no constructor has made.
func (b Budget) check() error {
	if b.accounting == 0 || !(b.cost > 0) {
		return noregret.BadInputf("budget", "the zero Budget, want one made by ZCDPBudget, GDPBudget, PureBudget or "+
			"RhoBudget: %w",
			ErrEpsilon)
	}
	return nil
}
