package train

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
)

// trainOptions are the flags of "noregret train".
type trainOptions struct {
	data      *dataflags.Flags
	fit       *trainFlags
	model     string
	valid     string
	json      bool
	stream    bool
	figures   bool
	saveEvery int64
	shards    shardFlags
	private   privateFlags

	opt      classify.Options // the options from the flags, without the measure
	measures measureChoice
}

const trainLong = `Train a linear classifier for a measure of rare positives and write it to a model file.

` + dataflags.Help + `

The positive label is the larger of two numbers, or the rarer of two names. --positive names it;
all other labels together are then the negative class. Training standardises the features; the
model applies to raw features. If the algorithm chooses among several models or tunes a threshold,
it uses a held-out part of the data (--holdout, --valid). With few positives stamp uses folds
instead (--folds): it trains five models, each without one fifth of the data, and takes their
mean. The models' scores on the fifth that they have not seen decide the choice and the threshold.

Without --algorithm the rows choose features, learner and threshold by cross-fitting, at about the
cost of four trainings; docs/how-to/algorithm.md says how. Every training prints the values of all
measures to expect on new rows, with intervals; they are cross-fitted on a part of the rows and
change nothing in the model.

--class-weight 1=5 lets a row with the label 1 count five times in the loss, times its own weight if
it has one; a label with a comma is quoted with its weight, --class-weight '"Yes, lost=5",No=1';
balanced lets all labels count the same together. Measures, thresholds and intervals
are of the rows as they are. It is for logistic, plugin, softmax, sgd-logistic and sgd-hinge; with
--algorithm auto it chooses among logistic regressions or softmax. All others weigh the classes
themselves.

--rate auto trains without a learning rate, by coin betting: no step size is chosen and none is
searched for. It is for all algorithms that make steps of their own (stamp, spade, sgd-*,
cost-search, one-vs-rest), for several classes and labels, and with --stream; it excludes
--tune-steps, --step-scale, --radius and --lambda. A number is the first step size of the schedule
of --steps.

The data are read once and stored for the passes: in memory, or beyond 72 MiB in a temporary file.
The same data, options and seed give the same bytes of the model file on every machine.

--stream trains in one pass directly from the reader and stores no data. It is for data from an
endless pipe and for data too large for the disk. It neither shuffles nor holds out a part, so the
data must come in random order, and the algorithm must be stamp, spade or one of the sgd-*, with the
threshold 0. Without --algorithm and settings of a learner two learn beside each other, that of the
measure and sgd-logistic with --rate auto. Each predicts a row before it learns from it: that
decides which is taken and with which threshold, at two to three times the cost, and gives the
probabilities of "noregret predict --proba"; the terminal and the model have the table of what was
compared, and the values of all measures to expect on new rows, with intervals. A named algorithm
gets probabilities and these values with --calibration platt or isotonic. Name the positive label
with --positive unless the labels are +1/-1 or 1/0.
--save-every N writes the model after every N examples, once both classes have appeared. The
command learns from the rows of a pipe as they arrive.

--drift says how a stream that changes is kept up with, and the rows must then come in the order
of time: restart:interval=N restarts the step sizes every N rows (with mode=full the learner),
discount:window=N discounts the past, detector:NAME restarts when the change detector adwin,
kswin, page-hinkley or cusum:mean=M finds that mistakes have become more frequent, and adaptive
mixes learners of many intervals. "noregret evaluate --prequential" compares them;
docs/prequential.md explains them.

--shard K/N trains on several machines: it learns from the rows whose number, counted from 1, is K
modulo N, and writes a model from which "noregret merge" joins those of all shards. --from starts
the next pass from the merged model. Where every machine has a file of its own, each file is the
shard 1/1; --schema-from MODEL then reads all of them as one model says, which may be of a few
rows: columns, marks, centers, day 0 of dates and weights of words, not the values of categories.
The algorithm must be stamp, spade or one of the sgd-*; --passes counts the passes before a merge,
1 by default. --from with --calibration platt or isotonic trains nothing: it scores
the rows that the shard has held out by the merged model, and "noregret merge" of these shards gives
that model with probabilities. docs/how-to/several-machines.md has recipes.

Data with more than two labels: a measure of all classes (macro_f1, macro_recall, accuracy, and
min, hmean, qmean and gmean without --positive) trains one linear model per class, and the largest
score decides. With --multilabel the label of a row is a list such as 1,3 (in svmlight "1,3
2:0.5"), and macro_f1, micro_f1 and the like train one model per label. "noregret algorithms" and
"noregret measures" list the algorithms and measures for both. --folds, --threshold,
--prior-positives, --all-epochs, --shard and --stream are for two classes only.

--private --check rehearses a private training before the first record is paid for: give the same
flags and data with --check. It says on the terminal, and nowhere else, for the operator's eyes,
what share of the records has a declared label, cannot be read, or is outside the declared ranges.
Nothing is written or charged. A mistyped --labels or column makes every record a null record; the
training itself must not look, so it spends the budget, learns nothing and ends with status 0.

--private trains a linear model of two classes with differential privacy: whoever sees all models
of the run, and knows all records but one, learns little about that one. It makes one pass, one
record at a time (--batch for more), by private online Frank-Wolfe for the loss of --loss, on the
ball of --norm and --radius (default 10 over the feature bound, for squared loss 2 over it). The
budget is --epsilon and --delta for all models together; the number of records is public, and
--horizon its largest value. All constants are stated before the data are seen: the two labels
(--labels; another label makes a null record), the features (--dim, --bits or --columns), and the
bounds to which records and gradients are clipped (--feature-bound, --clip). Flags that would let
the data choose are refused with the reason. Nothing is standardised: scale features by public
constants, or state ranges in --columns. Records should come in random order.

The cost is reserved in the ledger (--ledger, --account) before the first record. All models on one
data file are charged to one ledger, the directory DATA.privacy beside it: the first run declares
the budget for all of them (--account-epsilon, --account-delta; by default its own --epsilon and
--delta), and a run that does not fit is refused, as is another account there. Another ledger,
another account of a named ledger, and the ledger of a file where those of others are, begin with
--new-account only: it is said what is spent already and what comes in addition, as whoever is in
the data of both loses the sum. For several files,
standard input, or people who are in other files too, name their ledger with --ledger. A run that is
killed, or ends with fewer records than --horizon, goes on with --resume, the same flags and the
same records first, at no further cost. Until its end the directory --state holds secrets. "noregret
privacy plan" compares mechanisms; docs/privacy.md explains the claim. Loss and class counts of the
data are not printed: they are not private. A line that cannot be read, is blank, or lacks a value
is a null record, and nothing says so.

With --json the output is one object: algorithm, measure, value (the measure on held-out
data, null without any; with --algorithm auto or --shard that of figures), candidate, threshold,
intercept, features, nonzero_weights, rows, positives, positive_label, train and holdout (the class
sizes), passes, folds, digest, model, warnings, search and figures (as in the model file; left out
without any). For several classes or labels it is task, algorithm, measure, value, candidate,
features, rows, train_rows, holdout_rows, labels (a list of {label, train, holdout, intercept,
threshold, nonzero_weights}), passes, digest, model, warnings, search, figures. For --private it is
model, algorithm, records, horizon, complete, unread_records, labels, features, intercept, ledger,
account_epsilon_spent, account_epsilon_remaining, state, privacy (as in the model file), warnings.`

// mainFlags are those that most trainings use: the ones that train --help shows.
var mainFlags = []string{
	"measure", "model", "label", "positive", "multilabel", "algorithm", "valid", "seed", "stream", "shard", "private",
}

// newTrainCommand makes "noregret train".
func newTrainCommand(a *command.App, files privateFiles) *cobra.Command {
	o := &trainOptions{
		data: dataflags.New(), fit: newTrainFlags(), private: newPrivateFlags(files), figures: true,
	}
	cmd := command.New(a, &cobra.Command{
		Use:   "train --measure M --model FILE DATA... | train --private ... --model FILE DATA...",
		Short: "Train a classifier for F1, G-mean, Q-mean and their like",
		Long:  trainLong,
		Example: `  # For F1, from svmlight text
  noregret train --measure f1 --model f1.json train.svm

  # For G-mean, from a CSV file with a header; the digit 9 against all others
  noregret train --measure gmean --label digit --positive 9 --model nine.json train.csv.gz

  # All ten digits, for the worst of their recalls; topics, several a text
  noregret train --measure min --label digit --model digits.json train.csv.gz
  noregret train --measure micro_f1 --multilabel --model topics.json topics.svm

  # From a pipe without end, hashed into 2^20 features, saved every 100,000 rows
  tail -f log.svm | noregret train --stream --measure f1 --bits 20 --positive 1 \
    --save-every 100000 --model live.json -

  # A stream that changes: restart the step sizes when mistakes become more frequent
  tail -f log.svm | noregret train --stream --drift detector:adwin --measure gmean \
    --positive 1 --save-every 10000 --model live.json -

  # With differential privacy: rehearse on the terminal, which costs nothing
  noregret train --private --check --epsilon 1 --delta 1e-6 --horizon 50000 --labels no,yes \
    --columns age=0:100,income=0:200000 --label churned --model private.json customers.csv

  # Epsilon 1 and delta 1e-6 for one pass over at most 50,000 records
  noregret train --private --epsilon 1 --delta 1e-6 --horizon 50000 --labels no,yes \
    --columns age=0:100,income=0:200000 --label churned --model private.json customers.csv`,
		Args:    dataflags.WantArgs,
		PreRunE: o.requireMeasure,
	}, o)
	o.data.Register(cmd)
	o.data.RegisterPositive(cmd)
	o.data.RegisterMultilabel(cmd)
	o.data.RegisterCache(cmd)
	o.data.RegisterDigest(cmd)
	command.Require(cmd, "model")
	command.ShortHelp(cmd, mainFlags...)
	return cmd
}

// AddFlags implements [command.Options]. The flags of the data are added with the command.
func (o *trainOptions) AddFlags(f *pflag.FlagSet) {
	o.fit.AddFlags(f)
	f.StringVar(&o.model, "model", o.model, "file to write the model to")
	f.StringVar(&o.valid, "valid", o.valid, "file of held-out data, instead of a part of DATA")
	f.BoolVar(&o.json, "json", o.json, "print one JSON object")
	f.BoolVar(&o.figures, "figures", o.figures, "state what a named algorithm's model reaches on new rows, by five "+
		"more models of parts of the rows, which may take four fifths of the time; auto knows it anyway")
	f.BoolVar(&o.stream, "stream", o.stream, "train in one pass directly from the reader, without storing data")
	f.Int64Var(&o.saveEvery, "save-every", o.saveEvery,
		"with --stream or --private: write the model after every N examples, 0 for at the end only")
	o.shards.addTo(f)
	o.private.addTo(f)
}

// Validate implements [command.Options].
func (o *trainOptions) Validate() (err error) {
	if err := o.private.check(); err != nil {
		return err
	}
	if err := o.checkFigures(); err != nil {
		return err
	}
	if o.opt, err = o.fit.options(); err != nil {
		return err
	}
	if o.private.on {
		return nil
	}
	if o.valid != "" && o.opt.Holdout != nil {
		return noregret.Errorf(noregret.Usage, "--valid", "excludes --holdout: its rows are the ones held out")
	}
	if o.opt.Drift.Kind != forget.None && !o.stream {
		return noregret.Errorf(noregret.Usage, "--drift",
			"needs --stream: training on data that are kept shuffles them, so that nothing is recent")
	}
	if kind := o.data.NeedsStream(); kind != "" && !o.stream {
		return noregret.Errorf(noregret.Usage, "--digest",
			"%s needs --stream: reading is a small part of a training that keeps the data", kind)
	}
	if err := o.shards.check(o); err != nil {
		return err
	}
	o.measures, err = chooseMeasures("--measure", []string{o.fit.measure}, o.data)
	if err != nil || !o.stream {
		return err
	}
	if o.measures.of(classify.Binary) == nil {
		return noregret.Errorf(noregret.Usage, "--stream", "for two classes only; %s is a measure of several",
			o.fit.measure)
	}
	return nil
}

// checkFigures refuses --figures where it asks for what is not to be had. Without it, or with
// --figures=false, there is nothing to refuse.
func (o *trainOptions) checkFigures() error {
	if !o.figures || !o.fit.flags.Changed("figures") {
		return nil
	}
	for _, other := range []struct {
		flag  string
		given bool
	}{
		{"--private", o.private.on},
		{"--stream", o.stream},
		{"--shard", o.shards.given()},
		{"--valid", o.valid != ""},
		{"--multilabel", o.data.Multilabel},
	} {
		if other.given {
			return noregret.Errorf(noregret.Usage, "--figures",
				"no meaning with %s, where no further models are trained", other.flag)
		}
	}
	return nil
}

// Run implements [command.Options].
func (o *trainOptions) Run(ctx context.Context, a *command.App, inputs []string) error {
	if o.valid == files.StdName && slices.Contains(inputs, files.StdName) {
		return noregret.Errorf(noregret.Usage, "--valid",
			"standard input is also among DATA, but it can be read only once")
	}
	if o.private.on {
		if o.private.rehearse {
			return o.rehearsePrivate(ctx, a, inputs)
		}
		if err := o.checkPrivateOutputs(inputs); err != nil {
			return err
		}
		return o.runPrivate(ctx, a, inputs)
	}
	outputs := []files.Named{{Flag: "--model", Path: o.model}}
	if o.data.CachePath != "" {
		outputs = append(outputs, files.Named{Flag: "--cache", Path: o.data.CachePath})
	}
	if err := files.CheckOutputs(outputs, append(files.Inputs(inputs), files.Named{
		Flag: "--valid",
		Path: o.valid,
	})); err != nil {
		return err
	}
	if o.stream {
		return o.runStream(ctx, a, inputs)
	}
	if o.saveEvery != 0 {
		return noregret.Errorf(noregret.Usage, "--save-every", "needs --stream")
	}
	if o.shards.given() {
		return o.runShard(ctx, a, inputs)
	}
	// Before the data are read, for each meaning that the measure may have.
	if err := o.measures.check(func(task classify.Task) error { return o.options(task).Validate(task) }); err != nil {
		return err
	}
	return o.runPasses(ctx, a, inputs)
}

// options returns the options of the training for a task.
func (o *trainOptions) options(task classify.Task) classify.Options {
	opt := o.opt
	opt.Measure = o.measures.of(task)[0]
	return opt
}

// collectAt is by how many percent the memory in use grows until the garbage collector runs. Most
// of it is rows, which the default would have twice. This is worth a third of the memory and costs
// less than the time differs between runs.
const collectAt = 30

// runPasses is the training on kept data.
func (o *trainOptions) runPasses(ctx context.Context, a *command.App, inputs []string) (err error) {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(collectAt)
	}
	set, err := o.data.LoadSet(ctx, a, inputs, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	return o.fitSet(ctx, a, set, o.measures.taskOf(set.Info()))
}

// fitSet trains on a set and writes the model.
func (o *trainOptions) fitSet(ctx context.Context, a *command.App, set *dataset.Set, task classify.Task) error {
	opt := o.options(task)
	if err := opt.Validate(task); err != nil {
		return err
	}
	data, err := o.data.Examples(a, set, task)
	if err != nil {
		return err
	}
	if task != classify.Binary && o.measures.of(classify.Binary) != nil {
		a.Note("training for %s of all classes (--positive trains one of them against the others)", o.fit.measure)
	}
	var result *classify.Result
	err = o.fitKept(ctx, a, set.Info(), func(valid *dataset.Set, progress func(classify.Progress)) error {
		if valid != nil {
			held, err := data.Of(valid)
			if err != nil {
				return dataflags.WithPlace(err, valid.Info().Inputs)
			}
			opt.Valid = &held
		}
		opt.Progress = progress
		if result, err = classify.Fit(ctx, data, opt); err == nil && o.figures {
			err = result.CrossFigures(ctx, data, opt)
		}
		return dataflags.WithPlace(err, set.Info().Inputs)
	})
	if err != nil {
		return withFlag(err)
	}
	m, err := classify.NewModel(result, opt, data)
	if err != nil {
		return err
	}
	return o.save(a, m)
}

// fitKept calls fit with the data of --valid, nil without the flag, and with a progress reporter.
func (o *trainOptions) fitKept(ctx context.Context, a *command.App, info dataset.Info,
	fit func(valid *dataset.Set, progress func(classify.Progress)) error,
) error {
	var valid *dataset.Set
	if o.valid != "" {
		var err error
		if valid, err = o.loadValid(ctx, a, info); err != nil {
			return err
		}
		defer func() { _ = valid.Close() }() // only read
	}
	p, err := a.Progress()
	if err != nil {
		return err
	}
	defer p.Finish()
	return fit(valid, fitProgress(p))
}

// loadValid reads the data of --valid with the feature space of the training data.
func (o *trainOptions) loadValid(ctx context.Context, a *command.App, info dataset.Info) (*dataset.Set, error) {
	flags := *o.data
	flags.CachePath, flags.Unseen, flags.Format = "", string(dataset.UnseenIgnore), string(dataset.Auto)
	flags.Base, flags.Bits = string(dataset.BaseAuto), 0
	return flags.LoadSet(ctx, a, []string{o.valid}, info.Schema)
}

// save writes the model file, reports the warnings and prints the summary.
func (o *trainOptions) save(a *command.App, m *classify.Model) error {
	if err := classify.SaveModel(o.model, m); err != nil {
		return err
	}
	for _, w := range m.Warnings {
		a.Note("warning: %s", w)
	}
	if o.json {
		return show.JSON(a.Stdout, trainSummary(m, o.model))
	}
	return printModel(a.Stdout, m, o.model)
}
