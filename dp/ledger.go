package dp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// An Accountant keeps account of what the releases on each set of users have cost. Each account has
// one adjacency and one unit, those of its [AccountConfig].
type Accountant interface {
	// Reserve charges a new run in full, durably, before its first step.
	Reserve(account string, run Run) (RunToken, error)
	// Commit records durably that the releases of the steps up to t may have been seen.
	Commit(token RunToken, t int64) error
	// Close ends a run. What it was charged stays spent.
	Close(token RunToken) error
	// Spent returns the ε of everything that an account was charged, for the given δ.
	Spent(account string, delta float64) (epsilon float64, err error)
	// Remaining returns a budget for the next run, for all that is left.
	Remaining(account string) (Budget, error)
}

// RunState is the state of a run in the ledger.
type RunState string

// The states of a run. A run that is closed stays in the ledger with its charge.
const (
	Reserved RunState = "reserved" // charged, without a step yet
	Active   RunState = "active"   // with committed steps
	Closed   RunState = "closed"
)

// A Run is a row of the ledger: one run of a mechanism on the users of an account. Its adjacency
// and unit are in its charge.
type Run struct {
	// ID names the run within its account.
	ID string `json:"id"`
	// Charge is what the run costs.
	Charge Charge `json:"charge"`
	// Statement says what was run, with its constants.
	Statement Statement `json:"statement"`
	// State, Steps and Epoch are kept by the ledger: the last committed step, and the number of
	// times that a writer has taken the run over.
	State RunState `json:"state"`
	Steps int64    `json:"steps"`
	Epoch uint64   `json:"epoch"`
}

// A RunToken lets one writer go on with a run. A writer that takes the run over makes it invalid.
type RunToken struct {
	account, run string
	epoch        uint64
}

// AccountConfig declares an account: who is protected, that is, the unit and the adjacency, and how
// much may be spent in total. The zero value is refused: Protection and Budget are required.
type AccountConfig struct {
	// Protection is what the budget protects. Charges of another one are refused.
	Protection Protection
	// Budget is the total. Its accounting says which charges are taken: a ZCDP account takes all, a
	// GDP account Gaussian noise, a Pure account selections with pure budgets.
	Budget Budget
	// Testing accepts charges of insecure mechanisms. An account is a production account unless it
	// was opened for testing.
	Testing bool
	// Sole refuses, with ErrSole, to open the account in a ledger that has another one. It is a
	// condition of opening, which the ledger does not keep.
	Sole bool
}

// Ledger is the durable [Accountant]. Every change is in the store before the call returns. Costs
// of runs on the same account are added in its accounting, and a run that would exceed the budget
// is refused. That is valid also if later runs are chosen after the results of earlier ones,
// because the order of the budget's spending is fixed in advance (Rogers, Roth, Ullman and Vadhan
// 2016 for such filters; Whitehouse, Ramdas, Rogers and Wu 2023 for zCDP; Smith and Thakurta 2022
// for Gaussian differential privacy).
//
// An account has one adjacency and one unit of privacy; a charge with others is refused. All runs
// on the same users belong to one account: streams, searches over parameters on these data,
// dashboards. Two sets of users may have accounts of their own only if they are disjoint for a
// reason that does not depend on the data and that the program enforces.
//
// A Ledger is safe for concurrent use, also by several processes on one store.
type Ledger struct {
	mu    sync.Mutex
	store Store
	// The document that was read or written last.
	epoch    uint64
	document ledgerDocument
}

// ledgerVersion is the version of the format, which docs/formats/privacy-ledger.md describes.
const ledgerVersion = 1

type ledgerDocument struct {
	Version  int          `json:"version"`
	Accounts []accountRow `json:"accounts"`
}

type accountRow struct {
	Name       string     `json:"name"`
	Protection Protection `json:"protection"`
	Accounting Accounting `json:"accounting"`
	Epsilon    float64    `json:"epsilon"`
	Delta      float64    `json:"delta"`
	Testing    bool       `json:"testing"`
	Runs       []Run      `json:"runs"`
}

func (a *accountRow) budget() Budget {
	return Budget{accounting: a.Accounting, epsilon: a.Epsilon, delta: a.Delta}
}

func (a *accountRow) run(id string) (int, bool) {
	i := slices.IndexFunc(a.Runs, func(r Run) bool { return r.ID == id })
	return i, i >= 0
}

// OpenLedger opens the ledger of a store, which may be empty.
func OpenLedger(store Store) (*Ledger, error) {
	l := &Ledger{store: store}
	return l, l.load()
}

// load reads the newest document.
func (l *Ledger) load() error {
	raw, epoch, err := l.store.Load()
	if err != nil {
		return err
	}
	var document ledgerDocument
	if epoch > 0 {
		if document, err = decodeLedger(raw); err != nil {
			return err
		}
	}
	l.document, l.epoch = document, epoch
	return nil
}

// decodeLedger reads a document: a line of JSON and a line with its SHA-256.
func decodeLedger(raw []byte) (ledgerDocument, error) {
	var document ledgerDocument
	text, sum, ok := strings.Cut(string(raw), "\n")
	digest := sha256.Sum256([]byte(text))
	if !ok || sum != hex.EncodeToString(digest[:])+"\n" {
		return document, noregret.BadInputf("ledger", "damaged: the checksum does not match")
	}
	if err := strictjson.Decode([]byte(text), &document, strictjson.Rules{Stored: true}); err != nil {
		return document, err
	}
	return document, document.check()
}

// check refuses a document that no ledger of this version writes.
func (d ledgerDocument) check() error {
	if d.Version != ledgerVersion {
		return noregret.BadInputf("ledger", "version %d, want %d", d.Version, ledgerVersion)
	}
	for i, a := range d.Accounts {
		if i > 0 && d.Accounts[i-1].Name >= a.Name {
			return noregret.BadInputf("ledger", "account %q is not in order", a.Name)
		}
		b := a.budget()
		b.cost = 1
		if err := errors.Join(a.Protection.check(), b.check(), checkEpsilon("epsilon", a.Epsilon)); err != nil {
			return noregret.BadInputf("ledger", "account %q: %w", a.Name, err)
		}
		if a.Accounting != Pure {
			if err := checkDelta(a.Delta); err != nil {
				return noregret.BadInputf("ledger", "account %q: %w", a.Name, err)
			}
		}
		ids := map[string]bool{}
		for _, r := range a.Runs {
			known := r.State == Reserved || r.State == Active || r.State == Closed
			if ids[r.ID] || r.ID == "" || !known || r.Steps < 0 || r.Epoch < 1 {
				return noregret.BadInputf("ledger", "account %q has an impossible run %q", a.Name, r.ID)
			}
			ids[r.ID] = true
			// A refund may leave no cost.
			if err := a.admit(r.Charge); err != nil && r.State != Closed {
				return noregret.BadInputf("ledger", "account %q, run %q: %w", a.Name, r.ID, err)
			}
			for _, cost := range r.Charge.costs() {
				if !(cost >= 0) {
					return noregret.BadInputf("ledger", "account %q, run %q: a cost of %g", a.Name, r.ID, cost)
				}
			}
		}
	}
	return nil
}

func (d ledgerDocument) encode() ([]byte, error) {
	text, err := strictjson.Encode(d)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(text)
	return append(append(text, '\n'), hex.EncodeToString(digest[:])+"\n"...), nil
}

// clone copies what a change may touch.
func (d ledgerDocument) clone() ledgerDocument {
	accounts := slices.Clone(d.Accounts)
	for i := range accounts {
		accounts[i].Runs = slices.Clone(accounts[i].Runs)
	}
	return ledgerDocument{Version: ledgerVersion, Accounts: accounts}
}

// update applies a change and writes it. If another writer was faster it reads the ledger again and
// applies the change to that, so that a change must not rely on anything read before. A change that
// returns errUnchanged writes nothing.
func (l *Ledger) update(change func(d *ledgerDocument) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for try := 0; ; try++ {
		next := l.document.clone()
		switch err := change(&next); {
		case errors.Is(err, errUnchanged):
			return nil
		case err != nil && try == 0: // perhaps the ledger has changed and it is right now
			if loadErr := l.load(); loadErr != nil {
				return loadErr
			}
			continue
		case err != nil:
			return err
		}
		raw, err := next.encode()
		if err != nil {
			return err
		}
		err = l.store.CompareAndSwap(l.epoch, raw)
		switch {
		case err == nil:
			l.document, l.epoch = next, l.epoch+1
			return nil
		case !errors.Is(err, ErrEpoch) || try > 1000:
			// What the store holds is unknown: read it again before anything else.
			return errors.Join(err, l.load())
		}
		if err := l.load(); err != nil {
			return err
		}
	}
}

var errUnchanged = errors.New("unchanged")

// account returns the row of an account.
func (d *ledgerDocument) account(name string) (*accountRow, error) {
	i, ok := slices.BinarySearchFunc(d.Accounts, name, func(a accountRow, n string) int {
		return strings.Compare(a.Name, n)
	})
	if !ok {
		return nil, noregret.Errorf(noregret.NotFound, "account", "%q does not exist", name)
	}
	return &d.Accounts[i], nil
}

// Open creates an account, or does nothing if the account exists with the same configuration. The
// errors are ErrUnitMismatch, if it exists with another one: a budget cannot be raised, ErrEpsilon
// and ErrSole.
func (l *Ledger) Open(name string, c AccountConfig) error {
	if err := c.check(name); err != nil {
		return err
	}
	return l.update(func(d *ledgerDocument) error { return d.open(name, c) })
}

// check refuses a declaration that no ledger takes.
func (c AccountConfig) check(name string) error {
	// RhoBudget may state ε = 0, for a small ρ and a large δ: that allows no charge at all.
	epsilon := checkEpsilon("epsilon", c.Budget.epsilon)
	if err := errors.Join(c.Protection.check(), c.Budget.check(), epsilon); err != nil {
		return err
	}
	if !utf8.ValidString(name) { // the document would hold another name
		return noregret.BadInputf("account", "the name %q is not UTF-8", name)
	}
	return nil
}

// open creates an account. If it exists already the error is errUnchanged.
func (d *ledgerDocument) open(name string, c AccountConfig) error {
	row := accountRow{
		Name: name, Protection: c.Protection, Accounting: c.Budget.accounting, Epsilon: c.Budget.epsilon,
		Delta: c.Budget.delta, Testing: c.Testing,
	}
	if old, err := d.account(name); err == nil {
		if old.Protection != row.Protection || old.budget() != row.budget() || old.Testing != row.Testing {
			return noregret.BadInputf("account", "%q exists with %s and %s: %w", name, old.Protection, old.budget(),
				ErrUnitMismatch)
		}
		return errUnchanged
	}
	if c.Sole && len(d.Accounts) > 0 {
		return noregret.BadInputf("account", "%q does not exist, but %q does: %w", name, d.Accounts[0].Name, ErrSole)
	}
	i, _ := slices.BinarySearchFunc(d.Accounts, name, func(a accountRow, n string) int {
		return strings.Compare(a.Name, n)
	})
	d.Accounts = slices.Insert(d.Accounts, i, row)
	return nil
}

// Accounts returns the names of all accounts in order.
func (l *Ledger) Accounts() ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return nil, err
	}
	var names []string
	for _, a := range l.document.Accounts {
		names = append(names, a.Name)
	}
	return names, nil
}

// Account returns the declaration of an account and its runs in the order of their reservation.
func (l *Ledger) Account(name string) (AccountConfig, []Run, error) {
	a, err := l.read(name)
	if err != nil {
		return AccountConfig{}, nil, err
	}
	c := AccountConfig{Protection: a.Protection, Testing: a.Testing}
	switch a.Accounting {
	case GDP:
		c.Budget, err = GDPBudget(a.Epsilon, a.Delta)
	case Pure:
		c.Budget, err = PureBudget(a.Epsilon)
	default:
		c.Budget, err = ZCDPBudget(a.Epsilon, a.Delta)
	}
	return c, a.Runs, err
}

// read returns a copy of the newest row of an account.
func (l *Ledger) read(name string) (accountRow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return accountRow{}, err
	}
	d := l.document.clone()
	a, err := d.account(name)
	if err != nil {
		return accountRow{}, err
	}
	return *a, nil
}
