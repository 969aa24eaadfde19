package classify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dp"
)

// PrivateRun says how [PrivateFit] keeps account of a private training.
type PrivateRun struct {
	// Ledger has the account that pays, and Run names the run within it.
	Ledger  *dp.Ledger
	Account string
	Run     string
	// Declare, if not nil, declares the account: if it does not exist, it is opened together with
	// the reservation of the run, or not at all.
	Declare *dp.AccountConfig
	// Journal keeps the secret state of the run. It must be of the same run.
	Journal *dp.Journal
	// Resume allows the run to exist already: it is then continued. Without it such a run is
	// refused.
	Resume bool
	// Release gives a model out: durably, and whole or not at all. It is called with the same bytes
	// again after a restart.
	Release func(model []byte) error
	// SaveEvery is the number of records between two models, 0 for one model at the end.
	SaveEvery int64
	// Progress, if not nil, is called after every block with the number of records so far.
	Progress func(records int64)
}

// PrivateOutcome is what a run of [PrivateFit] has released last.
type PrivateOutcome struct {
	Model *Model
	// Complete reports whether the run has learned as many records as were declared. It is then
	// closed; otherwise Resume continues it, at no further cost, with more records.
	Complete bool
	// Unread reports whether there were more records than declared.
	Unread bool
}

// PrivateFit trains on the records of a stream in their order, each once, until the declared number
// of records or the end of the stream. The order of its durable writes makes every model as private
// as the ledger says, also after a crash at any moment: the whole cost is reserved before the first
// record; a model is in the journal, then committed in the ledger, then released. A run that is
// resumed first releases the last model again, the same bytes, and goes on after it. It reads the
// stream from its start and checks that the records that it has learned are the same. When all
// declared records are learned the run is closed; the caller then erases the journal
// ([dp.FileStore.Erase]).
//
// Open the stream with the declared labels as [dataset.Options.OnlyLabels]: then the values of one
// record cannot end the training, which would tell about it, and change no other record.
//
// The errors are those of the ledger (dp.ErrBudgetExceeded, with the figures of the account, and
// dp.ErrClosed), usage for a run that exists and is not to be resumed or was charged for other
// options, bad_input for another beginning of the stream and for example weights, those of the
// stream, of Release, and ctx's error.
func PrivateFit(ctx context.Context, s *dataset.Stream, t *PrivateTrainer, run PrivateRun) (PrivateOutcome, error) {
	if run.SaveEvery < 0 {
		return PrivateOutcome{}, usage("number of records between models is %d, want %s", run.SaveEvery, wantNatural)
	}
	f := &privateFit{trainer: t, run: run}
	over, err := f.begin()
	if err != nil || over {
		return f.outcome, err
	}
	if err := f.read(ctx, s); err != nil {
		return f.outcome, err
	}
	if t.Records() == 0 {
		return f.outcome, noregret.BadInputf("input", "no examples; the run %q is charged and can be resumed", run.Run)
	}
	if f.outcome.Model == nil || f.outcome.Model.Privacy.Records < t.Records() {
		if err := f.release(); err != nil {
			return f.outcome, err
		}
	}
	if t.Records() < t.options.Horizon {
		return f.outcome, nil
	}
	f.outcome.Complete = true
	return f.outcome, run.Ledger.Close(f.token)
}

// privateFit is one run of [PrivateFit].
type privateFit struct {
	trainer *PrivateTrainer
	run     PrivateRun
	token   dp.RunToken
	outcome PrivateOutcome
	before  int64 // records of the state that was restored
	prefix  samePrefix
	targets []float64 // by class number
}

// begin reserves the cost or takes the run over, and releases the last model again. It reports
// whether the run is over.
func (f *privateFit) begin() (over bool, err error) {
	run := &f.run
	last, restart := run.Journal.Last()
	if restart {
		if _, err := f.row(); noregret.CodeOf(err) == noregret.NotFound {
			return false, noregret.BadInputf("journal", "a state of the run %q is in it, but the ledger has no such "+
				"run: want the ledger that was charged for it", run.Run)
		}
	}
	f.token, err = f.reserve()
	if errors.Is(err, dp.ErrEpoch) {
		if !run.Resume {
			return false, noregret.Errorf(noregret.Usage, "run", "the run %q of account %q exists already and is "+
				"charged: "+
				"resume it, or name another run, which is charged anew", run.Run, run.Account)
		}
		return f.takeOver(last, restart)
	}
	return false, f.refused(err)
}

// reserve charges the run, and opens its account if it is declared.
func (f *privateFit) reserve() (dp.RunToken, error) {
	run := dp.Run{ID: f.run.Run, Charge: f.trainer.Charge(), Statement: f.trainer.Statement()}
	if f.run.Declare != nil {
		return f.run.Ledger.OpenReserve(f.run.Account, *f.run.Declare, run)
	}
	return f.run.Ledger.Reserve(f.run.Account, run)
}

// takeOver continues a run after a restart.
func (f *privateFit) takeOver(last dp.Checkpoint, restart bool) (over bool, err error) {
	t, run := f.trainer, &f.run
	row, err := f.row()
	if err != nil {
		return false, err
	}
	// Other options may cost more than what was reserved.
	if !reflect.DeepEqual(row.Charge, t.Charge()) || row.Statement.String() != t.Statement().String() {
		return false, noregret.Errorf(noregret.Usage, "run", "the run %q of account %q was charged for other "+
			"options: resume "+
			"it with the same ones, or name another run, which is charged anew", run.Run, run.Account)
	}
	if restart {
		if err := t.UnmarshalBinary(last.State); err != nil {
			return false, err
		}
		f.before = t.Records()
	}
	if row.State == dp.Closed && restart && last.Steps == row.Steps {
		// It died after it was closed: release the last model again, which costs nothing.
		f.outcome.Complete = true
		return true, f.give(last.Release)
	}
	if f.token, err = run.Ledger.Resume(run.Account, run.Run, last.Steps); err != nil || !restart {
		return false, err
	}
	if err := run.Ledger.Commit(f.token, last.Steps); err != nil {
		return false, err
	}
	if err := f.give(last.Release); err != nil || t.Records() < t.options.Horizon {
		return false, err
	}
	f.outcome.Complete = true
	return true, run.Ledger.Close(f.token)
}

// row returns the row of the run in the ledger.
func (f *privateFit) row() (dp.Run, error) {
	_, runs, err := f.run.Ledger.Account(f.run.Account)
	if err != nil {
		return dp.Run{}, err
	}
	for _, r := range runs {
		if r.ID == f.run.Run {
			return r, nil
		}
	}
	return dp.Run{}, noregret.Errorf(noregret.NotFound, "run", "%q does not exist in account "+
		"%q", f.run.Run, f.run.Account)
}

// refused adds the figures of the account to the error of a run that it cannot pay.
func (f *privateFit) refused(err error) error {
	if !errors.Is(err, dp.ErrBudgetExceeded) {
		return err
	}
	c, runs, fault := f.run.Ledger.Account(f.run.Account)
	spent, left := 0.0, 0.0
	switch {
	case fault == nil:
		if spent, fault = f.run.Ledger.Spent(f.run.Account, c.Budget.Delta()); fault != nil {
			return errors.Join(err, fault)
		}
		if rest, fault := f.run.Ledger.Remaining(f.run.Account); fault == nil {
			left = rest.Epsilon()
		}
	case f.run.Declare != nil: // it was not opened
		c = *f.run.Declare
		left = c.Budget.Epsilon()
	default:
		return errors.Join(err, fault)
	}
	o := &f.trainer.options
	return noregret.BadInputf("epsilon", "the run needs epsilon %g and delta %g; account %q has a budget of epsilon "+
		"%g and delta %g, of which %d runs have spent epsilon %.6g and epsilon %.6g remains%s: %w", o.Epsilon, o.Delta,
		f.run.Account, c.Budget.Epsilon(), c.Budget.Delta(), len(runs), spent, left, f.slack(c.Budget, runs),
		dp.ErrBudgetExceeded)
}

// slack says how much of the account's δ the discreteness of the noise of all runs takes, if that
// is more than a hundredth.
func (f *privateFit) slack(b dp.Budget, runs []dp.Run) string {
	sum := f.trainer.Charge()
	for i := range runs {
		sum.Slack += runs[i].Charge.Slack
	}
	extra := sum.SlackDelta(b.Epsilon())
	if b.Accounting() != dp.GDP || extra <= b.Delta()/100 {
		return ""
	}
	return fmt.Sprintf(", but the discreteness of the noise costs delta %.3g at the account's epsilon, (1+e^epsilon) "+
		"times %.3g: want an account of a smaller epsilon, or one in zCDP accounting", extra, sum.Slack)
}

// read learns the records of the stream.
func (f *privateFit) read(ctx context.Context, s *dataset.Stream) error {
	t := f.trainer
	err := readBlocks(ctx, s, func(b *dataset.Block) error {
		if b.Weight != nil {
			return noregret.BadInputf("input", "its records have weights, which a private training does not take: the "+
				"weight of a record would depend on the data")
		}
		f.learnTargets(s)
		for i := range b.Len() {
			if t.Records() == t.options.Horizon && f.prefix.rows == f.before {
				f.outcome.Unread = true
				return io.EOF
			}
			if err := f.record(b, i); err != nil {
				return err
			}
		}
		if f.run.Progress != nil {
			f.run.Progress(max(f.prefix.rows, t.Records()))
		}
		return nil
	})
	if err == nil && f.prefix.rows < f.before {
		err = f.prefix.check(t)
	}
	return err
}

// learnTargets adds the labels that have occurred since the last call.
func (f *privateFit) learnTargets(s *dataset.Stream) {
	for _, l := range s.Info().Labels[len(f.targets):] {
		f.targets = append(f.targets, f.trainer.target(l.Name))
	}
}

// record learns a record, or compares it with those that the state has learned already.
func (f *privateFit) record(b *dataset.Block, i int) error {
	t := f.trainer
	y := null
	if c := b.Class[i]; c != dataset.NoClass {
		y = f.targets[c]
	}
	if f.prefix.rows < f.before {
		f.prefix.add(b, i, y)
		if f.prefix.rows == f.before {
			return f.prefix.check(t)
		}
		return nil
	}
	index, value := b.Row(i)
	if err := t.Add(index, value, y); err != nil {
		return err
	}
	if every := f.run.SaveEvery; every > 0 && t.Records()%every == 0 {
		return f.release()
	}
	return nil
}

// release makes the current model durable, commits it and gives it out, in this order.
func (f *privateFit) release() error {
	t, run := f.trainer, &f.run
	m, err := t.Model(run.Account, run.Run)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := WriteModel(&b, m); err != nil {
		return err
	}
	state, err := t.MarshalBinary()
	if err != nil {
		return err
	}
	if err := run.Journal.Write(dp.Checkpoint{Steps: t.Records(), State: state, Release: b.Bytes()}); err != nil {
		return err
	}
	if err := run.Ledger.Commit(f.token, t.Records()); err != nil {
		return err
	}
	return f.give(b.Bytes())
}

// give releases a model that is committed.
func (f *privateFit) give(model []byte) error {
	c, err := ReadModel(bytes.NewReader(model), "journal")
	if err != nil {
		return err
	}
	if err := f.run.Release(model); err != nil {
		return err
	}
	f.outcome.Model = c
	return nil
}
