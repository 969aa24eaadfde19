package classify

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// Model is a trained classifier with everything needed to use it later: the weights, the names of
// features and labels, and the history of its training. A model file holds a Model;
// docs/formats/model.md describes the file. A Model depends only on the data, the options and the
// seed: it has no dates, durations, paths or names of machines. This package does not modify a
// Model, so it is safe for concurrent reading.
type Model struct {
	// Task says what the labels of a row are.
	Task Task
	// Measure is the name of the measure it was trained for, and Algorithm that of the algorithm.
	Measure, Algorithm string
	// Labels are the labels of the training data. With Binary the first is the positive one, and
	// there is at least one other.
	Labels []string
	// Models are the linear models: with Binary one, of the positive label against all others, else
	// one for each label.
	Models []ModelLinear
	// Schema is the feature space and how inputs map to it.
	Schema *dataset.Schema
	// Transform makes the features of Models from those of Schema; nil leaves them as they are.
	Transform *Transform
	// Scaling is the standardisation used in training; nil if it is unknown.
	Scaling *ModelScaling
	// Calibration maps the scores of Models to the probabilities of their labels; nil if nothing
	// was held out or, of a stream, scored before it was learned from.
	Calibration []Calibration
	// Options are the options of the training.
	Options ModelOptions
	// Data describes the training data.
	Data ModelData
	// Training is the history.
	Training ModelTraining
	// Search says how [Auto] chose the model; nil for other algorithms.
	Search *ModelSearch
	// Figures are the values to expect on new rows; nil if they are not known.
	Figures *ModelFigures
	// Warnings are the warnings of the training.
	Warnings []string
	// Privacy says how the model is differentially private; nil if it is not. A private model is
	// Binary and has no Measure, Options, Data and Training: these would tell more about the data
	// than was released.
	Privacy *ModelPrivacy
	// Shard is the state for training on several machines; nil for other models.
	Shard *ModelShard
}

// ModelLinear is a linear model on raw features: see [Linear].
type ModelLinear struct {
	// Weights are the weights that are not zero.
	Weights   SparseVector `json:"weights"`
	Intercept float64      `json:"intercept"`
	Threshold float64      `json:"threshold"`
}

// SparseVector lists the entries of a vector that are not zero, in ascending order of Index.
type SparseVector struct {
	Index []uint32  `json:"index"`
	Value []float64 `json:"value"`
}

// ModelScaling is a [Scaling] without the features that it does not change.
type ModelScaling struct {
	Index   []uint32  `json:"index"`
	Center  []float64 `json:"center"`
	Inverse []float64 `json:"inverse"`
}

// ModelData describes the data that a model was trained on.
type ModelData struct {
	// Digest is "sha256:" and the hex digest of the unpacked input bytes; "" in the middle of a
	// stream.
	Digest   string `json:"digest"`
	Rows     int64  `json:"rows"`
	NonZeros int64  `json:"nonzeros"`
	BadLines int64  `json:"bad_lines"` // lines that were skipped
	// Train and Holdout are the parts trained on and held out.
	Train   Part `json:"train"`
	Holdout Part `json:"holdout"`
}

// Part holds the sizes of a part of the data.
type Part struct {
	Rows int64 `json:"rows"`
	// Labels counts the rows of each label. With Binary there are two: the positive label, and all
	// others together.
	Labels []LabelCount `json:"labels"`
}

// LabelCount holds the number of rows that have a label, and the sum of their weights.
type LabelCount struct {
	Rows   int64   `json:"rows"`
	Weight float64 `json:"weight"`
}

// ModelTraining is the history of a training.
type ModelTraining struct {
	// Passes over the training part, those for statistics not counted.
	Passes  int            `json:"passes"`
	Folds   int            `json:"folds"`   // as in [Result]
	History []HistoryEntry `json:"history"` // the candidates in the order of training
	Chosen  int            `json:"chosen"`  // the index of this model in History
}

// NewModel returns the model of a result of [Fit], with the options and the data of the fit. It
// fails with an error of code diverged when a weight is not finite, of code bad_input when a name
// is not valid UTF-8, which a model file cannot hold, and of code internal when the parts are
// inconsistent. O(C·d).
func NewModel(r *Result, opt Options, data Data) (*Model, error) {
	if r == nil || opt.Measure == nil || data.check() != nil || data.positives != nil || r.Task != data.Task {
		return nil, noregret.Errorf(noregret.Internal, "model",
			"a model needs a measure, data and a result of their task; one of them is missing")
	}
	return newModel(r, opt, data.Set.Info(), data.names())
}

// newModel is NewModel for data of which info and labels are known.
func newModel(r *Result, opt Options, info dataset.Info, labels []string) (*Model, error) {
	if info.Schema == nil || len(r.Models) != r.Task.outputs(len(labels)) {
		return nil, noregret.Errorf(noregret.Internal, "model",
			"a model needs a schema and linear models for its labels; one of them is missing")
	}
	m := &Model{
		Task: r.Task, Measure: opt.Measure.Name(), Algorithm: r.Algorithm, Labels: labels,
		Schema: info.Schema, Transform: r.Transform, Search: r.Search,
		Figures: r.Figures,
		Data: ModelData{
			Digest: info.Digest, Rows: info.Rows, NonZeros: info.NonZeros, BadLines: info.BadLines, Train: r.Train,
			Holdout: r.Holdout,
		},
		Training: ModelTraining{
			Passes: r.Passes, Folds: max(1, r.Folds), History: finiteEntries(r.History), Chosen: r.Chosen,
		},
		Calibration: r.Calibration,
		Warnings:    append([]string{}, r.Warnings...),
	}
	m.Scaling = sparseScaling(r.Scaling, m.Features())
	opt.TuneSteps, opt.Config.Steps = len(r.StepScales) > 1, r.Schedule
	var err error
	if m.Options, err = newModelOptions(opt); err != nil {
		return nil, err
	}
	for k, l := range r.Models {
		w, err := sparseWeights(l.Weights)
		if err != nil {
			return nil, fmt.Errorf("label %s: %w", labels[k], err)
		}
		m.Models = append(m.Models, ModelLinear{Weights: w, Intercept: l.Intercept, Threshold: l.Threshold})
	}
	if !slices.ContainsFunc(m.Models, func(l ModelLinear) bool { return len(l.Weights.Index) > 0 }) {
		m.Warnings = append(m.Warnings, "no feature has a weight: every row gets the same decision")
	}
	return m, m.Validate()
}

// sparseWeights lists the weights that are not zero. It returns an error if one is not finite.
func sparseWeights(weights []float64) (SparseVector, error) {
	v := SparseVector{Index: []uint32{}, Value: []float64{}}
	for i, w := range weights {
		if w-w != 0 {
			return v, noregret.Errorf(noregret.Diverged, fmt.Sprintf("feature %d", i),
				"the weight is %v: diverged; lower the step scale", w)
		}
		if w != 0 {
			v.Index = append(v.Index, uint32(i))
			v.Value = append(v.Value, w)
		}
	}
	return v, nil
}

// finiteEntries copies a history, with null for values that are not finite.
func finiteEntries(history []HistoryEntry) []HistoryEntry {
	out := make([]HistoryEntry, len(history))
	for i, e := range history {
		e.Progressive, e.Level, e.Holdout = finite(e.Progressive), finite(e.Level), finite(e.Holdout)
		out[i] = e
	}
	return out
}

// finite returns a copy of v, nil if v is nil or not finite.
func finite(v *float64) *float64 {
	if v == nil || *v-*v != 0 {
		return nil
	}
	c := *v
	return &c
}

func sparseScaling(s *Scaling, dim int) *ModelScaling {
	if s == nil {
		return nil
	}
	out := &ModelScaling{Index: []uint32{}, Center: []float64{}, Inverse: []float64{}}
	for i := range min(dim, len(s.Inverse)) {
		if s.Center[i] != 0 || s.Inverse[i] != 1 {
			out.Index = append(out.Index, uint32(i))
			out.Center = append(out.Center, s.Center[i])
			out.Inverse = append(out.Inverse, s.Inverse[i])
		}
	}
	return out
}

// Dim is the number of features.
func (m *Model) Dim() int { return m.Schema.Dim }

// Features is the number of features of the linear models: Dim, unless a Transform makes others.
func (m *Model) Features() int {
	if m.Transform != nil {
		return m.Transform.Features()
	}
	return m.Schema.Dim
}

// Classifier returns the classifier itself. O(C·d) memory.
func (m *Model) Classifier() *Classifier {
	out := &Classifier{Task: m.Task, Transform: m.Transform}
	for _, l := range m.Models {
		out.Models = append(out.Models, l.linear())
	}
	return out
}

// linear returns the linear model. It takes memory for the features up to the last one with a
// weight.
func (l ModelLinear) linear() Linear {
	out := Linear{Intercept: l.Intercept, Threshold: l.Threshold}
	if n := len(l.Weights.Index); n > 0 {
		out.Weights = make([]float64, int(l.Weights.Index[n-1])+1)
	}
	for j, i := range l.Weights.Index {
		out.Weights[i] = l.Weights.Value[j]
	}
	return out
}

// FeatureName returns the name of feature i of the linear models, or its number as files write it
// if it has no name.
func (m *Model) FeatureName(i uint32) string {
	if m.Transform != nil {
		return m.Transform.name(i, m.dataFeatureName)
	}
	return m.dataFeatureName(i)
}

func (m *Model) dataFeatureName(i uint32) string {
	if int(i) < len(m.Schema.Features) {
		return m.Schema.Features[i]
	}
	if m.Schema.Base == dataset.BaseOne && m.Schema.Bits == 0 {
		return strconv.FormatUint(uint64(i)+1, 10)
	}
	return strconv.FormatUint(uint64(i), 10)
}

// Positive is the positive label of a Binary model, and Negatives are all others.
func (m *Model) Positive() string { return m.Labels[0] }

// Negatives are the labels of a Binary model other than the positive one.
func (m *Model) Negatives() []string { return m.Labels[1:] }

// NegativeName returns the name of a negative prediction of a Binary model: the other label, or
// "not " and the positive label if there were several others.
func (m *Model) NegativeName() string {
	if len(m.Labels) == 2 {
		return m.Labels[1]
	}
	return "not " + m.Positive()
}

// Targets looks up the labels of rows in a model: for the label of a row, or its list of labels, it
// returns their indices in Labels, ascending, with Binary 0 for the positive label and none for the
// others. unknown holds the labels that the model lacks.
func (m *Model) Targets(label string) (places []int, unknown []string, err error) {
	if m.Task != Multilabel {
		if label, err = dataset.LabelName(label); err != nil {
			return nil, nil, err
		}
	}
	lists, err := labelLists([]dataset.Label{{Name: label}}, m.Task)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range lists[0] {
		switch k := slices.Index(m.Labels, l); {
		case k < 0:
			unknown = append(unknown, l)
		case m.Task != Binary || k == 0:
			places = append(places, k)
		}
	}
	slices.Sort(places)
	return places, unknown, nil
}

// ParsedMeasure returns the measure that it was trained for.
func (m *Model) ParsedMeasure() (measure.Objective, error) { return m.Task.Measure(m.Measure) }

// HoldoutValue returns the measure on held-out data. ok is false if there were none or it was
// undefined.
func (m *Model) HoldoutValue() (value float64, ok bool) {
	t := m.Training
	if len(t.History) == 0 { // a private model
		return 0, false
	}
	if v := t.History[t.Chosen].Holdout; v != nil {
		return *v, true
	}
	return 0, false
}
