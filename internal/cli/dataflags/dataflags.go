package dataflags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/progress"
)

// Flags are the flags for reading examples. Package dataset chooses the defaults of empty flags,
// from the model if there is one. A command that reads data has all of the flags (Register), or
// those that a model does not determine (RegisterWithModel). The exported fields are those that
// commands read or set themselves.
type Flags struct {
	Format, Base, delimiter, quotes, Header, Missing, Unseen string
	Label, weight, LabelKey, weightKey, Positive             string
	Categorical, ignore, missingValues, center, text         []string
	digest                                                   string // "none" to leave it out
	decimal, dateOrder                                       string
	Bits, Workers, maxDim                                    int
	maxBad                                                   int64
	CachePath, tempDir                                       string

	Labelless  bool // rows need no label
	Multilabel bool // the label of a row is a list

	Like *dataset.Schema // read as it says, see [dataset.Options]; nil for none
}

// New returns the flags with their defaults.
func New() *Flags {
	return &Flags{
		Format: string(dataset.Auto), Base: string(dataset.BaseAuto), Header: string(dataset.HeaderAuto), quotes: "yes",
		decimal: "auto", dateOrder: "auto",
		maxDim: dataset.DefaultMaxDim, Unseen: string(dataset.UnseenError),
	}
}

// Help is the part about DATA in the Long text of a command.
const Help = `DATA are one or more files, or - for standard input: svmlight (label index:value ...), CSV, ARFF,
JSON lines or an array of objects, the text of Vowpal Wabbit, IDX (an image file and its label
file) or the binary cache of "noregret cache", uncompressed or compressed by gzip, zstd or bzip2.
The format is recognised by content. Several files are one data set.`

// Register adds all flags of reading to a command that learns the feature space from the data.
func (f *Flags) Register(cmd *cobra.Command) {
	f.RegisterWithModel(cmd)
	s := cmd.Flags()
	s.Var(command.NewChoice(&f.Base, "auto", "0", "1"), "base",
		"svmlight: number of the first feature; auto is 0 if the index 0 occurs, else 1")
	s.IntVar(&f.Bits, "bits", f.Bits, "hash features into 2^B slots, B from 1 to 31; 0 is off; training takes about "+
		"180 bytes a slot, 200 MB for 20 bits")
	s.IntVar(&f.maxDim, "max-dim", f.maxDim, "largest number of features, about 180 bytes of memory each in training; "+
		"a line that goes beyond it is refused")
	s.StringVar(&f.weight, "weight-column", f.weight, "CSV: column of the example weights, by name or number from 1; "+
		"JSON lines: as --weight-key")
	s.StringSliceVar(&f.Categorical, "categorical", f.Categorical,
		"CSV, JSON lines: columns or keys to treat as categorical whatever they contain")
	s.StringSliceVar(&f.text, "text", f.text,
		"CSV, JSON lines: columns or keys of texts: features are their words and pairs of words, hashed "+
			"and weighed by tf-idf; sentences are found without it")
	s.Var(command.NewChoice(&f.decimal, "auto", ".", ","), "decimal",
		"decimal mark of the numbers of CSV; auto finds it, and marks of thousands, percent and the currency, "+
			"in the first rows")
	s.Var(command.NewChoice(&f.dateOrder, "auto", "dmy", "mdy"), "date-order",
		"order of day and month in dates such as 1/2/2024; auto finds it in the first rows")
	s.StringSliceVar(&f.missingValues, "missing-values", f.missingValues,
		"CSV, JSON lines: cells that are missing besides empty ones and NA, N/A, NaN, null, ?, and, in columns of "+
			"numbers and dates, -, --, ., #N/A, \\N, missing, none, unknown, <NA>")
	s.StringSliceVar(&f.center, "center", f.center,
		"CSV, JSON lines: columns of numbers from which the median of the first rows is subtracted; where it is "+
			"16,777,216 or more, or cells are missing and 0 is far from all others, it is without the flag; "+
			"they are no dates such as 20240131")
	s.StringSliceVar(&f.ignore, "ignore-columns", f.ignore, "CSV: columns to skip; JSON lines: keys to skip")
	s.Var(command.NewChoice(&f.Missing, "error", "zero", "indicator"), "missing",
		"what a missing number becomes; indicator is 0 and a feature of its own (default indicator)")
	s.StringVar(&f.tempDir, "temp-dir", f.tempDir, "directory of the temporary file for data larger than memory")
}

// RegisterWithModel adds the flags that make sense when a model fixes the feature space.
func (f *Flags) RegisterWithModel(cmd *cobra.Command) {
	s := cmd.Flags()
	s.Var(command.NewChoice(&f.Format, dataset.Formats()...), "format",
		"format of the data; auto finds it by content")
	s.StringVar(&f.delimiter, "delimiter", f.delimiter,
		`CSV: separator, "," or ";" or "tab" or "|"; found in the first line by default`)
	s.Var(command.NewChoice(&f.quotes, "yes", "no"), "quotes",
		"CSV: whether cells may be quoted; with no, a quote is a character like any other")
	s.Var(command.NewChoice(&f.Header, "auto", "yes", "no"), "header", "CSV: whether the first line names the columns")
	s.StringVar(&f.Label, "label", f.Label,
		"CSV: column of the label, by name, number from 1 or \"last\"; by default the one named label, target, class "+
			"or y, else the last; JSON lines: as --label-key")
	s.StringVar(&f.LabelKey, "label-key", f.LabelKey,
		"JSON lines: key of the label (default the model's, else the one named label, target, class or y)")
	s.StringVar(&f.weightKey, "weight-key", f.weightKey,
		"JSON lines: key of the example weight (default the model's, else \"weight\")")
	s.Int64Var(&f.maxBad, "max-bad-lines", f.maxBad,
		"number of lines that may break a rule; they are skipped, counted and reported")
	s.IntVar(&f.Workers, "workers", f.Workers, "goroutines that parse, 0 for all cores; the result is the same for "+
		"any number")
}

// RegisterPositive adds --positive.
func (f *Flags) RegisterPositive(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Positive, "positive", f.Positive,
		"label of the positive examples; all others are negative")
}

// RegisterMultilabel adds --multilabel.
func (f *Flags) RegisterMultilabel(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Multilabel, "multilabel", f.Multilabel,
		"labels are lists separated by commas, such as 1,3; a row without a label has none of them")
}

// RegisterCache adds --cache.
func (f *Flags) RegisterCache(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.CachePath, "cache", f.CachePath, "also keep the data as a binary cache in this file")
}

// RegisterDigest adds --digest.
func (f *Flags) RegisterDigest(cmd *cobra.Command) {
	f.digest = autoDigest
	cmd.Flags().Var(command.NewChoice(&f.digest, autoDigest, "sha256", "xxh64", "none"), "digest",
		"hash of the data in the model file; auto: sha256, with --stream the cheaper xxh64")
}

// autoDigest is the value of --digest that depends on --stream.
const autoDigest = "auto"

// StreamDigest returns the digest of a stream.
func (f *Flags) StreamDigest() dataset.Digest {
	if f.digest == autoDigest {
		return dataset.XXH64
	}
	return dataset.Digest(f.digest)
}

// NeedsStream returns the value of --digest if it is for streams only, else "".
func (f *Flags) NeedsStream() string {
	if f.digest == "xxh64" || f.digest == "none" {
		return f.digest
	}
	return ""
}

// RegisterUnseen adds --unseen with a default.
func (f *Flags) RegisterUnseen(cmd *cobra.Command, def dataset.Unseen) {
	f.Unseen = string(def)
	cmd.Flags().Var(command.NewChoice(&f.Unseen, "error", "ignore"), "unseen",
		"features that training did not have: refuse them, or ignore and count them")
}

// Options are the options of reading that the flags ask for. Give the model's schema, or nil.
func (f *Flags) Options(ctx context.Context, a *command.App, schema *dataset.Schema) dataset.Options {
	delimiter := f.delimiter
	if delimiter == "tab" || delimiter == `\t` {
		delimiter = "\t"
	}
	found := func(choice string) string {
		if choice == "auto" {
			return ""
		}
		return choice
	}
	return dataset.Options{
		Decimal: found(f.decimal), DateOrder: found(f.dateOrder),
		MissingValues: f.missingValues, CenterColumns: f.center, TextColumns: f.text,
		Format: dataset.Format(f.Format), Base: dataset.IndexBase(f.Base), Bits: f.Bits, MaxDim: f.maxDim,
		MaxBadLines: f.maxBad,
		Unseen:      dataset.Unseen(f.Unseen), Schema: schema, Like: f.Like, Delimiter: delimiter,
		NoQuotes:    f.quotes == "no",
		Header:      dataset.Header(f.Header),
		LabelColumn: f.Label, WeightColumn: f.weight, Categorical: f.Categorical, IgnoreColumns: f.ignore,
		Missing: dataset.Missing(f.Missing), LabelKey: f.LabelKey, WeightKey: f.weightKey, AllowNoLabel: f.Labelless ||
			f.Multilabel,
		Workers: f.Workers, TempDir: f.tempDir, CachePath: f.CachePath, Stdin: a.Input(ctx),
	}
}

// Load reads the inputs and finds the positive label. It reports on standard error what was skipped
// and which defaults were chosen. The caller closes the set.
func (f *Flags) Load(ctx context.Context, a *command.App, inputs []string) (*dataset.Set, classify.Data, error) {
	set, err := f.LoadSet(ctx, a, inputs, nil)
	if err != nil {
		return nil, classify.Data{}, err
	}
	data, err := f.TwoClasses(a, set)
	if err != nil {
		return nil, data, errors.Join(err, set.Close())
	}
	return set, data, nil
}

// TwoClasses finds the positive label of a set and reports which defaults were chosen.
func (f *Flags) TwoClasses(a *command.App, set *dataset.Set) (classify.Data, error) {
	info := set.Info()
	class, err := info.Positive(f.Positive)
	if e, ok := errors.AsType[*noregret.Error](err); ok {
		hint := *e
		if f.Positive == "" && len(info.Labels) > 2 {
			hint.Message += ", or train for all of them (--measure macro_f1)"
		}
		for _, c := range info.Schema.Columns {
			if c.Kind == dataset.LabelKind {
				hint.Message += fmt.Sprintf("; the label is column %q (--label names another)", c.Name)
			}
		}
		if key := info.Schema.Label; key != "" {
			hint.Message += fmt.Sprintf("; the label is the key %q (--label-key names another)", key)
		}
		err = &hint
	}
	if err != nil {
		return classify.Data{}, err
	}
	f.decisions(a, info, class)
	manyValues(a, info)
	if l := info.Labels[class]; f.Positive == "" && 2*l.Rows > info.Rows-info.NoLabel {
		a.Note("warning: the positive label %q has %d of %d rows: measures such as F1 are for the rarer class "+
			"(--positive %s)", l.Name, l.Rows, info.Rows-info.NoLabel, info.Labels[1-class].Name)
	}
	return classify.Data{Set: set, Positive: class}, nil
}

// Examples returns the data of a set for a task and reports which defaults were chosen.
func (f *Flags) Examples(a *command.App, set *dataset.Set, task classify.Task) (classify.Data, error) {
	if task == classify.Binary {
		return f.TwoClasses(a, set)
	}
	data, err := classify.NewData(set, task)
	if err != nil {
		return data, WithPlace(err, set.Info().Inputs)
	}
	what := "classes"
	if task == classify.Multilabel {
		what = "labels"
	}
	a.Note("there are %d %s: %s", len(data.Labels), what, show.Listed(data.Labels))
	info := set.Info()
	f.ReadDecisions(a, info, indexReason(info.Schema))
	manyValues(a, info)
	return data, nil
}

// LoadSet is Load without looking at the labels.
func (f *Flags) LoadSet(ctx context.Context, a *command.App, inputs []string, schema *dataset.Schema) (*dataset.Set,
	error,
) {
	return f.LoadShare(ctx, a, inputs, schema, dataset.Share{})
}

// LoadShare is LoadSet for a share of the rows.
func (f *Flags) LoadShare(ctx context.Context, a *command.App, inputs []string, schema *dataset.Schema,
	share dataset.Share,
) (*dataset.Set, error) {
	p, err := a.Progress()
	if err != nil {
		return nil, err
	}
	opt := f.Options(ctx, a, schema)
	opt.Progress, opt.Share = ReadProgress(p, "read"), share
	set, err := dataset.Load(ctx, inputs, opt)
	p.Finish()
	if err != nil {
		return nil, err
	}
	Skipped(a, set.Info())
	return set, nil
}

// Ignore leaves out one more column.
func (f *Flags) Ignore(column string) { f.ignore = append(slices.Clip(f.ignore), column) }

// ReadProgress returns a callback for [dataset.Options.Progress]. The number of rows in all is
// estimated from the bytes of the first piece.
func ReadProgress(p *progress.Reporter, task string) func(read, total, rows int64) {
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

// Skipped reports the lines that were skipped under --max-bad-lines and the values that were
// dropped under --unseen ignore.
func Skipped(a *command.App, info dataset.Info) {
	if info.BadLines > 0 {
		a.Note("skipped %s (--max-bad-lines):", show.Count(int(info.BadLines), "bad line", "bad lines"))
		for _, err := range info.FirstBad {
			a.Note("  %s", err)
		}
		if more := info.BadLines - int64(len(info.FirstBad)); more > 0 {
			a.Note("  and %d more", more)
		}
	}
	if info.IgnoredFeatures > 0 {
		a.Note("ignored %s of features that training did not have (--unseen error refuses them)%s",
			show.Count(int(info.IgnoredFeatures), "value", "values"), ignoredColumns(info.IgnoredColumns))
	}
}

// ignoredColumns says which columns have values that were dropped.
func ignoredColumns(columns []dataset.IgnoredColumn) string {
	var names []string
	missing := false
	for i, c := range columns {
		name := fmt.Sprintf("%q", c.Name)
		switch {
		case i == dataset.MaxIgnoredColumns-1:
			name = "more"
		case c.Missing:
			name += " (missing)"
			missing = true
		case c.Value != "":
			name += fmt.Sprintf(" (%.40q)", c.Value)
		}
		names = append(names, name)
	}
	out := ""
	if len(names) > 0 {
		out = ": " + strings.Join(names, ", ")
	}
	if missing {
		out += "; a missing number counts as 0, in a centered column as its center, as training had none there"
	}
	return out
}

// decisions reports the defaults that were chosen in the absence of flags.
func (f *Flags) decisions(a *command.App, info dataset.Info, class int) {
	s := info.Schema
	if f.Positive == "" {
		why := "the rarer of the two"
		if isNumber(info.Labels[0].Name) && isNumber(info.Labels[1].Name) {
			why = "the larger of the two"
		}
		a.Note("the positive label is %q, %s (--positive says otherwise)", info.Labels[class].Name, why)
	}
	f.ReadDecisions(a, info, indexReason(s))
}

// indexReason explains why features are numbered from 0 or 1.
func indexReason(s *dataset.Schema) string {
	if s.Base == dataset.BaseZero {
		return "the index 0 occurs"
	}
	return "no index 0 occurs"
}

// ReadDecisions reports the defaults chosen for reading the data. base explains the choice of the
// index base.
func (f *Flags) ReadDecisions(a *command.App, info dataset.Info, base string) {
	s := info.Schema
	if f.Format == string(dataset.Auto) {
		a.Note("the format is %s (--format says otherwise)", cmp.Or(info.Written, string(s.Format)))
	}
	switch {
	case s.Format == dataset.SVMLight && s.Bits == 0 && f.Base == string(dataset.BaseAuto):
		a.Note("features are numbered from %s, %s (--base says otherwise)", s.Base, base)
	case s.Format == dataset.CSV:
		f.csvDecisions(a, s, info.Written == "ARFF")
		f.columnDecisions(a, s)
	case s.Format == dataset.JSONL:
		if f.LabelKey == "" && f.Label == "" && info.NoLabel < info.Rows {
			a.Note("the label is the key %q, by its name (--label-key says otherwise)", s.Label)
		}
		f.columnDecisions(a, s)
	}
}

// categories returns the columns or keys that are read as categories, in the order of the columns
// or of their first values.
func categories(s *dataset.Schema) (names []string) {
	special := map[string]bool{}
	for _, c := range s.Columns {
		if c.Kind == dataset.Categorical && s.Format == dataset.CSV {
			names = append(names, c.Name)
		}
		special[c.Name] = c.Kind != dataset.Categorical
	}
	if s.Format != dataset.JSONL {
		return names
	}
	for _, f := range s.Features {
		if key, value, valued := strings.Cut(f, "="); valued && value != "missing" && !special[key] {
			names = append(names, key)
			special[key] = true
		}
	}
	return names
}

// manyValues warns of columns or keys of categories with nearly as many values as there are rows:
// names, numbers of accounts.
func manyValues(a *command.App, info dataset.Info) {
	s := info.Schema
	if s.Bits > 0 || info.Rows < 100 {
		return
	}
	names, values := categories(s), map[string]int64{}
	for _, name := range names {
		values[name] = 0
	}
	for _, f := range s.Features {
		for i := range len(f) {
			if f[i] != '=' {
				continue
			}
			if _, found := values[f[:i]]; found {
				values[f[:i]]++
				break
			}
		}
	}
	for _, name := range names {
		if n := values[name]; n > info.Rows/2 {
			a.Note("warning: %s %q has %d values in %d rows: each is a feature of its own that says little "+
				"(--ignore-columns leaves it out)", noun(s), name, n, info.Rows)
		}
	}
}

// noun is what the data call a column.
func noun(s *dataset.Schema) string {
	if s.Format == dataset.JSONL {
		return "key"
	}
	return "column"
}

func (f *Flags) csvDecisions(a *command.App, s *dataset.Schema, named bool) {
	if f.Header == string(dataset.HeaderAuto) && !named {
		first := "is data"
		if s.Header {
			first = "names the columns"
		}
		a.Note("the first line %s (--header says otherwise)", first)
	}
	for i, c := range s.Columns {
		switch {
		case c.Kind != dataset.LabelKind || f.Label != "" || f.LabelKey != "":
		case i == len(s.Columns)-1:
			a.Note("the label is the last column, %q (--label says otherwise)", c.Name)
		default:
			a.Note("the label is the column %q, by its name (--label says otherwise)", c.Name)
		}
	}
}

// columnDecisions reports the columns or keys that are not read in the plain way, and those of
// categories.
func (f *Flags) columnDecisions(a *command.App, s *dataset.Schema) {
	for _, c := range s.Columns {
		if how := reading(c, s.Format); how != "" {
			a.Note("%s %q: %s", noun(s), c.Name, how)
		}
	}
	if names := categories(s); len(names) > len(f.Categorical) {
		more := ""
		if n := len(names); n > 20 {
			names, more = names[:20], fmt.Sprintf(" and %d more", n-20)
		}
		a.Note("categorical %ss: %s%s", noun(s), strings.Join(names, ", "), more)
	}
}

// reading says how a column or key is read if that is not the plain way of the format.
func reading(c dataset.Column, format dataset.Format) string {
	var how []string
	if format == dataset.JSONL && c.Kind == dataset.Numeric && c.Center == 0 {
		how = append(how, "strings that are numbers (--categorical reads them as names)")
	}
	if c.Decimal != "" {
		how = append(how, "the decimal mark is the comma (--decimal says otherwise)")
	}
	if c.Thousands != "" {
		how = append(how, fmt.Sprintf("%q divides thousands", c.Thousands))
	}
	if c.Percent {
		how = append(how, "percent")
	}
	if c.Currency != "" {
		how = append(how, "amounts in "+c.Currency)
	}
	switch c.DateOrder {
	case "dmy":
		how = append(how, "in dates such as 1/2/2024 the day is first (--date-order says otherwise)")
	case "mdy":
		how = append(how, "in dates such as 1/2/2024 the month is first (--date-order says otherwise)")
	}
	switch {
	case c.DateOrder == "yyyymmdd":
		how = append(how, "days such as 20240131 become days, year, month and weekday (--center reads them as numbers)")
	case c.Kind == dataset.Month:
		how = append(how, "months become days, year and month (--categorical reads them as names)")
	case c.Kind == dataset.TimeOfDay:
		how = append(how, "times of day become hours (--categorical reads them as names)")
	case c.Kind == dataset.Date || c.Kind == dataset.Timestamp:
		how = append(how, "dates become days, year, month and weekday (--categorical reads them as names)")
	case c.Kind == dataset.Text:
		how = append(how, "a text: its words and pairs of words are features (--categorical reads it as names)")
	case c.Center != 0:
		how = append(how, strconv.FormatFloat(c.Center, 'f', -1, 64)+", the median of its first numbers, is subtracted")
	}
	return strings.Join(how, "; ")
}

// WantArgs is the check of the arguments of a command that reads data.
func WantArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return noregret.Errorf(noregret.Usage, "", "no data: name at least one file, or - for standard input")
	}
	return nil
}

// isNumber reports whether a label is a number.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// WithPlace sets the place of an error about the data that has none to the names of the inputs.
func WithPlace(err error, inputs []string) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok || e.Place != "" || e.Code != noregret.BadInput {
		return err
	}
	placed := *e
	placed.Place = dataset.Info{Inputs: inputs}.Place()
	return &placed
}
