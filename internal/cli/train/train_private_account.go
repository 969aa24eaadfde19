package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/budgets"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
)

// begins says what a run that begins an account adds to what is spent already on these people. It
// refuses that without --new-account, except for the first account of the ledger beside a data file
// where no ledger of other files is: there nothing is known to be spent.
func (t *privateTraining) begins(a *command.App, inputs []string) error {
	p := t.flags
	names, err := t.ledger.Accounts()
	if err != nil {
		return err
	}
	if _, _, err := t.ledger.Account(p.account); err == nil {
		return nil // its budget is declared
	}
	if p.sole && len(names) > 0 {
		return nil // the ledger of a data file has one account: the reservation refuses another one
	}
	others, err := knownAccounts(a, p.ledger, inputs)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("account %q of the ledger %s begins with a budget of epsilon %s and delta %s, of which this "+
		"run "+
		"spends epsilon %s and delta %s", p.account, p.ledger, show.Short(t.account.Budget.Epsilon()),
		show.Short(t.account.Budget.Delta()), show.Short(p.epsilon), show.Short(p.delta))
	if len(others) == 0 {
		text += "; no other account for these data is known"
	} else {
		text += "; beside it " + strings.Join(others, ", ") + "; whoever is in the data of several accounts loses " +
			"the " +
			"sum of what they spend"
	}
	if !p.newAccount && (len(others) > 0 || !p.besideData(inputs)) {
		return noregret.Errorf(noregret.Usage, "--new-account", "%s; give --new-account to begin it, or name the "+
			"account "+
			"that pays with --ledger and --account", text)
	}
	a.Note("%s; copies and other names of these data have ledgers of their own, unless --ledger names this one", text)
	return nil
}

// besideData reports whether the ledger is that beside the only data file.
func (p *privateFlags) besideData(inputs []string) bool {
	dir, err := ledgerOf(inputs)
	return err == nil && files.Same(dir, p.ledger)
}

// knownAccounts says what the accounts have spent that may be of the same people: those of the
// ledger itself, and of all ledgers of data files in the directories of the inputs. It changes
// nothing in them. A note names a directory that is no ledger. A ledger that cannot be read may
// have spent anything, and out says so.
func knownAccounts(a *command.App, ledger string, inputs []string) (out []string, err error) {
	dirs := []string{ledger}
	for _, name := range inputs {
		if name == files.StdName {
			continue
		}
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
		}
		entries, err := os.ReadDir(filepath.Dir(name))
		if err != nil {
			continue // the reader says why
		}
		for _, e := range entries {
			if dir := filepath.Join(filepath.Dir(name), e.Name()); strings.HasSuffix(dir, ledgerSuffix) && e.IsDir() {
				dirs = append(dirs, dir)
			}
		}
	}
	for i, dir := range dirs {
		known := false
		for _, other := range dirs[:i] {
			known = known || files.Same(dir, other)
		}
		if known {
			continue
		}
		accounts, err := budgets.Read(dir)
		switch {
		case noregret.CodeOf(err) == noregret.NotFound:
			continue
		case budgets.IsEmpty(err):
			if i > 0 {
				a.Note("%s is no ledger, or one without an account: it is skipped", dir)
			}
			continue
		case err != nil && i == 0:
			return nil, err
		case err != nil:
			out = append(out, fmt.Sprintf("the ledger %s, which cannot be read (%v), so that its spending is unknown",
				dir, err))
			continue
		}
		for i := range accounts {
			c := &accounts[i]
			out = append(out, fmt.Sprintf("account %q of %s has spent epsilon %s of %s and delta %s", c.Account, dir,
				show.Digits(c.Spent, 6), show.Digits(c.Epsilon, 6), show.Digits(c.Delta, 6)))
		}
	}
	return out, nil
}
