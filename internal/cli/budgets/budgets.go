package budgets

import (
	"errors"
	"os"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/cli/show"
)

// Run is a run as --json prints it.
type Run struct {
	ID        string      `json:"id"`
	Mechanism string      `json:"mechanism"`
	State     dp.RunState `json:"state"`
	Steps     int64       `json:"steps"`
	Epoch     uint64      `json:"epoch"`
	Rho       show.Number `json:"rho"`
	MuSquared show.Number `json:"mu_squared"`
	Pure      show.Number `json:"pure_epsilon"`
	Insecure  bool        `json:"insecure"`
	Statement string      `json:"statement"`
}

// Account is an account as --json prints it.
type Account struct {
	Account    string        `json:"account"`
	Protection string        `json:"protection"`
	Epsilon    show.Number   `json:"epsilon"`
	Delta      show.Number   `json:"delta"`
	Accounting dp.Accounting `json:"accounting"`
	Testing    bool          `json:"testing"`
	Spent      show.Number   `json:"epsilon_spent"`
	Rho        show.Number   `json:"rho_spent"`
	Remaining  show.Number   `json:"epsilon_remaining"`
	Runs       []Run         `json:"runs"`
}

// errNoAccount is the error of a ledger without an account.
var errNoAccount = errors.New("the ledger has no account: want the directory of a private run")

// IsEmpty reports whether an error of Read is that of a ledger without an account.
func IsEmpty(err error) bool { return errors.Is(err, errNoAccount) }

// Read reads the accounts of the ledger in a directory, which must exist and is not changed.
func Read(dir string) ([]Account, error) {
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
	accounts := make([]Account, 0, len(names))
	for _, name := range names {
		account, err := Of(l, name)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, account)
	}
	return accounts, nil
}

// Of reads one account.
func Of(l *dp.Ledger, name string) (Account, error) {
	config, runs, err := l.Account(name)
	if err != nil {
		return Account{}, err
	}
	b := config.Budget
	out := Account{
		Account: name, Protection: config.Protection.String(), Epsilon: show.Number(b.Epsilon()),
		Delta:      show.Number(b.Delta()),
		Accounting: b.Accounting(), Testing: config.Testing, Runs: []Run{},
	}
	spent, err := l.Spent(name, b.Delta())
	if err != nil {
		return out, err
	}
	out.Spent = show.Number(spent)
	switch rest, err := l.Remaining(name); {
	case err == nil:
		out.Remaining = show.Number(rest.Epsilon())
	case !errors.Is(err, dp.ErrBudgetExceeded): // nothing remains
		return out, err
	}
	rho := 0.0
	for i := range runs {
		r := &runs[i]
		rho += r.Charge.Rho
		out.Runs = append(out.Runs, Run{
			ID: r.ID, Mechanism: r.Statement.Mechanism, State: r.State, Steps: r.Steps, Epoch: r.Epoch,
			Rho: show.Number(r.Charge.Rho), MuSquared: show.Number(r.Charge.MuSq), Pure: show.Number(r.Charge.PureEps),
			Insecure: r.Charge.Insecure, Statement: r.Statement.String(),
		})
	}
	out.Rho = show.Number(rho)
	return out, nil
}
