package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/show"
)

const doctorLong = `Look for what is wrong with data before a classifier is trained on them.

` + dataflags.Help + `

The findings are: id-like (a new name in nearly every row, or a new whole number: in the order of
the rows, of so wide a range that no two agree by chance, or spread evenly over all numbers of 5 or
more digits or 17 or more bits, of 200 rows or more), mixed (numbers or dates with other values
among them), ambiguous (numbers or dates that may be read in two ways), same-name (two columns of
one name), narrow (numbers that float32 cannot tell apart), constant (the same value in every row),
leaking (the column alone tells the label of nearly every row, as what is known only afterwards
does, or the order of its numbers alone tells two labels apart, AUC .99 or more), duplicate (equal
to another column in every row) and one-label (all rows have the same label, or none). With --test
they are also: shift (distributed otherwise in the test data: .1 apart or more and at the level .001
for all columns together, shares of the labels at the level .001) and new-values (values that
training lacks, with the first six columns that have some). The first 4,096 features are looked at,
of svmlight, Vowpal Wabbit's text and --bits the first that occur. Standard error says what was not
looked for, and why: leaking columns need 20 rows a value, or a bin of values, and 10 rows of other
labels than the most frequent. The first 20 findings of a kind are printed, --json has all. Words of
a text are no columns: constant and equal ones are not told. A column that "train" refuses is a
finding here, is left out, and is not in the output's columns; from standard input, which cannot be
read again, it is an error as there.

The exit status is 0 without a finding and 3 with one. With --json the output is {data, test, rows,
features, healthy, columns, findings, skipped}: each of columns says how one is read, as in the
schema of a model file, and each finding is {kind, column, message}; the column of the label is "".
Each of skipped is a sentence.`

// doctorOptions are the flags of "noregret doctor data".
type doctorOptions struct {
	command.Output
	data *dataflags.Flags
	test string
}

// NewDoctorDataCommand makes "noregret doctor data".
func NewDoctorDataCommand(a *command.App) *cobra.Command {
	o := &doctorOptions{data: dataflags.New()}
	cmd := command.New(a, &cobra.Command{
		Use:   "data DATA...",
		Short: "Look for what is wrong with data for training",
		Long:  doctorLong,
		Example: `  noregret doctor data train.csv

  # Does the test set look like the training set?
  noregret doctor data train.csv --test test.csv`,
		Args: dataflags.WantArgs,
	}, o)
	o.data.Register(cmd)
	return cmd
}

// AddFlags implements [command.Options]. The flags of the data are added with the command.
func (o *doctorOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	f.StringVar(&o.test, "test", o.test, "file of test data to compare with")
}

// Validate implements [command.Options].
func (o *doctorOptions) Validate() error { return nil }

// dataReport is what --json prints.
type dataReport struct {
	Data     []string          `json:"data"`
	Test     string            `json:"test"`
	Rows     int64             `json:"rows"`
	Features int               `json:"features"`
	Healthy  bool              `json:"healthy"`
	Columns  []dataset.Column  `json:"columns"`
	Findings []dataset.Finding `json:"findings"`
	Skipped  []string          `json:"skipped"` // checks that were left out, and why
}

// Run implements [command.Options].
func (o *doctorOptions) Run(ctx context.Context, a *command.App, inputs []string) (err error) {
	set, refused, err := o.load(ctx, a, inputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	info := set.Info()
	o.data.ReadDecisions(a, info, "as far as it tells")
	var test *dataset.Set
	if o.test != "" {
		flags := *o.data
		flags.Unseen, flags.Labelless, flags.Bits = string(dataset.UnseenIgnore), true, 0
		flags.Format, flags.Base = string(dataset.Auto), string(dataset.BaseAuto)
		if test, err = flags.LoadSet(ctx, a, []string{o.test}, info.Schema); err != nil {
			return err
		}
		defer func() { _ = test.Close() }() // only read
	}
	findings, skipped, err := dataset.Examine(set, test)
	if err != nil {
		return err
	}
	findings = append(refused, findings...)
	r := dataReport{
		Data: inputs, Test: o.test, Rows: info.Rows, Features: info.Dim, Healthy: len(findings) == 0,
		Columns: append([]dataset.Column{}, info.Schema.Columns...), Findings: append([]dataset.Finding{}, findings...),
		Skipped: append([]string{}, skipped...),
	}
	if o.JSON {
		err = show.JSON(a.Stdout, r)
	} else {
		table := show.Table{Left: map[int]bool{1: true, 2: true}}
		addFindings(&table, findings)
		if r.Healthy {
			table.Add("nothing was found in " + show.Count(int(r.Rows), "row", "rows"))
		}
		for _, s := range skipped {
			a.Note("not looked for: %s", s)
		}
		err = table.Write(a.Stdout)
	}
	if err != nil || r.Healthy {
		return err
	}
	return noregret.BadInputf(inputs[0], "%s", show.Count(len(findings), "finding", "findings"))
}

// mostOfKind is the number of findings of a kind that are printed.
const mostOfKind = 20

// addFindings adds the first findings of each kind to a table, and how many others there are.
func addFindings(table *show.Table, findings []dataset.Finding) {
	all, added := map[dataset.FindingKind]int{}, map[dataset.FindingKind]int{}
	for _, f := range findings {
		all[f.Kind]++
	}
	for _, f := range findings {
		added[f.Kind]++
		switch n := added[f.Kind]; {
		case n <= mostOfKind:
			table.Add(string(f.Kind), f.Column, f.Message)
		case n == all[f.Kind]:
			table.Add(string(f.Kind), "", fmt.Sprintf("and %d more (--json has all)", n-mostOfKind))
		}
	}
}

// oddAlone reports whether a column is read to its end if the cell for which it was refused means
// missing. Other columns that are refused before that end are left out.
func (o *doctorOptions) oddAlone(ctx context.Context, a *command.App, inputs []string,
	refused *dataset.RefusedColumn,
) bool {
	opt := o.data.Options(ctx, a, nil)
	opt.MissingValues, opt.CachePath = append(slices.Clip(opt.MissingValues), refused.Cell), ""
	for {
		set, err := dataset.Load(ctx, inputs, opt)
		if err == nil {
			return set.Close() == nil
		}
		other, ok := errors.AsType[*dataset.RefusedColumn](err)
		if !ok || other.Column == refused.Column || slices.Contains(opt.IgnoreColumns, other.Column) {
			return false
		}
		opt.IgnoreColumns = append(slices.Clip(opt.IgnoreColumns), other.Column)
	}
}

// load reads the data without the columns that are refused, and returns a finding for each of
// those.
func (o *doctorOptions) load(ctx context.Context, a *command.App, inputs []string) (*dataset.Set, []dataset.Finding,
	error,
) {
	var refused []dataset.Finding
	for {
		set, err := o.data.LoadSet(ctx, a, inputs, nil)
		column, ok := errors.AsType[*dataset.RefusedColumn](err)
		if !ok || slices.Contains(inputs, "-") ||
			slices.ContainsFunc(refused, func(f dataset.Finding) bool { return f.Column == column.Column }) {
			return set, refused, err
		}
		finding := dataset.Finding{Kind: column.Kind, Column: column.Column, Message: column.Reason}
		if e, ok := errors.AsType[*noregret.Error](err); ok && e.Place != "" {
			finding.Message = e.Place + ": " + finding.Message
		}
		if column.Cell != "" && o.oddAlone(ctx, a, inputs, column) {
			finding.Message += fmt.Sprintf("; it is the only such value: if %.40q means missing, say so "+
				"(--missing-values)", column.Cell)
		}
		refused = append(refused, finding)
		o.data.Ignore(column.Column)
	}
}
