package train

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// inspectOptions are the flags of "noregret inspect".
type inspectOptions struct {
	top  int
	json bool
	diff string
}

const inspectLong = `Show the contents of a model file: the training data, the options, the
history and the weights, the most influential first.

The influence of a feature is the size of its weight times the feature's spread in the training
data (its standard deviation, or the root mean square of its non-zero values if it is sparse). It
is the change of the score for a typical change of the feature; weights alone depend on the units.
If the spread is unknown, the weights are ordered by size.

--diff OTHER shows the differences from another model: the settings, and the weights that changed
most.

For a private model it shows the privacy statement instead of options and history, which such a
model does not have.

With --json the output is one object: measure, algorithm, labels, dim, intercept, threshold,
options, data, training, warnings, and weights, a list of {feature, index, weight, influence}.
With --diff it has settings, a list of {name, a, b}, changed_weights, their number, and weights, a
list of {feature, a, b, change}. A private model has privacy instead of measure, options, data and
training. For a model of several classes or labels it has task and labels,
and instead of intercept, threshold and weights it has models, a list of {label, intercept,
threshold, weights}.`

// newInspectCommand makes "noregret inspect".
func newInspectCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show a model's weights, options and history",
		Long:  inspectLong,
		Example: `  noregret inspect f1.json --top 10

  # What a further week of data has changed
  noregret inspect old.json --diff new.json`,
		Args: command.Args(1, "one model file"),
	}, &inspectOptions{top: 20})
}

// AddFlags implements [command.Options].
func (o *inspectOptions) AddFlags(f *pflag.FlagSet) {
	f.IntVar(&o.top, "top", o.top, "number of weights to show, 0 for all")
	f.BoolVar(&o.json, "json", o.json, "print one JSON object")
	f.StringVar(&o.diff, "diff", o.diff, "another model file to compare with")
}

// Validate implements [command.Options].
func (o *inspectOptions) Validate() error {
	if o.top < 0 {
		return command.OutOfRange("--top", o.top, "at least 0")
	}
	return nil
}

// Run implements [command.Options].
func (o *inspectOptions) Run(_ context.Context, a *command.App, args []string) error {
	path := args[0]
	m, err := loadModel(path)
	if err != nil {
		return err
	}
	if o.diff != "" {
		return o.runDiff(a, m, path)
	}
	if !o.json && m.Privacy != nil {
		return inspectPrivate(a.Stdout, m, path, topWeights(m, 0, o.top))
	}
	if !o.json {
		return o.write(a.Stdout, m, path)
	}
	var pairs []any
	if m.Task != classify.Binary {
		pairs = append(pairs, "task", m.Task.String())
	}
	if m.Privacy == nil {
		pairs = append(pairs, "measure", m.Measure)
	}
	pairs = append(pairs, "algorithm", m.Algorithm, "labels", labelsOf(m), "dim", m.Dim())
	if m.Task == classify.Binary {
		pairs = append(pairs, "intercept", m.Models[0].Intercept, "threshold", m.Models[0].Threshold)
	}
	if m.Privacy != nil {
		pairs = append(pairs, "privacy", m.Privacy)
	} else {
		pairs = append(pairs, "options", m.Options, "data", dataOf(m), "training", m.Training)
	}
	pairs = append(pairs, "warnings", m.Warnings)
	if m.Task == classify.Binary {
		return writeOrdered(a.Stdout, append(pairs, "weights", topWeights(m, 0, o.top))...)
	}
	return writeOrdered(a.Stdout, append(pairs, "models", o.models(m))...)
}

// runDiff prints how another model differs from model m.
func (o *inspectOptions) runDiff(a *command.App, m *classify.Model, path string) error {
	other, err := loadModel(o.diff)
	if err != nil {
		return err
	}
	if m.Task != classify.Binary || other.Task != classify.Binary {
		return noregret.Errorf(noregret.Usage, "--diff", "for models of two classes only")
	}
	if m.Privacy != nil || other.Privacy != nil {
		return noregret.Errorf(noregret.Usage, "--diff", "not for private models, which have no options and no "+
			"history")
	}
	return o.writeDiff(a.Stdout, m, other, path)
}

// labelWeights is the model of a label in the output of inspect --json.
type labelWeights struct {
	Label     string   `json:"label"`
	Intercept float64  `json:"intercept"`
	Threshold float64  `json:"threshold"`
	Weights   []weight `json:"weights"`
}

func (o *inspectOptions) models(m *classify.Model) (list []labelWeights) {
	for k, l := range m.Models {
		list = append(list, labelWeights{m.Labels[k], l.Intercept, l.Threshold, topWeights(m, k, o.top)})
	}
	return list
}

// dataOf returns the description of the training data as JSON has it.
func dataOf(m *classify.Model) any {
	d := m.Data
	if m.Task == classify.Binary {
		return twoData{
			d.Digest, d.Rows, d.NonZeros, d.BadLines, classCountsOf(d.Train), classCountsOf(d.Holdout),
		}
	}
	return labelsData{
		d.Digest, d.Rows, d.NonZeros, d.BadLines, d.Train.Rows, d.Holdout.Rows, d.Train.Labels, d.Holdout.Labels,
	}
}

type twoData struct {
	Digest   string      `json:"digest"`
	Rows     int64       `json:"rows"`
	NonZeros int64       `json:"nonzeros"`
	BadLines int64       `json:"bad_lines"`
	Train    classCounts `json:"train"`
	Holdout  classCounts `json:"holdout"`
}

type labelsData struct {
	Digest      string                `json:"digest"`
	Rows        int64                 `json:"rows"`
	NonZeros    int64                 `json:"nonzeros"`
	BadLines    int64                 `json:"bad_lines"`
	TrainRows   int64                 `json:"train_rows"`
	HoldoutRows int64                 `json:"holdout_rows"`
	Train       []classify.LabelCount `json:"train"`
	Holdout     []classify.LabelCount `json:"holdout"`
}

// weight is a feature's weight in the output of inspect.
type weight struct {
	Feature   string      `json:"feature"`
	Index     uint32      `json:"index"`
	Weight    float64     `json:"weight"`
	Influence show.Number `json:"influence"`
}

// topWeights lists the weights of linear model k with the most influence, or the largest ones where
// the influence is unknown; top 0 means all.
func topWeights(m *classify.Model, k, top int) []weight {
	weights := m.Models[k].Weights
	spread := map[uint32]float64{}
	if m.Scaling != nil {
		for j, i := range m.Scaling.Index {
			spread[i] = 1 / m.Scaling.Inverse[j]
		}
	}
	known := m.Scaling != nil && m.Privacy == nil && !m.Options.Unscaled
	list := make([]weight, 0, len(weights.Index))
	for j, i := range weights.Index {
		w := weight{Index: i, Weight: weights.Value[j], Influence: show.Number(math.NaN())}
		if known {
			s, ok := spread[i]
			if !ok {
				s = 1
			}
			w.Influence = show.Number(w.Weight * s)
		}
		list = append(list, w)
	}
	size := func(w weight) float64 {
		if known {
			return math.Abs(float64(w.Influence))
		}
		return math.Abs(w.Weight)
	}
	slices.SortStableFunc(list, func(a, b weight) int { return cmp.Compare(size(b), size(a)) })
	if top > 0 && len(list) > top {
		list = list[:top]
	}
	for k := range list {
		list[k].Feature = m.FeatureName(list[k].Index)
	}
	return list
}

// write prints a model that is not private.
func (o *inspectOptions) write(w io.Writer, m *classify.Model, path string) error {
	if err := printModel(w, m, path); err != nil {
		return err
	}
	if err := writeSettings(w, m.Options); err != nil {
		return err
	}
	if err := writeHistory(w, m.Training); err != nil {
		return err
	}
	for k, l := range m.Models {
		of := ""
		if m.Task != classify.Binary {
			of = " of " + legible.Text(m.Labels[k])
		}
		weights := topWeights(m, k, o.top)
		fmt.Fprintf(w, "\nWeights%s (%d of %d that are not zero)\n", of, len(weights), len(l.Weights.Index))
		if err := writeWeights(w, weights); err != nil {
			return err
		}
	}
	for _, s := range m.Warnings {
		fmt.Fprintf(w, "\nWarning: %s\n", legible.Text(s))
	}
	return nil
}

// writeWeights prints weights with their influence.
func writeWeights(w io.Writer, weights []weight) error {
	t := show.Table{}
	t.Add("  feature", "weight", "influence")
	for _, x := range weights {
		influence := "-"
		if v := float64(x.Influence); v == v {
			influence = show.Short(v)
		}
		t.Add("  "+x.Feature, show.Short(x.Weight), influence)
	}
	return t.Write(w)
}

func writeHistory(w io.Writer, training classify.ModelTraining) error {
	fmt.Fprintln(w, "\nHistory (* is this model)")
	g := show.Table{}
	g.Add("  candidate", "examples", "progressive", "held out", "threshold", "level", "step scale")
	for i, e := range training.History {
		mark := "  "
		if i == training.Chosen {
			mark = "* "
		}
		g.Add(mark+e.Candidate, strconv.FormatInt(e.Examples, 10), show.NumberOf(e.Progressive).String(),
			show.NumberOf(e.Holdout).String(), show.Short(e.Threshold), show.NumberOf(e.Level).String(),
			show.Short(e.StepScale))
	}
	return g.Write(w)
}

// setting is an option by its name in the model file.
type setting struct{ name, value string }

// writeSettings prints the options of a model in the order of the file.
func writeSettings(w io.Writer, o classify.ModelOptions) error {
	options, err := flatten("", o)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "\nOptions")
	g := show.Table{Left: map[int]bool{1: true}}
	for _, s := range options {
		g.Add("  "+s.name, s.value)
	}
	return g.Write(w)
}

// flatten lists the fields of v, as JSON writes them, with their paths.
func flatten(path string, v any) ([]setting, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return flattenRaw(path, raw)
}
