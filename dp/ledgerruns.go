package dp

import (
	"errors"
	"math"
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// totals are the sums of the charges of an account's runs, rounded up.
func (a *accountRow) totals() Charge {
	sum := Charge{Protection: a.Protection}
	for _, r := range a.Runs {
		c := r.Charge
		sum.Rho += c.Rho
		sum.MuSq += c.MuSq
		sum.Slack += c.Slack
		sum.PureEps += c.PureEps
		sum.ApproxEps += c.ApproxEps
		sum.ApproxDelta += c.ApproxDelta
	}
	for _, v := range []*float64{&sum.Rho, &sum.MuSq, &sum.Slack, &sum.PureEps, &sum.ApproxEps, &sum.ApproxDelta} {
		*v *= 1 + margin
	}
	return sum
}

// spent returns the sum of an account in its accounting, and what is added to it beside that when
// it is converted to the given ε.
func (a *accountRow) spent(epsilon float64) (cost, epsilonUsed, deltaUsed float64) {
	sum := a.totals()
	switch a.Accounting {
	case GDP:
		return sum.MuSq, sum.ApproxEps, sum.ApproxDelta + sum.SlackDelta(epsilon)
	case Pure:
		return sum.PureEps, sum.ApproxEps, sum.ApproxDelta
	default:
		return sum.Rho, sum.ApproxEps, sum.ApproxDelta
	}
}

// admit refuses a charge that an account cannot take, whatever is left.
func (a *accountRow) admit(c Charge) error {
	if c.Insecure && !a.Testing {
		return noregret.BadInputf("charge", "account %q: %w", a.Name, ErrInsecureRNG)
	}
	if c.Protection != a.Protection {
		return noregret.BadInputf("charge", "%s, account %q protects %s: %w", c.Protection, a.Name, a.Protection,
			ErrUnitMismatch)
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.Accounting > Pure {
		return noregret.BadInputf("charge", "unknown accounting %s: %w", c.Accounting, ErrUnitMismatch)
	}
	missing := a.Accounting == GDP && c.MuSq == 0 || a.Accounting == Pure && c.PureEps == 0 ||
		a.Accounting == ZCDP && c.Rho == 0
	if missing && (c.exact() || c.ApproxEps == 0) || a.Accounting == Pure && c.ApproxDelta > 0 {
		return noregret.BadInputf("charge", "made for %s accounting, account %q has %s: %w", c.Accounting, a.Name,
			a.Accounting, ErrUnitMismatch)
	}
	return nil
}

// Reserve implements [Accountant]. The errors are ErrInsecureRNG, ErrUnitMismatch, ErrEpsilon,
// ErrBudgetExceeded and, for a run that exists already, ErrEpoch: take that over with
// [Ledger.Resume]. After an error nothing was reserved, except that after an error of the store it
// is unknown.
func (l *Ledger) Reserve(account string, run Run) (RunToken, error) {
	return l.reserve(account, run, func(*ledgerDocument) error { return nil })
}

// OpenReserve is [Ledger.Open] and [Ledger.Reserve] in one change, for an account that its first
// run declares: after an error neither is in the ledger, so that a run that is refused fixes no
// budget and no accounting for others. The errors are those of both.
func (l *Ledger) OpenReserve(account string, c AccountConfig, run Run) (RunToken, error) {
	if err := c.check(account); err != nil {
		return RunToken{}, err
	}
	return l.reserve(account, run, func(d *ledgerDocument) error {
		if err := d.open(account, c); !errors.Is(err, errUnchanged) {
			return err
		}
		return nil
	})
}

// reserve makes a change and reserves a run, together.
func (l *Ledger) reserve(account string, run Run, first func(*ledgerDocument) error) (RunToken, error) {
	if !utf8.ValidString(run.ID) {
		return RunToken{}, noregret.BadInputf("run", "the name %q is not UTF-8", run.ID)
	}
	run.State, run.Steps, run.Epoch = Reserved, 0, 1
	err := l.update(func(d *ledgerDocument) error {
		if err := first(d); err != nil {
			return err
		}
		return d.reserve(account, run)
	})
	if err != nil {
		return RunToken{}, err
	}
	return RunToken{account: account, run: run.ID, epoch: 1}, nil
}

func (d *ledgerDocument) reserve(account string, run Run) error {
	a, err := d.account(account)
	if err != nil {
		return err
	}
	if _, ok := a.run(run.ID); ok || run.ID == "" {
		return noregret.BadInputf("run", "%q exists already in account %q, or has no name: %w", run.ID, account,
			ErrEpoch)
	}
	if err := a.admit(run.Charge); err != nil {
		return err
	}
	a.Runs = append(a.Runs, run)
	cost, epsilon, delta := a.spent(a.Epsilon)
	if limit := a.budget().limit(epsilon, delta); !(cost <= limit) || limit == 0 {
		return noregret.BadInputf("charge", "account %q would have spent %.6g of %.6g in %s: %w", account, cost,
			limit, a.Accounting, ErrBudgetExceeded)
	}
	return nil
}

// change applies a change to the run of a token, if the token is valid and the run is not closed.
func (l *Ledger) change(token RunToken, f func(r *Run) error) error {
	return l.update(func(d *ledgerDocument) error {
		a, err := d.account(token.account)
		if err != nil {
			return err
		}
		i, ok := a.run(token.run)
		if !ok {
			return noregret.Errorf(noregret.NotFound, "run", "%q does not exist in account %q", token.run,
				token.account)
		}
		r := &a.Runs[i]
		switch {
		case r.Epoch != token.epoch:
			return noregret.BadInputf("run", "%q of account %q: %w", token.run, token.account, ErrEpoch)
		case r.State == Closed:
			return noregret.BadInputf("run", "%q of account %q is over: %w", token.run, token.account, ErrClosed)
		}
		return f(r)
	})
}

// Commit implements [Accountant]. Committing a step again changes nothing, so that a writer that
// does not know whether a commit arrived repeats it. The errors are ErrEpoch, ErrClosed and
// ErrHorizon for a step before the last one.
func (l *Ledger) Commit(token RunToken, t int64) error {
	return l.change(token, func(r *Run) error {
		switch {
		case t < r.Steps:
			return noregret.BadInputf("commit", "step %d, the run is at %d: %w", t, r.Steps, ErrHorizon)
		case t == r.Steps:
			return errUnchanged
		}
		r.State, r.Steps = Active, t
		return nil
	})
}

// Close implements [Accountant]. A closed run cannot be resumed. Closing it again changes nothing.
func (l *Ledger) Close(token RunToken) error {
	err := l.change(token, func(r *Run) error {
		r.State = Closed
		return nil
	})
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// CloseEarly closes a run whose charge is refundable, such as that of a [Selector], and leaves only
// the given costs of it charged. The decision to stop must rest on released values alone. The error
// is ErrUnitMismatch if the charge is not refundable, if one of the costs is larger than what was
// reserved, or if a reserved ρ, μ² or ε is to become 0 although the run has committed steps.
func (l *Ledger) CloseEarly(token RunToken, spent Charge) error {
	return l.change(token, func(r *Run) error {
		old, now := r.Charge.costs(), spent.costs()
		for i := range old {
			// A cost that is left out, such as the ε of a pure budget, would be given back in full.
			free := i < currencies && r.Steps > 0 && old[i] > 0 && now[i] == 0
			if !r.Charge.Refundable || !(now[i] >= 0) || now[i] > old[i] || free {
				return noregret.BadInputf("charge", "%v cannot be reduced to %v: %w", old, now, ErrUnitMismatch)
			}
		}
		r.State = Closed
		c := r.Charge
		c.Rho, c.MuSq, c.PureEps, c.Slack, c.ApproxEps, c.ApproxDelta = now[0], now[1], now[2], now[3], now[4], now[5]
		r.Charge = c
		return nil
	})
}

// Resume takes a run over after a restart, from a state after the given number of steps: older
// tokens become invalid. If releases after that state were committed, the state is an old backup:
// going on would release the same steps with other noise. Then the run is closed, the error is
// ErrClosed, and a new run with a new charge must be reserved.
func (l *Ledger) Resume(account, run string, steps int64) (RunToken, error) {
	token := RunToken{account: account, run: run}
	stale := false
	err := l.update(func(d *ledgerDocument) error {
		a, err := d.account(account)
		if err != nil {
			return err
		}
		i, ok := a.run(run)
		if !ok {
			return noregret.Errorf(noregret.NotFound, "run", "%q does not exist in account %q", run, account)
		}
		r := &a.Runs[i]
		if r.State == Closed {
			return noregret.BadInputf("run", "%q of account %q is over: %w", run, account, ErrClosed)
		}
		r.Epoch++
		token.epoch = r.Epoch
		if stale = steps < r.Steps; stale {
			r.State = Closed
		}
		return nil
	})
	switch {
	case err != nil:
		return RunToken{}, err
	case stale:
		return RunToken{}, noregret.BadInputf("run",
			"the state of %q is older than what was released, the run is closed: %w",
			run, ErrClosed)
	}
	return token, nil
}

// Spent implements [Accountant]. The result is rounded up. For the account's δ or a larger one it
// is at most the account's ε, as no run is admitted beyond that; for a smaller one it is infinite
// if that δ is used up.
func (l *Ledger) Spent(account string, delta float64) (float64, error) {
	a, err := l.read(account)
	if err != nil {
		return 0, err
	}
	if a.Accounting == Pure {
		cost, epsilonUsed, _ := a.spent(0)
		return cost + epsilonUsed, nil
	}
	if err := checkDelta(delta); err != nil {
		return 0, err
	}
	epsilon, err := a.epsilon(delta)
	if delta >= a.Delta && epsilon > a.Epsilon {
		epsilon = a.Epsilon
	}
	return epsilon, err
}

// epsilon converts the sum of an account. The δ that is spent beside the sum grows with the ε that
// the sum is converted to, so that the result is the smallest solution of an equation: the limit of
// conversions that begin with ε = 0, or a little more, so that the search ends.
func (a *accountRow) epsilon(delta float64) (float64, error) {
	step := margin
	for guess := 0.0; guess < 700; step *= 1.1 {
		epsilon, err := a.convert(guess, delta)
		if err != nil || epsilon <= guess {
			return epsilon, err
		}
		guess = epsilon * (1 + step)
	}
	return math.Inf(1), nil
}

// convert returns the ε of the sum of an account, which is right if it is at most the guess.
func (a *accountRow) convert(guess, delta float64) (epsilon float64, err error) {
	cost, epsilonUsed, deltaUsed := a.spent(guess)
	delta -= deltaUsed
	switch {
	case !(delta > 0):
		return math.Inf(1), nil
	case cost == 0:
	case a.Accounting == GDP:
		epsilon, err = GaussianEpsilon(math.Sqrt(cost)*(1+margin), delta)
	default:
		epsilon, err = RhoEpsilon(cost, delta)
	}
	return epsilon + epsilonUsed, err
}

// Remaining implements [Accountant]. The budget is in the accounting of the account, a millionth of
// the total smaller than what is left, so that a run made for it fits. The error is
// ErrBudgetExceeded if nothing is left.
func (l *Ledger) Remaining(account string) (Budget, error) {
	a, err := l.read(account)
	if err != nil {
		return Budget{}, err
	}
	cost, epsilonUsed, deltaUsed := a.spent(a.Epsilon)
	limit := a.budget().limit(epsilonUsed, deltaUsed)
	left := limit - cost - float64(1e-6*limit)
	delta := a.Delta - deltaUsed
	if !(left > 0) {
		return Budget{}, noregret.BadInputf("account", "nothing is left of %q: %w", account, ErrBudgetExceeded)
	}
	switch a.Accounting {
	case GDP:
		mu := math.Sqrt(left)
		epsilon, err := GaussianEpsilon(mu, delta)
		return Budget{accounting: GDP, epsilon: epsilon, delta: delta, cost: mu}, err
	case Pure:
		return PureBudget(left)
	default:
		return RhoBudget(left, delta)
	}
}
