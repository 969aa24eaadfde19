package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret"
)

// begins says what a run that begins an account adds to what is spent already on these people. It
// refuses that without --new-account, except for the first account of the ledger beside a data file
// where no ledger of other files is: there nothing is known to be spent.
func (t *privateTraining) begins(a *app, inputs []string) error {
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
		"spends epsilon %s and delta %s", p.account, p.ledger, short(t.account.Budget.Epsilon()),
		short(t.account.Budget.Delta()), short(p.epsilon), short(p.delta))
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
	a.note("%s; copies and other names of these data have ledgers of their own, unless --ledger names this one", text)
	return nil
}

// besideData reports whether the ledger is that beside the only data file.
func (p *privateFlags) besideData(inputs []string) bool {
	dir, err := ledgerOf(inputs)
	return err == nil && samePath(dir, p.ledger)
}

// knownAccounts says what the accounts have spent that may be of the same people: those of the
// ledger itself, and of all ledgers of data files in the directories of the inputs. It changes
// nothing in them. A note names a directory that is no ledger. A ledger that cannot be read may
// have spent anything, and out says so.
func knownAccounts(a *app, ledger string, inputs []string) (out []string, err error) {
	dirs := []string{ledger}
	for _, name := range inputs {
		if name == stdName {
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
			known = known || samePath(dir, other)
		}
		if known {
			continue
		}
		accounts, err := readLedger(dir)
		switch {
		case noregret.CodeOf(err) == noregret.NotFound:
			continue
		case isEmptyLedger(err):
			if i > 0 {
				a.note("%s is no ledger, or one without an account: it is skipped", dir)
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
				digits(c.Spent, 6), digits(c.Epsilon, 6), digits(c.Delta, 6)))
		}
	}
	return out, nil
}
