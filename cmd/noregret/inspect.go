package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
)

// inspectOptions are the flags of "noregret inspect".
type inspectOptions struct {
	top  int
	json bool
	diff string
}

const inspectLong = `Show what a model file holds: what it was trained on and how, its options, its history and its
weights, the most influential first.

The influence of a feature is the size of its weight times the feature's spread in the training
data (its standard deviation, or the root mean square of its non-zero values if it is sparse):
how much the score moves when the feature moves as much as it usually does. Weights alone depend
on the units. Where the spread is unknown the weights are ordered by size.

--diff OTHER shows what is different in another model: the settings, and the weights that
changed most.

With --json the output is one object: measure, algorithm, labels, dim, intercept, threshold,
options, data, training, warnings, and weights, a list of {feature, index, weight, influence};
with --diff it is settings, a list of {name, a, b}, changed_weights, their number, and weights, a
list of {feature, a, b, change}.`

// newInspectCommand makes "noregret inspect".
func newInspectCommand(a *app) *cobra.Command {
	opt := inspectOptions{top: 20}
	cmd := &cobra.Command{
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
		RunE: func(_ *cobra.Command, args []string) error { return a.inspect(args[0], opt) },
	}
	s := cmd.Flags()
	s.IntVar(&opt.top, "top", opt.top, "number of weights to show, 0 for all")
	s.BoolVar(&opt.json, "json", opt.json, "print one JSON object")
	s.StringVar(&opt.diff, "diff", opt.diff, "another model file to compare with")
	return cmd
}

func (a *app) inspect(path string, opt inspectOptions) error {
	if opt.top < 0 {
		return outOfRange("--top", opt.top, "at least 0")
	}
	m, err := loadModel(path)
	if err != nil {
		return err
	}
	if opt.diff != "" {
		other, err := loadModel(opt.diff)
		if err != nil {
			return err
		}
		return a.diff(m, other, path, opt)
	}
	weights := topWeights(m, opt.top)
	if !opt.json {
		return writeInspection(a.stdout, m, path, weights)
	}
	return writeOrdered(a.stdout,
		"measure", m.Measure, "algorithm", m.Algorithm, "labels", m.Labels, "dim", m.Dim(),
		"intercept", m.Intercept, "threshold", m.Threshold, "options", m.Options, "data", m.Data,
		"training", m.Training, "warnings", m.Warnings, "weights", weights)
}

// weight is a feature's weight as inspect shows it.
type weight struct {
	Feature   string  `json:"feature"`
	Index     uint32  `json:"index"`
	Weight    float64 `json:"weight"`
	Influence number  `json:"influence"`
}

// topWeights lists the weights of most influence, or of the largest size where influence is
// unknown; all for top 0.
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
		w := weight{Index: i, Weight: m.Weights.Value[j], Influence: number(math.NaN())}
		if known {
			s, ok := spread[i]
			if !ok {
				s = 1
			}
			w.Influence = number(w.Weight * s)
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
	options, err := settings(m)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "\nOptions")
	g := table{left: map[int]bool{1: true}}
	for _, s := range options {
		g.add("  "+s.name, s.value)
	}
	if err := g.write(w); err != nil {
		return err
	}
	if err := writeHistory(w, m); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nWeights (%d of %d that are not zero)\n", len(weights), len(m.Weights.Index))
	t := table{}
	t.add("  feature", "weight", "influence")
	for _, x := range weights {
		influence := "-"
		if v := float64(x.Influence); v == v {
			influence = short(v)
		}
		t.add("  "+x.Feature, short(x.Weight), influence)
	}
	if err := t.write(w); err != nil {
		return err
	}
	for _, s := range m.Warnings {
		fmt.Fprintf(w, "\nWarning: %s\n", s)
	}
	return nil
}

func writeHistory(w io.Writer, m *classify.Model) error {
	fmt.Fprintln(w, "\nHistory (* is this model)")
	g := table{}
	g.add("  candidate", "examples", "progressive", "held out", "threshold", "level", "step scale")
	for i, e := range m.Training.History {
		mark := "  "
		if i == m.Training.Chosen {
			mark = "* "
		}
		g.add(mark+e.Candidate, strconv.FormatInt(e.Examples, 10), numberOf(e.Progressive).String(),
			numberOf(e.Holdout).String(), short(e.Threshold), numberOf(e.Level).String(), short(e.StepScale))
	}
	return g.write(w)
}

// setting is an option by its name in the model file.
type setting struct{ name, value string }

// settings lists the options of a model in the order of the file.
func settings(m *classify.Model) ([]setting, error) { return flatten("", m.Options) }

// flatten lists the fields of v, as JSON writes them, with their paths.
func flatten(path string, v any) ([]setting, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return flattenRaw(path, raw)
}
