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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return noregret.Errorf(noregret.Usage, "", "inspect takes one model file, got %d arguments", len(args))
			}
			return nil
		},
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
	c, err := loadModel(path)
	if err != nil {
		return err
	}
	m, ok := c.(*classify.Model)
	if o.diff != "" {
		other, err := loadModel(o.diff)
		if err != nil {
			return err
		}
		b, both := other.(*classify.Model)
		if !ok || !both {
			return noregret.Errorf(noregret.Usage, "--diff", "for models of two classes only")
		}
		if m.Privacy != nil || b.Privacy != nil {
			return noregret.Errorf(noregret.Usage, "--diff", "not for private models, which have no options and no "+
				"history")
		}
		return o.writeDiff(a.Stdout, m, b, path)
	}
	if !ok {
		return o.showMulti(a.Stdout, c.(*classify.MultiModel), path)
	}
	weights := topWeights(m, o.top)
	if m.Privacy != nil {
		if !o.json {
			return inspectPrivate(a.Stdout, m, path, weights)
		}
		return writeOrdered(a.Stdout,
			"algorithm", m.Algorithm, "labels", m.Labels, "dim", m.Dim(), "intercept", m.Intercept, "threshold",
			m.Threshold, "privacy", m.Privacy, "warnings", m.Warnings, "weights", weights)
	}
	if !o.json {
		return writeInspection(a.Stdout, m, path, weights)
	}
	return writeOrdered(a.Stdout,
		"measure", m.Measure, "algorithm", m.Algorithm, "labels", m.Labels, "dim", m.Dim(),
		"intercept", m.Intercept, "threshold", m.Threshold, "options", m.Options, "data", m.Data,
		"training", m.Training, "warnings", m.Warnings, "weights", weights)
}

// weight is a feature's weight in the output of inspect.
type weight struct {
	Feature   string      `json:"feature"`
	Index     uint32      `json:"index"`
	Weight    float64     `json:"weight"`
	Influence show.Number `json:"influence"`
}

// topWeights lists the weights with the most influence, or the largest ones where the influence is
// unknown; top 0 means all.
func topWeights(m *classify.Model, top int) []weight {
	spread := map[uint32]float64{}
	if m.Scaling != nil {
		for j, i := range m.Scaling.Index {
			spread[i] = 1 / m.Scaling.Inverse[j]
		}
	}
	known := m.Scaling != nil && m.Options.Scaled
	list := make([]weight, 0, len(m.Weights.Index))
	for j, i := range m.Weights.Index {
		w := weight{Index: i, Weight: m.Weights.Value[j], Influence: show.Number(math.NaN())}
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

func writeInspection(w io.Writer, m *classify.Model, path string, weights []weight) error {
	if err := printModel(w, m, path); err != nil {
		return err
	}
	if err := writeSettings(w, m.Options); err != nil {
		return err
	}
	if err := writeHistory(w, m.Training); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nWeights (%d of %d that are not zero)\n", len(weights), len(m.Weights.Index))
	if err := writeWeights(w, weights); err != nil {
		return err
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
