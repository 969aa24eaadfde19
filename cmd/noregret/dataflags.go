package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/internal/progress"
)

// dataFlags are the flags for reading examples. Package dataset chooses the defaults of empty
// flags, from the model if there is one. A command that reads data has all of the flags (register),
// or those that a model does not determine (registerWithModel).
type dataFlags struct {
	format, base, delimiter, quotes, header, missing, unseen string
	label, weight, labelKey, weightKey, positive             string
	categorical, ignore                                      []string
	bits, workers, maxDim                                    int
	maxBad                                                   int64
	cachePath, tempDir                                       string

	labelless  bool // rows need no label
	multilabel bool // the label of a row is a list
}

func newDataFlags() *dataFlags {
	return &dataFlags{
		format: string(dataset.Auto), base: string(dataset.BaseAuto), header: string(dataset.HeaderAuto), quotes: "yes",
		maxDim: dataset.DefaultMaxDim, unseen: string(dataset.UnseenError),
	}
}

// dataHelp is the part about DATA in the Long text of a command.
const dataHelp = `DATA are one or more files, or - for standard input: svmlight (label index:value ...), CSV, JSON
lines, IDX (an image file and its label file) or the binary cache of "noregret cache",
uncompressed or compressed by gzip or zstd. The format is recognised by content. Several files are
one data set.`

// register adds all flags of reading to a command that learns the feature space from the data.
func (f *dataFlags) register(cmd *cobra.Command) {
	f.registerWithModel(cmd)
	s := cmd.Flags()
	s.Var(newChoice(&f.base, "auto", "0", "1"), "base",
		"svmlight: number of the first feature; auto is 0 if the index 0 occurs, else 1")
	s.IntVar(&f.bits, "bits", f.bits, "hash features into 2^B slots, B from 1 to 31; 0 is off; training takes about "+
		"180 bytes a slot, 200 MB for 20 bits")
	s.IntVar(&f.maxDim, "max-dim", f.maxDim, "largest number of features, about 180 bytes of memory each in training; "+
		"a line that goes beyond it is refused")
	s.StringVar(&f.weight, "weight-column", f.weight, "CSV: column of the example weights, by name or number from 1")
	s.StringSliceVar(&f.categorical, "categorical", f.categorical,
		"CSV: columns to treat as categorical whatever they contain")
	s.StringSliceVar(&f.ignore, "ignore-columns", f.ignore, "CSV: columns to skip; JSON lines: keys to skip")
	s.Var(newChoice(&f.missing, "error", "zero", "indicator"), "missing",
		"CSV: what a missing number becomes; indicator is 0 and a feature of its own (default error)")
	s.StringVar(&f.tempDir, "temp-dir", f.tempDir, "directory of the temporary file for data larger than memory")
}

// registerWithModel adds the flags that make sense when a model fixes the feature space.
func (f *dataFlags) registerWithModel(cmd *cobra.Command) {
	s := cmd.Flags()
	s.Var(newChoice(&f.format, "auto", "svmlight", "csv", "jsonl", "idx", "cache"), "format",
		"format of the data; auto finds it by content")
	s.StringVar(&f.delimiter, "delimiter", f.delimiter,
		`CSV: separator, "," or ";" or "tab"; found in the first line by default`)
	s.Var(newChoice(&f.quotes, "yes", "no"), "quotes",
		"CSV: whether cells may be quoted; with no, a quote is a character like any other")
	s.Var(newChoice(&f.header, "auto", "yes", "no"), "header", "CSV: whether the first line names the columns")
	s.StringVar(&f.label, "label", f.label,
		"CSV: column of the label, by name, number from 1 or \"last\" (the default)")
	s.StringVar(&f.labelKey, "label-key", f.labelKey,
		"JSON lines: key of the label (default the model's, else \"label\")")
	s.StringVar(&f.weightKey, "weight-key", f.weightKey,
		"JSON lines: key of the example weight (default the model's, else \"weight\")")
	s.Int64Var(&f.maxBad, "max-bad-lines", f.maxBad,
		"number of lines that may break a rule; they are skipped, counted and reported")
	s.IntVar(&f.workers, "workers", f.workers, "goroutines that parse, 0 for all cores; the result is the same for "+
		"any number")
}

// registerPositive adds --positive.
func (f *dataFlags) registerPositive(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.positive, "positive", f.positive,
		"label of the positive examples; all others are negative")
}

// registerMultilabel adds --multilabel.
func (f *dataFlags) registerMultilabel(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.multilabel, "multilabel", f.multilabel,
		"labels are lists separated by commas, such as 1,3; a row without a label has none of them")
}

// registerCache adds --cache.
func (f *dataFlags) registerCache(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.cachePath, "cache", f.cachePath, "also keep the data as a binary cache in this file")
}

// registerUnseen adds --unseen with a default.
func (f *dataFlags) registerUnseen(cmd *cobra.Command, def dataset.Unseen) {
	f.unseen = string(def)
	cmd.Flags().Var(newChoice(&f.unseen, "error", "ignore"), "unseen",
		"features that training did not have: refuse them, or ignore and count them")
}

// options are the options of reading that the flags ask for. Give the model's schema, or nil.
func (f *dataFlags) options(ctx context.Context, a *app, schema *dataset.Schema) dataset.Options {
	delimiter := f.delimiter
	if delimiter == "tab" || delimiter == `\t` {
		delimiter = "\t"
	}
	return dataset.Options{
		Format: dataset.Format(f.format), Base: dataset.IndexBase(f.base), Bits: f.bits, MaxDim: f.maxDim,
		MaxBadLines: f.maxBad,
		Unseen:      dataset.Unseen(f.unseen), Schema: schema, Delimiter: delimiter, NoQuotes: f.quotes == "no",
		Header:      dataset.Header(f.header),
		LabelColumn: f.label, WeightColumn: f.weight, Categorical: f.categorical, IgnoreColumns: f.ignore,
		Missing: dataset.Missing(f.missing), LabelKey: f.labelKey, WeightKey: f.weightKey, AllowNoLabel: f.labelless ||
			f.multilabel,
		Workers: f.workers, TempDir: f.tempDir, CachePath: f.cachePath, Stdin: newCancelReader(ctx, a.stdin),
	}
}

// load reads the inputs and finds the positive label. It reports on standard error what was skipped
// and which defaults were chosen. The caller closes the set.
func (f *dataFlags) load(ctx context.Context, a *app, inputs []string) (*dataset.Set, classify.Data, error) {
	set, err := f.loadSet(ctx, a, inputs, nil)
	if err != nil {
		return nil, classify.Data{}, err
	}
	data, err := f.twoClasses(a, set)
	if err != nil {
		return nil, data, errors.Join(err, set.Close())
	}
	return set, data, nil
}

// twoClasses finds the positive label of a set and reports which defaults were chosen.
func (f *dataFlags) twoClasses(a *app, set *dataset.Set) (classify.Data, error) {
	info := set.Info()
	class, err := info.Positive(f.positive)
	if e, ok := errors.AsType[*noregret.Error](err); ok && f.positive == "" && len(info.Labels) > 2 {
		hint := *e
		hint.Message += ", or train for all of them (--measure macro_f1)"
		err = &hint
	}
	if err != nil {
		return classify.Data{}, err
	}
	a.decisions(f, info, class)
	a.manyValues(info)
	return classify.Data{Set: set, Positive: class}, nil
}

// allLabels is twoClasses for tasks of several classes or labels.
func (f *dataFlags) allLabels(a *app, set *dataset.Set, task classify.Task) (classify.MultiData, error) {
	data, err := classify.NewMultiData(set, task)
	if err != nil {
		return data, withPlace(err, set.Info().Inputs)
	}
	what := "classes"
	if task == classify.Multilabel {
		what = "labels"
	}
	a.note("there are %d %s: %s", len(data.Labels), what, listed(data.Labels))
	info := set.Info()
	a.readDecisions(f, info.Schema, indexReason(info.Schema))
	a.manyValues(info)
	return data, nil
}

// loadSet is load without looking at the labels.
func (f *dataFlags) loadSet(ctx context.Context, a *app, inputs []string, schema *dataset.Schema) (*dataset.Set,
	error,
) {
	p, err := a.progress()
	if err != nil {
		return nil, err
	}
	opt := f.options(ctx, a, schema)
	opt.Progress = readProgress(p, "read")
	set, err := dataset.Load(ctx, inputs, opt)
	p.Finish()
	if err != nil {
		return nil, err
	}
	a.skipped(set.Info())
	return set, nil
}

// readProgress returns a callback for [dataset.Options.Progress]. The number of rows in all is
// estimated from the bytes of the first piece.
func readProgress(p *progress.Reporter, task string) func(read, total, rows int64) {
	started := false
	return func(read, total, rows int64) {
		if !started {
			started = true
			estimate := int64(0)
			if total > 0 && read > 0 {
				estimate = max(rows, int64(float64(rows)*(float64(total)/float64(read))))
			}
			p.Start(task, estimate)
			return // the duration of the first block is unknown
		}
		p.Update(rows)
	}
}

// note prints a sentence on standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, "noregret: %s\n", legible.Lines(fmt.Sprintf(format, args...)))
}

// skipped reports the lines that were skipped under --max-bad-lines and the values that were
// dropped under --unseen ignore.
func (a *app) skipped(info dataset.Info) {
	if info.BadLines > 0 {
		a.note("skipped %s (--max-bad-lines):", count(int(info.BadLines), "bad line", "bad lines"))
		for _, err := range info.FirstBad {
			a.note("  %s", err)
		}
		if more := info.BadLines - int64(len(info.FirstBad)); more > 0 {
			a.note("  and %d more", more)
		}
	}
	if info.IgnoredFeatures > 0 {
		a.note("ignored %s of features that training did not have (--unseen error refuses them)",
			count(int(info.IgnoredFeatures), "value", "values"))
	}
}

// decisions reports the defaults that were chosen in the absence of flags.
func (a *app) decisions(f *dataFlags, info dataset.Info, class int) {
	s := info.Schema
	if f.positive == "" {
		why := "the rarer of the two"
		if isNumber(info.Labels[0].Name) && isNumber(info.Labels[1].Name) {
			why = "the larger of the two"
		}
		a.note("the positive label is %q, %s (--positive says otherwise)", info.Labels[class].Name, why)
	}
	a.readDecisions(f, s, indexReason(s))
}

// indexReason explains why features are numbered from 0 or 1.
func indexReason(s *dataset.Schema) string {
	if s.Base == dataset.BaseZero {
		return "the index 0 occurs"
	}
	return "no index 0 occurs"
}

// readDecisions reports the defaults chosen for reading the data. base explains the choice of the
// index base.
func (a *app) readDecisions(f *dataFlags, s *dataset.Schema, base string) {
	if f.format == string(dataset.Auto) {
		a.note("the format is %s (--format says otherwise)", s.Format)
	}
	switch {
	case s.Format == dataset.SVMLight && s.Bits == 0 && f.base == string(dataset.BaseAuto):
		a.note("features are numbered from %s, %s (--base says otherwise)", s.Base, base)
	case s.Format == dataset.CSV:
		a.csvDecisions(f, s)
	}
}

// manyValues warns of columns of categories with nearly as many values as there are rows: names,
// numbers of accounts.
func (a *app) manyValues(info dataset.Info) {
	s := info.Schema
	if s.Format != dataset.CSV || s.Bits > 0 || info.Rows < 100 {
		return
	}
	values := map[string]int64{}
	for _, f := range s.Features {
		for _, c := range s.Columns {
			if c.Kind == dataset.Categorical && strings.HasPrefix(f, c.Name+"=") {
				values[c.Name]++
			}
		}
	}
	for _, c := range s.Columns {
		if n := values[c.Name]; n > info.Rows/2 {
			a.note("warning: column %q has %d values in %d rows: each is a feature of its own that says little "+
				"(--ignore-columns leaves it out)", c.Name, n, info.Rows)
		}
	}
}

func (a *app) csvDecisions(f *dataFlags, s *dataset.Schema) {
	if f.header == string(dataset.HeaderAuto) {
		first := "is data"
		if s.Header {
			first = "names the columns"
		}
		a.note("the first line %s (--header says otherwise)", first)
	}
	var categorical []string
	for i, c := range s.Columns {
		if c.Kind == dataset.LabelKind && f.label == "" && i == len(s.Columns)-1 {
			a.note("the label is the last column, %q (--label says otherwise)", c.Name)
		}
		if c.Kind == dataset.Categorical {
			categorical = append(categorical, c.Name)
		}
	}
	if len(categorical) > len(f.categorical) {
		a.note("categorical columns: %s", strings.Join(categorical, ", "))
	}
}

// wantData is the check of the arguments of a command that reads data.
func wantData(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return noregret.Errorf(noregret.Usage, "", "no data: name at least one file, or - for standard input")
	}
	return nil
}
