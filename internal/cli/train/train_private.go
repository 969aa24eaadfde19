package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/cli/budgets"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// privateFiles makes the durable writes of a private training. Tests replace it, to die between the
// writes.
type privateFiles struct {
	open  func(dir string) (privateStore, error)
	write func(path string, b []byte) error
	// terminal reports whether what is written goes to a terminal.
	terminal func(w io.Writer) bool
}

// privateStore is the store of a ledger or a journal.
type privateStore interface {
	dp.Store
	Erase() error
}

func newPrivateFiles() privateFiles {
	return privateFiles{
		open:  func(dir string) (privateStore, error) { return dp.OpenFileStore(dir) },
		write: atomicfile.WriteBytes, terminal: onTerminal,
	}
}

// privateTraining is what a private training works with.
type privateTraining struct {
	flags   *privateFlags
	trainer *classify.PrivateTrainer
	account dp.AccountConfig // that of the ledger, or the declaration of a new one
	ledger  *dp.Ledger
	created bool         // the ledger's directory did not exist
	store   privateStore // of the journal
	journal *dp.Journal
}

// runPrivate is train --private.
func (o *trainOptions) runPrivate(ctx context.Context, a *command.App, inputs []string) (err error) {
	p, opt := &o.private, classify.PrivateOptions{}
	if opt, err = o.privateOptions(); err != nil {
		return err
	}
	// Everything that can be wrong is found before anything is charged.
	if _, err := classify.NewPrivateTrainer(opt); err != nil {
		return asFlag(err)
	}
	progress, err := a.Progress()
	if err != nil {
		return err
	}
	s, err := dataset.Open(ctx, inputs, o.privateData(ctx, a, opt))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	t, err := p.open(a, o.model, inputs, opt)
	if err != nil {
		return err
	}
	defer t.trainer.Close()
	progress.Start("train private", opt.Horizon)
	run := classify.PrivateRun{
		Ledger: t.ledger, Account: p.account, Run: p.runName(o.model), Declare: &t.account, Journal: t.journal,
		Resume: p.resume, SaveEvery: o.saveEvery, Progress: progress.Update,
		Release: func(model []byte) error {
			if err := p.files.write(o.model, model); err != nil {
				return noregret.Errorf(noregret.Internal, o.model, "the model cannot be written: %w", err)
			}
			return nil
		},
	}
	out, err := classify.PrivateFit(ctx, s, t.trainer, run)
	progress.Finish()
	t.settleLedger()
	if err != nil {
		if _, written := t.journal.Last(); !written {
			err = errors.Join(err, t.store.Erase()) // the empty directory
		}
		m, over := p.finished(err, o.model)
		if !over {
			return p.explain(asFlag(dataflags.WithPlace(err, inputs)), o.model)
		}
		out = classify.PrivateOutcome{Model: m, Complete: true}
	}
	if out.Complete {
		if err := t.store.Erase(); err != nil {
			return noregret.Errorf(noregret.Internal, p.stateDir(o.model), "the secret state cannot be erased: %w", err)
		}
	}
	return o.reportPrivate(a, t, out)
}

// finished returns the model of a run that had ended before it was resumed.
func (p *privateFlags) finished(err error, path string) (*classify.Model, bool) {
	if !p.resume || !errors.Is(err, dp.ErrClosed) {
		return nil, false
	}
	m, err := classify.LoadModel(path)
	if err != nil || m.Privacy == nil || m.Privacy.Records < m.Privacy.Horizon {
		return nil, false
	}
	return m, m.Privacy.Account == p.account && m.Privacy.Run == p.runName(path)
}

// asFlag sets the place of a usage error of package classify to the flag's name.
func asFlag(err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok || !privateFlagNames[e.Place] && !sharedPrivately[e.Place] {
		return err
	}
	flag := *e
	flag.Place = "--" + e.Place
	return &flag
}

// privateData are the options of reading. What they depend on is declared, and no line of the data
// can stop the reading or change another record.
func (o *trainOptions) privateData(ctx context.Context, a *command.App, private classify.PrivateOptions,
) dataset.Options {
	opt := o.data.Options(ctx, a, private.Schema)
	opt.OnlyLabels = []string{private.Negative, private.Positive}
	opt.Format, opt.Base, opt.Bits = private.Schema.Format, dataset.BaseAuto, 0
	if private.Schema.Format == dataset.CSV {
		opt.Header = dataset.HeaderYes // not by what the first record looks like
	}
	opt.LabelColumn, opt.LabelKey, opt.Categorical, opt.IgnoreColumns = "", "", nil, nil
	opt.Missing = ""
	return opt
}

// open opens ledger and journal and makes the trainer. An error leaves no empty ledger.
func (p *privateFlags) open(a *command.App, model string, inputs []string, opt classify.PrivateOptions,
) (*privateTraining, error) {
	_, missing := os.Stat(p.ledger)
	t := &privateTraining{flags: p, created: missing != nil}
	accounts, err := p.files.open(p.ledger)
	if err != nil {
		return nil, noregret.Errorf(noregret.Internal, "--ledger", "%s cannot be opened: %w", p.ledger, err)
	}
	if t.ledger, err = dp.OpenLedger(accounts); err != nil {
		return nil, err
	}
	if err = t.plan(opt); err == nil {
		err = t.begins(a, inputs)
	}
	if err == nil {
		err = t.openJournal(model)
	}
	if err != nil {
		t.settleLedger()
		return nil, err
	}
	return t, nil
}

func (t *privateTraining) openJournal(model string) (err error) {
	dir, run := t.flags.stateDir(model), t.flags.runName(model)
	if t.store, err = t.flags.files.open(dir); err != nil {
		return noregret.Errorf(noregret.Internal, "--state", "%s cannot be opened: %w", dir, err)
	}
	if t.journal, err = dp.OpenJournal(t.store, run); err != nil {
		return noregret.BadInputf("--state", "%q is not the state of the run %q, so that another run needs another "+
			"directory: %w", dir, run, err)
	}
	return nil
}

// stateDir and runName are the values of the flags with their defaults.
func (p *privateFlags) stateDir(model string) string {
	if p.state != "" {
		return p.state
	}
	return model + ".state"
}

func (p *privateFlags) runName(model string) string {
	if p.run != "" {
		return p.run
	}
	return filepath.Base(model)
}

// privateReport is the output of train --private --json. Nothing in it was learned from the data
// beyond the model that was released, except the number of records.
type privateReport struct {
	Model     string                 `json:"model"`
	Algorithm string                 `json:"algorithm"`
	Records   int64                  `json:"records"`
	Horizon   int64                  `json:"horizon"`
	Complete  bool                   `json:"complete"`
	Unread    bool                   `json:"unread_records"`
	Labels    any                    `json:"labels"`
	Features  int                    `json:"features"`
	Intercept float64                `json:"intercept"`
	Ledger    string                 `json:"ledger"`
	Spent     show.Number            `json:"account_epsilon_spent"`
	Remaining show.Number            `json:"account_epsilon_remaining"`
	State     string                 `json:"state"`
	Privacy   *classify.ModelPrivacy `json:"privacy"`
	Warnings  []string               `json:"warnings"`
}

// reportPrivate prints the summary.
func (o *trainOptions) reportPrivate(a *command.App, t *privateTraining, out classify.PrivateOutcome) error {
	p, m := &o.private, out.Model
	account, err := budgets.Of(t.ledger, p.account)
	if err != nil {
		return err
	}
	for _, w := range m.Warnings {
		a.Note("warning: %s", w)
	}
	state := ""
	if !out.Complete {
		state = p.stateDir(o.model)
	}
	if o.json {
		return show.JSON(a.Stdout, privateReport{
			Model: o.model, Algorithm: m.Algorithm, Records: m.Privacy.Records, Horizon: m.Privacy.Horizon,
			Complete: out.Complete, Unread: out.Unread, Labels: labelsOf(m), Features: m.Dim(),
			Intercept: m.Models[0].Intercept,
			Ledger:    p.ledger, Spent: account.Spent, Remaining: account.Remaining, State: state,
			Privacy: m.Privacy, Warnings: m.Warnings,
		})
	}
	if out.Unread {
		a.Note("there are more records than --horizon: the others were not used")
	}
	if err := printPrivate(a.Stdout, m, o.model); err != nil {
		return err
	}
	if !out.Complete {
		state += ", secret: --resume continues the run with more records at no further cost"
	}
	return show.KeyValues(a.Stdout,
		"ledger", fmt.Sprintf("%s, epsilon %s of %s is spent, %s "+
			"remains", p.ledger, show.Digits(account.Spent, 6),
			show.Digits(account.Epsilon, 6), show.Digits(account.Remaining, 6)),
		"state", state,
		"not shown", "loss, class counts, bad values and digest of the data: they are not private")
}

// printPrivate prints the short table of a private model.
func printPrivate(w io.Writer, m *classify.Model, path string) error {
	p := m.Privacy
	private := fmt.Sprintf("epsilon %s, delta %s (%s), %s, %s", show.Short(p.Epsilon), show.Short(p.Delta),
		p.Accounting,
		p.Adjacency, p.Unit)
	if p.Insecure {
		private = "NOT PRIVATE: noise from a seed, for tests"
	}
	loss := p.Loss + " loss"
	if p.PositiveWeight != 1 {
		loss += ", positive records weigh " + show.Short(p.PositiveWeight)
	}
	return show.KeyValues(w,
		"model", path,
		"privacy", private,
		"algorithm", fmt.Sprintf("%s, %s noise, %s", m.Algorithm, p.Noise, loss),
		"constants", fmt.Sprintf("norm %s, radius %s, features to norm %s, clip %s (%s), batch %d", p.Norm,
			show.Short(p.Radius), show.Short(p.Features), show.Short(p.Clip), p.ClipNorm, p.Batch),
		"records", fmt.Sprintf("%d of at most %d", p.Records, p.Horizon),
		"labels", fmt.Sprintf("positive %s, negative %s", m.Positive(), show.Listed(m.Negatives())),
		"weights", fmt.Sprintf("%d of %d are not zero, intercept "+
			"%s", len(m.Models[0].Weights.Index), m.Dim(), show.Short(m.Models[0].Intercept)),
		"account", fmt.Sprintf("%s, run %s", p.Account, p.Run),
	)
}

// inspectPrivate prints a private model with its statement.
func inspectPrivate(w io.Writer, m *classify.Model, path string, weights []weight) error {
	if err := printPrivate(w, m, path); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "\nPrivacy statement\n%s", indent(legible.Lines(m.Privacy.Text))); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nWeights (%d of %d that are not zero)\n", len(weights), len(m.Models[0].Weights.Index))
	return writeWeights(w, weights)
}

// indent indents the lines of a text by two blanks.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// requireMeasure requires --measure of a training that is not private, as cobra does for flags that
// are always required.
func (o *trainOptions) requireMeasure(cmd *cobra.Command, _ []string) error {
	if o.private.on || cmd.Flags().Changed("measure") {
		return nil
	}
	return errors.New(`required flag(s) "measure" not set`)
}
