package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
)

// prequentialOptions are the flags of "noregret evaluate --prequential".
type prequentialOptions struct {
	on     bool
	fit    *trainFlags
	drifts []string
	window int
	delay  int
	plots  []string

	flags *pflag.FlagSet
	opt   classify.PrequentialStreamOptions
}

// prequentialSettings are the settings of package classify that a prequential evaluation has.
// --drift is a flag of its own here, because it may be repeated.
var prequentialSettings = []string{
	"steps", "rate", "level-positives", "step-scale", "dual-scale", "reward", "radius", "lambda", "no-intercept",
	"unscaled", "prior-positives", "allow-degenerate",
}

// modelOnly are the flags of "noregret evaluate" that need a model.
var modelOnly = []string{"model", "new-labels", "unseen", "intervals"}

// noStore are the flags of reading that have no meaning where no rows are kept.
var noStore = []string{"temp-dir"}

// fixedByModel are the flags of reading that a model fixes.
var fixedByModel = []string{
	"base", "bits", "max-dim", "weight-column", "categorical", "ignore-columns", "missing", "temp-dir", "positive",
	"text", "center", "decimal", "date-order", "missing-values",
}

const prequentialLong = `
--prequential evaluates learners instead of a model: every row of a stream is predicted first and
learned from then, so that all rows are test rows, and the order of the rows matters. It takes
--measure, --algorithm and the options of the learner as "noregret train --stream" does, and no
--model. --drift says how the learner keeps up with a stream that changes, and may be given
several times: the forms are compared in one run, beside the predictions "last label" (that of the
last row whose label is known) and "majority". Forms are

  none
  restart:interval=5000,mode=steps   restart the step sizes, or with mode=full,warm=200 the learner
  discount:window=1000               discount the past
  detector:mode=steps,adwin          restart when a detector (adwin, kswin, page-hinkley or
                                     cusum:mean=M) finds more frequent mistakes
  adaptive:interval=250              mix learners of intervals of 250, 500, 1000, ... rows

with the defaults shown, or the same in short: restart=5000, memory=1000, detector=adwin,
adaptive=250; see docs/prequential.md. --window is the number of rows of the windows in
which measures are followed, --label-delay the number of rows by which labels come late. --plot
draws the windows. The rows are not kept.

With --prequential --json the output is one object: format ("noregret-prequential"), version (1),
algorithm, measure, rows, positives, positive_label, bad_lines, window, label_delay and forms, a
list of {form, restarts, measures, worst_window, confusion, curve}. measures has the measures
above for all rows, worst_window the least value of each in a window, and curve is a list of {row,
measures} of windows at equal distances, up to 2,000.`

// AddFlags implements [command.Options].
func (o *prequentialOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "prequential", o.on, "evaluate learners on a stream: test on every row first, then learn from it")
	o.fit.addTo(f, prequentialSettings...)
	f.StringArrayVar(&o.drifts, "drift", o.drifts, "how to keep up with a stream that changes; may be given more than "+
		"once (default none)")
	f.IntVar(&o.window, "window", o.window, "rows of a window")
	f.IntVar(&o.delay, "label-delay", o.delay, "rows by which labels come late")
	f.StringArrayVar(&o.plots, "plot", o.plots, "draw the curves of a model of two classes, or the windows, into this "+
		"file, .svg or .png; may be given more than once")
	o.flags = f
}

// checkFlags refuses flags that the way of evaluating does not have.
func (o *prequentialOptions) checkFlags() error {
	if o.on {
		for _, name := range modelOnly {
			if o.flags.Changed(name) {
				return noregret.Errorf(noregret.Usage, "--"+name,
					"for the evaluation of a model: --prequential has none")
			}
		}
		for _, name := range noStore {
			if o.flags.Changed(name) {
				return noregret.Errorf(noregret.Usage, "--"+name, "no meaning with --prequential, which keeps no rows")
			}
		}
		return nil
	}
	own := slices.Concat([]string{"measure", "algorithm", "drift", "window", "label-delay"},
		prequentialSettings)
	for _, name := range own {
		if o.flags.Changed(name) {
			return noregret.Errorf(noregret.Usage, "--"+name, "needs --prequential")
		}
	}
	for _, name := range fixedByModel {
		if o.flags.Changed(name) {
			return noregret.Errorf(noregret.Usage, "--"+name, "the model says it: the flag needs --prequential")
		}
	}
	return nil
}

// Validate checks the flags of a prequential evaluation.
func (o *prequentialOptions) Validate(data *dataflags.Flags) error {
	if o.fit.measure == "" {
		return noregret.Errorf(noregret.Usage, "--measure", "--prequential needs the measure to train for")
	}
	fit, err := o.fit.options()
	if err != nil {
		return err
	}
	choice, err := chooseMeasures("--measure", []string{o.fit.measure}, data)
	if err != nil {
		return err
	}
	if choice.two == nil {
		return noregret.Errorf(noregret.Usage, "--prequential", "for two classes only; %s is a measure of several",
			o.fit.measure)
	}
	fit.Measure = choice.two[0]
	o.opt = classify.PrequentialStreamOptions{Baselines: true, Positive: data.Positive}
	o.opt.Fit, o.opt.Window, o.opt.LabelDelay = fit, o.window, o.delay
	if o.window < 1 {
		return command.OutOfRange("--window", o.window, "at least 1")
	}
	if o.delay < 0 {
		return command.OutOfRange("--label-delay", o.delay, "at least 0")
	}
	if len(o.drifts) == 0 {
		o.drifts = []string{"none"}
	}
	seen := map[string]bool{}
	for _, text := range o.drifts {
		d, err := classify.ParseDrift(text)
		if err != nil {
			return noregret.Errorf(noregret.Usage, "--drift", "%w", err)
		}
		if seen[d.String()] {
			return noregret.Errorf(noregret.Usage, "--drift", "%s is given twice", d)
		}
		seen[d.String()] = true
		o.opt.Forms = append(o.opt.Forms, d)
	}
	return withFlag(o.opt.Validate())
}

// Run evaluates the forms in one pass.
func (o *prequentialOptions) Run(ctx context.Context, a *command.App, data *dataflags.Flags, inputs []string,
	asJSON bool,
) (err error) {
	if err := files.CheckPlots(o.plots, files.Inputs(inputs)); err != nil {
		return err
	}
	p, err := a.Progress()
	if err != nil {
		return err
	}
	o.opt.Progress = fitProgress(p)
	o.opt.Started = func(info dataset.Info) { streamDecisions(a, data, info) }
	read := data.Options(ctx, a, nil)
	read.Digest = dataset.NoDigest // it is not shown
	s, err := dataset.Open(ctx, inputs, read)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := classify.EvaluateStream(ctx, s, o.opt)
	p.Finish()
	if err != nil {
		return withFlag(err)
	}
	dataflags.Skipped(a, r.Info)
	if r.Positives == 0 || r.Positives == r.Info.Rows {
		a.Note("warning: the data have one class only, so that some measures are undefined")
	}
	for _, path := range o.plots {
		if err := plotPrequential(path, r, o.shown()); err != nil {
			return err
		}
	}
	if asJSON {
		return show.JSON(a.Stdout, o.report(r))
	}
	return o.write(a.Stdout, r)
}

// shown are the measures of the table and of the pictures: F1, the G-mean and the one trained for.
func (o *prequentialOptions) shown() []measure.Measure {
	list := []measure.Measure{measure.FBeta{B: 1}, measure.GMean{}}
	trained := o.opt.Fit.Measure
	if !slices.ContainsFunc(list, func(m measure.Measure) bool { return m.Name() == trained.Name() }) {
		list = append(list, trained.(measure.Measure))
	}
	return list
}

// worst is the least value of a measure in the windows of a form, NaN without any.
func worst(f *classify.PrequentialForm, m measure.Measure) float64 {
	least := math.Inf(1)
	for _, p := range f.Curve {
		if v := m.Value(p.Confusion); v < least {
			least = v
		}
	}
	if math.IsInf(least, 1) {
		return math.NaN()
	}
	return least
}

// formName is the name of a form in tables and pictures: what --drift says. But "none" is no name
// for a learner.
func formName(f *classify.PrequentialForm) string {
	if f.Name == "none" {
		return "no drift handling"
	}
	return f.Name
}

// write prints the table.
func (o *prequentialOptions) write(w io.Writer, r *classify.PrequentialResult) error {
	late := ""
	if o.delay > 0 {
		late = fmt.Sprintf(", labels %s late", show.Count(o.delay, "row", "rows"))
	}
	if _, err := fmt.Fprintf(w, "%s for %s, %d rows, %d positives%s\n", r.Algorithm, o.opt.Fit.Measure.Name(),
		r.Info.Rows,
		r.Positives, late); err != nil {
		return err
	}
	list := append(o.shown(), measure.Accuracy())
	if n := len(list); list[n-2].Name() == list[n-1].Name() {
		list = list[:n-1]
	}
	g := show.Table{}
	head := []string{"", "restarts"}
	for _, m := range list {
		head = append(head, m.Name())
	}
	for _, m := range o.shown() {
		head = append(head, "worst "+m.Name())
	}
	g.Add(head...)
	for i := range r.Forms {
		f := &r.Forms[i]
		row := []string{formName(f), fmt.Sprint(f.Restarts)}
		for _, m := range list {
			row = append(row, show.Number(m.Value(f.Total)).String())
		}
		for _, m := range o.shown() {
			row = append(row, show.Number(worst(f, m)).String())
		}
		g.Add(row...)
	}
	if err := g.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "worst: the least value in a window of %s\n", show.Count(o.window, "row", "rows"))
	return err
}

// prequentialReport is the output of --json.
type prequentialReport struct {
	Format        string            `json:"format"`
	Version       int               `json:"version"`
	Algorithm     string            `json:"algorithm"`
	Measure       string            `json:"measure"`
	Rows          int64             `json:"rows"`
	Positives     int64             `json:"positives"`
	PositiveLabel string            `json:"positive_label"`
	BadLines      int64             `json:"bad_lines"`
	Window        int               `json:"window"`
	LabelDelay    int               `json:"label_delay"`
	Forms         []prequentialForm `json:"forms"`
}

type prequentialForm struct {
	Form        string                 `json:"form"`
	Restarts    int64                  `json:"restarts"`
	Measures    map[string]show.Number `json:"measures"`
	WorstWindow map[string]show.Number `json:"worst_window"`
	Confusion   measure.Confusion      `json:"confusion"`
	Curve       []prequentialPoint     `json:"curve"`
}

type prequentialPoint struct {
	Row      int64                  `json:"row"`
	Measures map[string]show.Number `json:"measures"`
}

func (o *prequentialOptions) report(r *classify.PrequentialResult) prequentialReport {
	var list []measure.Measure
	var names []string
	add := func(name string) {
		if m, err := measure.Parse(name); err == nil && !slices.ContainsFunc(list, func(x measure.Measure) bool {
			return x.Name() == m.Name()
		}) {
			list, names = append(list, m), append(names, name)
		}
	}
	for _, name := range evaluated[classify.Binary] {
		add(name)
	}
	add(o.opt.Fit.Measure.Name())
	values := func(of func(m measure.Measure) float64) map[string]show.Number {
		out := map[string]show.Number{}
		for i, m := range list {
			out[names[i]] = show.Number(of(m))
		}
		return out
	}
	out := prequentialReport{
		Format: "noregret-prequential", Version: 1, Algorithm: r.Algorithm, Measure: o.opt.Fit.Measure.Name(),
		Rows: r.Info.Rows, Positives: r.Positives, PositiveLabel: r.Positive, BadLines: r.Info.BadLines,
		Window: o.window, LabelDelay: o.delay,
	}
	for i := range r.Forms {
		f := &r.Forms[i]
		form := prequentialForm{
			Form: f.Name, Restarts: f.Restarts, Confusion: f.Total, Curve: []prequentialPoint{},
			Measures:    values(func(m measure.Measure) float64 { return m.Value(f.Total) }),
			WorstWindow: values(func(m measure.Measure) float64 { return worst(f, m) }),
		}
		for _, p := range f.Curve {
			form.Curve = append(form.Curve, prequentialPoint{
				p.Row, values(func(m measure.Measure) float64 { return m.Value(p.Confusion) }),
			})
		}
		out.Forms = append(out.Forms, form)
	}
	return out
}

// requireModel refuses an evaluation of neither a model nor learners, as cobra does for flags that
// are always required.
func (o *prequentialOptions) requireModel(model string) error {
	if o.on || model != "" || o.flags.Changed("model") {
		return nil
	}
	return errors.New(`required flag(s) "model" not set`)
}
