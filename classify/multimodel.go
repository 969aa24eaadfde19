package classify

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// MultiModel is a trained classifier of several classes or labels with everything needed to use it
// later, as [Model] is for two classes. A model file of version 2 holds a MultiModel;
// docs/formats/model.md describes the file. This package does not modify a MultiModel, so it is
// safe for concurrent reading.
type MultiModel struct {
	// Task says how many labels a row has.
	Task Task
	// Measure is the name of the measure it was trained for, and Algorithm that of the algorithm.
	Measure, Algorithm string
	// Labels are the names of the classes or labels, and Models their linear models.
	Labels []string
	Models []ModelLinear
	// Schema is the feature space and how inputs map to it.
	Schema *dataset.Schema
	// Scaling is the standardisation of training.
	Scaling *ModelScaling
	// Options are the options of the training.
	Options ModelOptions
	// Data describes the training data.
	Data MultiModelData
	// Training is the history.
	Training ModelTraining
	// Warnings are the warnings of the training.
	Warnings []string
}

// ModelLinear is the linear model of one class or label, on raw features.
type ModelLinear struct {
	Weights   SparseVector `json:"weights"`
	Intercept float64      `json:"intercept"`
	Threshold float64      `json:"threshold"`
}

// MultiModelData describes the training data of a model. Train and Holdout count the rows of each
// label.
type MultiModelData struct {
	Digest      string       `json:"digest"`
	Rows        int64        `json:"rows"`
	NonZeros    int64        `json:"nonzeros"`
	BadLines    int64        `json:"bad_lines"`
	TrainRows   int64        `json:"train_rows"`
	HoldoutRows int64        `json:"holdout_rows"`
	Train       []LabelCount `json:"train"`
	Holdout     []LabelCount `json:"holdout"`
}

// multiDoc is the JSON document, its fields in the order of the file.
type multiDoc struct {
	Format    string          `json:"format"`
	Version   int             `json:"version"`
	Task      string          `json:"task"`
	Measure   string          `json:"measure"`
	Algorithm string          `json:"algorithm"`
	Labels    []string        `json:"labels"`
	Dim       int             `json:"dim"`
	Models    []ModelLinear   `json:"models"`
	Schema    *dataset.Schema `json:"schema"`
	Scaling   *ModelScaling   `json:"scaling"`
	Options   ModelOptions    `json:"options"`
	Data      MultiModelData  `json:"data"`
	Training  ModelTraining   `json:"training"`
	Warnings  []string        `json:"warnings"`
	Checksum  string          `json:"checksum"`
}

func (m *MultiModel) document() document {
	return &multiDoc{
		Format: modelFormat, Version: multiVersion, Task: m.Task.String(), Measure: m.Measure, Algorithm: m.Algorithm,
		Labels: m.Labels, Dim: m.Schema.Dim, Models: m.Models, Schema: m.Schema, Scaling: m.Scaling, Options: m.Options,
		Data: m.Data, Training: m.Training, Warnings: m.Warnings,
	}
}

func (d *multiDoc) checksum() *string { return &d.Checksum }

func (d *multiDoc) dims() (dim, schema int) { return d.Dim, d.Schema.Dim }

func (d *multiDoc) classifier() Classifier {
	return &MultiModel{
		Task: Task(max(0, slices.Index(tasks, d.Task))), Measure: d.Measure, Algorithm: d.Algorithm, Labels: d.Labels,
		Models: d.Models, Schema: d.Schema, Scaling: d.Scaling, Options: d.Options, Data: d.Data, Training: d.Training,
		Warnings: d.Warnings,
	}
}

// NewMultiModel returns the model of a result of [FitMulti], with the options and the data of the
// fit. It fails with an error of code diverged if a weight is not finite, of code bad_input if a
// name is not valid UTF-8, and of code internal if the parts are inconsistent. O(C·d).
func NewMultiModel(r *MultiResult, opt MultiOptions, data MultiData) (*MultiModel, error) {
	info := data.Set.Info()
	if r == nil || info.Schema == nil || len(r.Model.Models) != len(data.Labels) {
		return nil, noregret.Errorf(noregret.Internal, "model",
			"a model needs a result, a schema and a linear model for each label, one is missing")
	}
	m := &MultiModel{
		Task: data.Task, Measure: opt.Measure.Name(), Algorithm: r.Algorithm, Labels: slices.Clone(data.Labels),
		Schema: info.Schema, Scaling: sparseScaling(r.Scaling, info.Schema.Dim), Options: modelOptions(opt.Fit),
		Data: MultiModelData{
			Digest: info.Digest, Rows: info.Rows, NonZeros: info.NonZeros, BadLines: info.BadLines,
			TrainRows: r.TrainRows, HoldoutRows: r.HoldoutRows, Train: r.Train, Holdout: r.Holdout,
		},
		Training: ModelTraining{Passes: r.Passes, Folds: 1, History: finiteEntries(r.History), Chosen: r.Chosen},
		Warnings: append([]string{}, r.Warnings...),
	}
	if opt.Valid != nil {
		m.Options.Valid = opt.Valid.Set.Info().Digest
	}
	m.Options.TuneSteps = len(r.StepScales) > 1
	m.Options.Steps = stepRules[r.Schedule]
	for k, l := range r.Model.Models {
		w, err := sparseWeights(l.Weights)
		if err != nil {
			return nil, fmt.Errorf("label %s: %w", data.Labels[k], err)
		}
		m.Models = append(m.Models, ModelLinear{Weights: w, Intercept: l.Intercept, Threshold: l.Threshold})
	}
	return m, m.Validate()
}

// Dim is the number of features.
func (m *MultiModel) Dim() int { return m.Schema.Dim }

// Linear returns the classifier itself. O(C·d) memory.
func (m *MultiModel) Linear() MultiLinear {
	out := MultiLinear{Task: m.Task}
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

// Two returns the model of label k against all others as a [Model] without data, to show its
// weights, scaling and history.
func (m *MultiModel) Two(k int) *Model {
	others := slices.Clone(m.Labels)
	l := m.Models[k]
	return &Model{
		Measure: m.Measure, Algorithm: m.Algorithm, Weights: l.Weights, Intercept: l.Intercept, Threshold: l.Threshold,
		Labels: ModelLabels{Positive: m.Labels[k], Negatives: slices.Delete(others, k, k+1)},
		Schema: m.Schema, Scaling: m.Scaling, Options: m.Options, Training: m.Training,
	}
}

// HoldoutValue returns the measure on held-out data. ok is false if there were none or it was
// undefined.
func (m *MultiModel) HoldoutValue() (value float64, ok bool) { return m.Training.holdoutValue() }

// Targets looks up the labels of rows in a model: for the label of a row, or its list of labels, it
// returns their indices in Labels, ascending. unknown holds the labels that the model lacks.
func (m *MultiModel) Targets(label string) (places []int, unknown []string, err error) {
	lists, err := labelLists([]dataset.Label{{Name: label}}, m.Task)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range lists[0] {
		if k := slices.Index(m.Labels, l); k >= 0 {
			places = append(places, k)
		} else {
			unknown = append(unknown, l)
		}
	}
	slices.Sort(places)
	return places, unknown, nil
}

// ParsedMeasure returns the measure that it was trained for.
func (m *MultiModel) ParsedMeasure() (measure.Multi, error) {
	return measure.ParseMulti(m.Measure, m.Task == Multilabel)
}

// Validate implements [Classifier]. The error, of code bad_input, gives the JSON path, the value
// and what is allowed. O(size).
func (m *MultiModel) Validate() error {
	if m.Task != Multiclass && m.Task != Multilabel {
		return noregret.BadInputf("task", "want multiclass or multilabel")
	}
	if _, err := m.ParsedMeasure(); err != nil {
		return noregret.BadInputf("measure", "%w", err)
	}
	if !slices.Contains(multiAlgorithmNames(m.Task), m.Algorithm) {
		return noregret.BadInputf("algorithm", "no algorithm for %s data is named %q", m.Task, m.Algorithm)
	}
	for _, check := range []func() error{
		func() error { return checkSchema(m.Schema) },
		m.checkLabels,
		func() error { return checkNames(m.Schema) },
		func() error { return m.Scaling.check(m.Schema.Dim) },
		m.Options.check, m.checkData, m.Training.check,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkLabels checks the labels and their models.
func (m *MultiModel) checkLabels() error {
	least := 1
	if m.Task == Multiclass {
		least = 2
	}
	if len(m.Labels) < least {
		return noregret.BadInputf("labels", "there are %d, want at least %d", len(m.Labels), least)
	}
	if err := checkLabelNames(m.Labels, func(i int) string { return fmt.Sprintf("labels[%d]", i) }); err != nil {
		return err
	}
	if len(m.Models) != len(m.Labels) {
		return noregret.BadInputf("models", "there are %d, want one for each of the %d labels", len(m.Models),
			len(m.Labels))
	}
	for k, l := range m.Models {
		prefix := "models[" + strconv.Itoa(k) + "]."
		if err := checkModelLinear(prefix, m.Schema.Dim, l.Weights, l.Intercept, l.Threshold); err != nil {
			return err
		}
	}
	return nil
}

func (m *MultiModel) checkData() error {
	d := m.Data
	counts := []countField{
		{"rows", float64(d.Rows)},
		{"nonzeros", float64(d.NonZeros)},
		{"bad_lines", float64(d.BadLines)},
		{"train_rows", float64(d.TrainRows)},
		{"holdout_rows", float64(d.HoldoutRows)},
	}
	for _, part := range []struct {
		name string
		list []LabelCount
	}{{"train", d.Train}, {"holdout", d.Holdout}} {
		if len(part.list) != len(m.Labels) {
			return noregret.BadInputf("data."+part.name, "there are %d, want one for each of the %d labels",
				len(part.list), len(m.Labels))
		}
		for i, c := range part.list {
			prefix := fmt.Sprintf("%s[%d].", part.name, i)
			counts = append(counts, countField{prefix + "rows", float64(c.Rows)},
				countField{prefix + "weight", c.Weight})
		}
	}
	return checkCounts(d.Digest, counts)
}
