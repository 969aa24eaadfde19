package privacy

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/budgets"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// privacyLedgerOptions are the flags of "noregret privacy ledger".
type privacyLedgerOptions struct{ command.Output }

const privacyLedgerLong = `Print the accounts of a privacy ledger: the budget of each, what is spent and
what remains, and its runs with their costs. DIR is the directory of the ledger, which a run makes.

The costs of runs on the same people add up, whatever the runs released. A run is charged in full
before its first step. Nothing in a ledger depends on the data, so it can be shown to anyone.

With --json the output is a list of {account, protection, epsilon, delta, accounting, testing,
epsilon_spent, rho_spent, epsilon_remaining, runs}, and each run is {id, mechanism, state, steps,
epoch, rho, mu_squared, pure_epsilon, insecure, statement}.`

// newPrivacyLedgerCommand makes "noregret privacy ledger".
func newPrivacyLedgerCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:     "ledger DIR",
		Short:   "Print what is spent of privacy budgets",
		Long:    privacyLedgerLong,
		Example: "  noregret privacy ledger train.svm.privacy\n  noregret privacy ledger --json data/privacy",
		Args:    command.Args(1, "one DIR"),
	}, &privacyLedgerOptions{})
}

// Run implements [command.Options].
func (o *privacyLedgerOptions) Run(_ context.Context, a *command.App, args []string) error {
	accounts, err := budgets.Read(args[0])
	if err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, accounts)
	}
	return writeLedger(a.Stdout, accounts)
}

// writeLedger prints the accounts as text.
func writeLedger(w io.Writer, accounts []budgets.Account) error {
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
		if err := show.KeyValues(w,
			"account", c.Account+kind,
			"protects", c.Protection,
			"budget", fmt.Sprintf("epsilon %s, delta %s (%s)", show.Digits(c.Epsilon, 6), show.Digits(c.Delta, 6),
				c.Accounting),
			"spent", "epsilon "+show.Digits(c.Spent, 6)+", rho "+show.Digits(c.Rho, 6),
			"remaining", "epsilon "+show.Digits(c.Remaining, 6),
		); err != nil {
			return err
		}
		g := show.Table{Left: map[int]bool{4: true}, Gap: true}
		g.Add("run", "state", "steps", "rho", "mechanism")
		for j := range c.Runs {
			r := &c.Runs[j]
			g.Add(r.ID, string(r.State), strconv.FormatInt(r.Steps, 10), show.Digits(r.Rho, 4), r.Mechanism)
		}
		if err := g.Write(w); err != nil {
			return err
		}
	}
	return nil
}
