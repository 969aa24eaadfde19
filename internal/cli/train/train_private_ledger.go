package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/cli/files"
)

// ledgerSuffix is what the name of a data file has in the name of its ledger.
const ledgerSuffix = ".privacy"

// checkTotals refuses a budget for all runs on these people that this run alone exceeds.
func (p *privateFlags) checkTotals() error {
	for _, b := range []struct {
		flag       string
		total, run float64
	}{{"epsilon", p.accountEpsilon, p.epsilon}, {"delta", p.accountDelta, p.delta}} {
		if p.set.Changed("account-"+b.flag) && b.run > b.total {
			return noregret.Errorf(noregret.Usage, "--account-"+b.flag, "%g, but this run alone costs --%s %g: "+
				"want at least that, and more if other runs on these people are to follow", b.total, b.flag, b.run)
		}
	}
	return nil
}

// chooseLedger sets the directory of the ledger if --ledger does not name it. All models that are
// trained on a data file are charged to one ledger, beside that file: the best of several models is
// a choice that depends on the data, and each of them costs.
func (p *privateFlags) chooseLedger(inputs []string) error {
	dir, err := ledgerOf(inputs)
	if p.ledger != "" {
		p.sole = isDataLedger(p.ledger)
		return nil
	}
	p.sole = true
	if err != nil {
		return err
	}
	p.ledger = dir
	return nil
}

// isDataLedger reports whether a directory is the ledger of a data file beside it, whatever the
// inputs are: the same people may come by standard input or with other files.
func isDataLedger(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	data, ok := strings.CutSuffix(filepath.Clean(dir), ledgerSuffix)
	if !ok {
		return false
	}
	st, err := os.Stat(data)
	return err == nil && st.Mode().IsRegular()
}

// ledgerOf returns the directory of the ledger for the data: that beside the file, links followed.
func ledgerOf(inputs []string) (string, error) {
	required := func(why string) error {
		return noregret.Errorf(noregret.Usage, "--ledger", "required with --private %s: it is the directory with the "+
			"account of these people, to which all models that are trained on them are charged", why)
	}
	if len(inputs) != 1 {
		return "", required("for several data files, each of which has a ledger of its own, FILE" + ledgerSuffix)
	}
	name := inputs[0]
	if name == files.StdName {
		return "", required("for standard input, which has no name")
	}
	st, err := os.Stat(name)
	switch {
	case err != nil: // the reader says why
		return name + ledgerSuffix, nil
	case st.IsDir():
		return "", noregret.Errorf(noregret.Usage, name, "a directory, want a file of data")
	case !st.Mode().IsRegular():
		return "", required(fmt.Sprintf("for %q, which is not a regular file", name))
	}
	if path, err := filepath.EvalSymlinks(name); err == nil {
		name = path
	}
	return name + ledgerSuffix, nil
}

// checkPrivateOutputs checks the model file and the directories before anything is charged.
func (o *trainOptions) checkPrivateOutputs(inputs []string) error {
	if err := files.CheckOutputs([]files.Named{{Flag: "--model", Path: o.model}}, files.Inputs(inputs)); err != nil {
		return err
	}
	p := &o.private
	if err := p.chooseLedger(inputs); err != nil {
		return err
	}
	state := p.stateDir(o.model)
	if files.Same(p.ledger, state) {
		return noregret.Errorf(noregret.Usage, "--state", "%q is the directory of --ledger too; name another "+
			"one", state)
	}
	for _, d := range []files.Named{{Flag: "--ledger", Path: p.ledger}, {Flag: "--state", Path: state}} {
		if st, err := os.Stat(d.Path); err == nil && !st.IsDir() {
			return noregret.Errorf(noregret.Usage, d.Flag, "%q is a file: want a directory", d.Path)
		}
		if files.Same(d.Path, o.model) {
			return noregret.Errorf(noregret.Usage, "--model", "%q is the directory of %s; name another file", o.model,
				d.Flag)
		}
	}
	return nil
}

// accountConfig is the declaration of the account: that of the ledger, or a new one whose budget is
// that of the run if no other is given.
func (p *privateFlags) accountConfig(old dp.AccountConfig, known bool, accounting dp.Accounting) (dp.AccountConfig,
	error,
) {
	epsilon, delta := p.accountEpsilon, p.accountDelta
	if !p.set.Changed("account-epsilon") {
		epsilon = p.epsilon
	}
	if !p.set.Changed("account-delta") {
		delta = p.delta
	}
	if known {
		if p.set.Changed("account-epsilon") && epsilon != old.Budget.Epsilon() ||
			p.set.Changed("account-delta") && delta != old.Budget.Delta() {
			return old, noregret.BadInputf("--account-epsilon", "account %q exists with %s, and a budget cannot be "+
				"changed: leave the flag out", p.account, old.Budget)
		}
		return old, nil
	}
	c := dp.AccountConfig{Protection: dp.PerRecord(), Testing: p.insecure != 0, Sole: p.sole}
	var err error
	switch accounting {
	case dp.GDP:
		c.Budget, err = dp.GDPBudget(epsilon, delta)
	case dp.Pure:
		c.Budget, err = dp.PureBudget(epsilon)
	default:
		c.Budget, err = dp.ZCDPBudget(epsilon, delta)
	}
	if err != nil {
		return c, noregret.Errorf(noregret.Usage, "--account-epsilon", "%w", err)
	}
	return c, nil
}

// plan makes the trainer in the accounting of the account, and declares the account if it does not
// exist.
func (t *privateTraining) plan(opt classify.PrivateOptions) error {
	p := t.flags
	old, _, err := t.ledger.Account(p.account)
	known := err == nil
	if known {
		opt.Accounting = old.Budget.Accounting()
	}
	for {
		if t.trainer, err = classify.NewPrivateTrainer(opt); err != nil {
			return asFlag(err)
		}
		charge := t.trainer.Charge()
		if t.account, err = p.accountConfig(old, known, charge.Accounting); err != nil {
			return err
		}
		// In Gaussian accounting discrete noise adds to δ, the more the larger the ε of the account
		// is. A budget that this would use up is kept in zCDP, where it adds nothing.
		total := t.account.Budget
		if known || total.Accounting() != dp.GDP || charge.SlackDelta(total.Epsilon()) <= total.Delta()/100 {
			return nil
		}
		t.trainer.Close()
		opt.Accounting = dp.ZCDP
	}
}

// settleLedger removes the directory of a new ledger that a run was refused to begin.
func (t *privateTraining) settleLedger() {
	if !t.created {
		return
	}
	if names, err := t.ledger.Accounts(); err == nil && len(names) == 0 {
		_ = os.Remove(t.flags.ledger) // not if another process has written to it
	}
}

// explain says how to go on after an error of a run that is charged or could not be.
func (p *privateFlags) explain(err error, model string) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok {
		return err
	}
	hint := *e
	switch {
	case errors.Is(err, dp.ErrClosed):
		hint.Message += fmt.Sprintf(" (its last model is in %s if it was released; --run NAME with --state DIR, a "+
			"directory of its own, starts another run, which is charged anew)", model)
	case errors.Is(err, dp.ErrSole):
		hint.Message += fmt.Sprintf(" (all models on a data file are charged to the one account of its ledger, %s: "+
			"name that account, or for other people another ledger, with --ledger DIR)", p.ledger)
	case errors.Is(err, dp.ErrBudgetExceeded):
		hint.Message += fmt.Sprintf(" (all models on the same data add up in the ledger %s, which \"noregret privacy "+
			"ledger\" prints; the first run declares the budget for all of them, with --account-epsilon and "+
			"--account-delta, and it cannot be raised; for other people name another ledger with --ledger)", p.ledger)
	default:
		return err
	}
	return &hint
}
