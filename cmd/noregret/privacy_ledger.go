package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
)

// privacyLedgerOptions are the flags of "noregret privacy ledger".
type privacyLedgerOptions struct{ outputOptions }

const privacyLedgerLong = `Print the accounts of a privacy ledger: the budget of each, what is spent and
what remains, and its runs with their costs. DIR is the directory of the ledger, which a run makes.

The costs of runs on the same people add up, whatever the runs released. A run is charged in full
before its first step. Nothing in a ledger depends on the data, so it can be shown to anyone.

With --json the output is a list of {account, protection, epsilon, delta, accounting, testing,
epsilon_spent, rho_spent, epsilon_remaining, runs}, and each run is {id, mechanism, state, steps,
epoch, rho, mu_squared, pure_epsilon, insecure, statement}.`

// newPrivacyLedgerCommand makes "noregret privacy ledger".
func newPrivacyLedgerCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:     "ledger DIR",
		Short:   "Print what is spent of privacy budgets",
		Long:    privacyLedgerLong,
		Example: "  noregret privacy ledger train.svm.privacy\n  noregret privacy ledger --json data/privacy",
		Args:    oneLedger,
	}, &privacyLedgerOptions{})
}

// oneLedger requires one directory.
func oneLedger(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "", "ledger takes one DIR, got %d arguments", len(args))
}

// AddFlags implements options.
func (o *privacyLedgerOptions) AddFlags(f *pflag.FlagSet) { o.outputOptions.AddFlags(f) }

// ledgerRun is a run as --json prints it.
type ledgerRun struct {
	ID        string      `json:"id"`
	Mechanism string      `json:"mechanism"`
	State     dp.RunState `json:"state"`
	Steps     int64       `json:"steps"`
	Epoch     uint64      `json:"epoch"`
	Rho       number      `json:"rho"`
	MuSquared number      `json:"mu_squared"`
	Pure      number      `json:"pure_epsilon"`
	Insecure  bool        `json:"insecure"`
	Statement string      `json:"statement"`
}

// ledgerAccount is an account as --json prints it.
type ledgerAccount struct {
	Account    string        `json:"account"`
	Protection string        `json:"protection"`
	Epsilon    number        `json:"epsilon"`
	Delta      number        `json:"delta"`
	Accounting dp.Accounting `json:"accounting"`
	Testing    bool          `json:"testing"`
	Spent      number        `json:"epsilon_spent"`
	Rho        number        `json:"rho_spent"`
	Remaining  number        `json:"epsilon_remaining"`
	Runs       []ledgerRun   `json:"runs"`
}

// Run implements options.
func (o *privacyLedgerOptions) Run(_ context.Context, a *app, args []string) error {
	accounts, err := readLedger(args[0])
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.stdout, accounts)
	}
	return writeLedger(a.stdout, accounts)
}

// errNoAccount is the error of a ledger without an account.
var errNoAccount = errors.New("the ledger has no account: want the directory of a private run")

// isEmptyLedger reports whether an error of readLedger is that of a ledger without an account.
func isEmptyLedger(err error) bool { return errors.Is(err, errNoAccount) }

// readLedger reads the accounts of the ledger in a directory, which must exist and is not changed.
func readLedger(dir string) ([]ledgerAccount, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, noregret.Errorf(noregret.NotFound, dir, "no ledger here: want the directory of one")
	}
	store, err := dp.OpenFileStoreReadOnly(dir)
	if err != nil {
		return nil, err
	}
	l, err := dp.OpenLedger(store)
	if err != nil {
		return nil, err
	}
	names, err := l.Accounts()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, noregret.BadInputf(dir, "%w", errNoAccount)
	}
	accounts := make([]ledgerAccount, 0, len(names))
	for _, name := range names {
		account, err := readAccount(l, name)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, account)
	}
	return accounts, nil
}

// readAccount reads one account.
func readAccount(l *dp.Ledger, name string) (ledgerAccount, error) {
	config, runs, err := l.Account(name)
	if err != nil {
		return ledgerAccount{}, err
	}
	b := config.Budget
	out := ledgerAccount{
		Account: name, Protection: config.Protection.String(), Epsilon: number(b.Epsilon()), Delta: number(b.Delta()),
		Accounting: b.Accounting(), Testing: config.Testing, Runs: []ledgerRun{},
	}
	spent, err := l.Spent(name, b.Delta())
	if err != nil {
		return out, err
	}
	out.Spent = number(spent)
	switch rest, err := l.Remaining(name); {
	case err == nil:
		out.Remaining = number(rest.Epsilon())
	case !errors.Is(err, dp.ErrBudgetExceeded): // nothing remains
		return out, err
	}
	rho := 0.0
	for i := range runs {
		r := &runs[i]
		rho += r.Charge.Rho
		out.Runs = append(out.Runs, ledgerRun{
			ID: r.ID, Mechanism: r.Statement.Mechanism, State: r.State, Steps: r.Steps, Epoch: r.Epoch,
			Rho: number(r.Charge.Rho), MuSquared: number(r.Charge.MuSq), Pure: number(r.Charge.PureEps),
			Insecure: r.Charge.Insecure, Statement: r.Statement.String(),
		})
	}
	out.Rho = number(rho)
	return out, nil
}

// writeLedger prints the accounts as text.
func writeLedger(w io.Writer, accounts []ledgerAccount) error {
	for i := range accounts {
		c := &accounts[i]
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		kind := ""
		if c.Testing {
			kind = ", for tests: protects nobody"
		}
		if err := keyValues(w,
			"account", c.Account+kind,
			"protects", c.Protection,
			"budget", fmt.Sprintf("epsilon %s, delta %s (%s)", digits(c.Epsilon, 6), digits(c.Delta, 6), c.Accounting),
			"spent", "epsilon "+digits(c.Spent, 6)+", rho "+digits(c.Rho, 6),
			"remaining", "epsilon "+digits(c.Remaining, 6),
		); err != nil {
			return err
		}
		g := table{left: map[int]bool{4: true}, gap: true}
		g.add("run", "state", "steps", "rho", "mechanism")
		for j := range c.Runs {
			r := &c.Runs[j]
			g.add(r.ID, string(r.State), strconv.FormatInt(r.Steps, 10), digits(r.Rho, 4), r.Mechanism)
		}
		if err := g.write(w); err != nil {
			return err
		}
	}
	return nil
}
