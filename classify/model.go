package classify

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/forget"
)

// Model is a trained classifier with everything needed to use it later: the weights, the names of
// features and labels, and the history of its training. A model file holds a Model;
// docs/formats/model.md describes the file. A Model depends only on the data, the options and the
// seed: it has no dates, durations, paths or names of machines. This package does not modify a
// Model, so it is safe for concurrent reading.
type Model struct {
	// Measure is the name of the measure it was trained for, and Algorithm that of the algorithm.
	Measure, Algorithm string
	// Labels are the labels of the training data.
	Labels ModelLabels
	// Weights are the weights of raw features that are not zero.
	Weights SparseVector
	// Intercept and Threshold: the label is positive when ⟨weights, x⟩ + Intercept exceeds
	// Threshold, strictly.
	Intercept, Threshold float64
	// Schema is the feature space and how inputs map to it.
	Schema *dataset.Schema
	// Scaling is the standardisation used in training; nil if it is unknown.
	Scaling *ModelScaling
	// Options are the options of the training.
	Options ModelOptions
	// Data describes the training data.
	Data ModelData
	// Training is the history.
	Training ModelTraining
	// Warnings are the warnings of the training.
	Warnings []string
	// Privacy says how the model is differentially private; nil if it is not. A private model has
	// no Measure, Options, Training and nothing in Data but Rows: these would tell more about the
	// data than was released.
	Privacy *ModelPrivacy
}

// ModelLabels names the positive label and all others.
type ModelLabels struct {
	Positive  string   `json:"positive"`
	Negatives []string `json:"negatives"`
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

// ModelOptions are the options of [Fit] as a model keeps them; their meaning and ranges are those
// of the fields of the same name in [Options] and [Config], with defaults filled in where they do
// not depend on the data.
type ModelOptions struct {
	Seed   uint64 `json:"seed"`
	Stream bool   `json:"stream"` // one pass straight from the reader
	// Passes 0 is the default rule; Training.Passes says how many there were.
	Passes          int      `json:"passes"`
	Holdout         *float64 `json:"holdout"` // nil: the algorithm's rule; 0: none
	Folds           int      `json:"folds"`   // 0: the default rule; 1: none
	Valid           string   `json:"valid"`   // digest of separate held-out data, else ""
	Threshold       string   `json:"threshold"`
	TuneSteps       bool     `json:"tune_steps"`
	Steps           string   `json:"steps"`           // default where the algorithm has none
	LevelPositives  int      `json:"level_positives"` // 0: the default; -1: never
	StepScale       float64  `json:"step_scale"`
	DualScale       float64  `json:"dual_scale"`
	Reward          string   `json:"reward"`
	Radius          float64  `json:"radius"` // 0: no ball
	Lambda          float64  `json:"lambda"`
	Intercept       bool     `json:"intercept"`
	Scaled          bool     `json:"scaled"`
	PriorPositives  float64  `json:"prior_positives"` // 0: that of the data
	FirstEpoch      int      `json:"first_epoch"`     // 0: the default rule
	Growth          float64  `json:"growth"`          // 0: the default
	Patience        int      `json:"patience"`
	AllowDegenerate bool     `json:"allow_degenerate"`
	AllEpochs       bool     `json:"all_epochs"`
	Step            float64  `json:"step"`         // 0: the default step size
	BiasFeature     float64  `json:"bias_feature"` // 0 without an intercept
	Averaging       string   `json:"averaging"`    // all, last_pass, none or last_half
	MaxWeight       float64  `json:"max_example_weight"`
	// Drift is left out for none, as in files from before there was the option.
	Drift string `json:"drift,omitempty"`
}

// ModelData describes the data that a model was trained on.
type ModelData struct {
	// "sha256:" and the hex digest of the unpacked input bytes; "" in the middle of a stream
	Digest   string       `json:"digest"`
	Rows     int64        `json:"rows"`
	NonZeros int64        `json:"nonzeros"`
	BadLines int64        `json:"bad_lines"` // lines that were skipped
	Train    ModelClasses `json:"train"`
	Holdout  ModelClasses `json:"holdout"` // zeros when nothing was held out
}

// ModelClasses are the sizes of the two classes of a part of the data.
type ModelClasses struct {
	Positives      int64   `json:"positives"`
	Negatives      int64   `json:"negatives"`
	PositiveWeight float64 `json:"positive_weight"`
	NegativeWeight float64 `json:"negative_weight"`
}

// ModelTraining is the history of a training.
type ModelTraining struct {
	// Passes over the training part, those for statistics not counted.
	Passes  int            `json:"passes"`
	Folds   int            `json:"folds"`   // of the cross-fitting; 1 without
	History []HistoryEntry `json:"history"` // the candidates in the order of training
	Chosen  int            `json:"chosen"`  // the index of this model in History
}

// NewModel returns the model of a result of [Fit], with the options and the data of the fit.
// positive is the class number of the positive label. It fails with an error of code diverged when
// a weight is not finite, of code bad_input when a name is not valid UTF-8, which a model file
// cannot hold, and of code internal when the parts are inconsistent. O(d).
func NewModel(r *Result, opt Options, info dataset.Info, positive int) (*Model, error) {
	if r == nil || opt.Measure == nil || info.Schema == nil || positive < 0 || positive >= len(info.Labels) {
		return nil, noregret.Errorf(noregret.Internal, "model",
			"a model needs a result, a measure, a schema and the positive class; one of them is missing")
	}
	m := &Model{
		Measure: opt.Measure.Name(), Algorithm: r.Algorithm,
		Labels:    ModelLabels{Positive: info.Labels[positive].Name, Negatives: []string{}},
		Intercept: r.Model.Intercept, Threshold: r.Model.Threshold,
		Schema:  info.Schema,
		Scaling: sparseScaling(r.Scaling, info.Schema.Dim),
		Options: modelOptions(opt),
		Data: ModelData{
			Digest: info.Digest, Rows: info.Rows, NonZeros: info.NonZeros, BadLines: info.BadLines,
			Train: modelClasses(r.Train), Holdout: modelClasses(r.Holdout),
		},
		Training: ModelTraining{
			Passes: r.Passes, Folds: max(1, r.Folds), History: finiteEntries(r.History),
			Chosen: r.Chosen,
		},
		Warnings: append([]string{}, r.Warnings...),
	}
	m.Options.TuneSteps = len(r.StepScales) > 1
	if s := int(r.Schedule); s > 0 && s < len(stepRules) {
		m.Options.Steps = stepRules[s]
	}
	for c, l := range info.Labels {
		if c != positive {
			m.Labels.Negatives = append(m.Labels.Negatives, l.Name)
		}
	}
	var err error
	if m.Weights, err = sparseWeights(r.Model.Weights); err != nil {
		return nil, err
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

func modelClasses(c Classes) ModelClasses {
	return ModelClasses{
		Positives: c.Positives, Negatives: c.Negatives, PositiveWeight: c.PositiveWeight,
		NegativeWeight: c.NegativeWeight,
	}
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

// thresholdRules are the names of the rules, in the order of their constants.
var thresholdRules = []string{"default", "zero", "tuned"}

// ParseThresholdRule returns the rule of the given name: default, zero or tuned.
func ParseThresholdRule(name string) (ThresholdRule, error) {
	if i := slices.Index(thresholdRules, name); i >= 0 {
		return ThresholdRule(i), nil
	}
	return 0, usage("no threshold rule is named %q; there are default, zero, tuned", name)
}

// averagings are the names of the ways of averaging.
var averagings = []string{"all", "last_pass", "none", "last_half"}

// stepRules are the names of the schedules of steps.
var stepRules = []string{"default", "sqrt", "adaptive", "betting"}

// ParseSteps returns the schedule of the given name.
func ParseSteps(name string) (Steps, error) {
	if i := slices.Index(stepRules, name); i >= 0 {
		return Steps(i), nil
	}
	return 0, usage("no schedule of steps is named %q; there are %s", name, strings.Join(stepRules, ", "))
}

func modelOptions(o Options) ModelOptions {
	o = o.EnsureDefaults()
	out := ModelOptions{
		Seed: o.Seed, Passes: openNumber(o.Passes), Folds: openNumber(o.Folds), TuneSteps: o.TuneSteps,
		StepScale: o.Config.StepScale,
		DualScale: o.DualScale, Reward: o.Config.Reward.Name(), Radius: o.Config.Radius, Lambda: o.Config.Lambda,
		Intercept: !o.Config.NoIntercept, Scaled: !o.Unscaled, PriorPositives: o.PriorPositives,
		LevelPositives: levelNumber(o.LevelPositives), FirstEpoch: o.FirstEpoch, Growth: o.Growth, Patience: o.Patience,
		AllowDegenerate: o.AllowDegenerate,
		AllEpochs:       o.AllEpochs, Step: o.Config.Step, BiasFeature: o.Config.BiasFeature,
		MaxWeight: o.Config.MaxExampleWeight,
	}
	if o.Drift.Kind != forget.None {
		out.Drift = driftText(o.Drift)
	}
	if s := int(o.Config.Steps); s >= 0 && s < len(stepRules) {
		out.Steps = stepRules[s]
	}
	if a := int(o.Config.Averaging); a >= 0 && a < len(averagings) {
		out.Averaging = averagings[a]
	}
	if o.Config.NoIntercept {
		out.BiasFeature = 0
	}
	if r := int(o.Threshold); r >= 0 && r < len(thresholdRules) {
		out.Threshold = thresholdRules[r]
	}
	if math.IsInf(out.Radius, 1) {
		out.Radius = 0
	}
	if o.Holdout != nil {
		out.Holdout = new(*o.Holdout)
	}
	if o.Valid != nil {
		out.Valid = o.Valid.Set.Info().Digest
	}
	return out
}

// Dim is the number of features.
func (m *Model) Dim() int { return m.Schema.Dim }

// Linear returns the classifier itself. It takes memory for the features up to the last one with a
// weight.
func (m *Model) Linear() Linear {
	return ModelLinear{Weights: m.Weights, Intercept: m.Intercept, Threshold: m.Threshold}.linear()
}

// FeatureName returns the name of feature i, or its number as files write it if it has no name.
func (m *Model) FeatureName(i uint32) string {
	if int(i) < len(m.Schema.Features) {
		return m.Schema.Features[i]
	}
	if m.Schema.Base == dataset.BaseOne && m.Schema.Bits == 0 {
		return strconv.FormatUint(uint64(i)+1, 10)
	}
	return strconv.FormatUint(uint64(i), 10)
}

// NegativeName returns the name of a negative prediction: the other label, or "not " and the
// positive label if there were several others.
func (m *Model) NegativeName() string {
	if len(m.Labels.Negatives) == 1 {
		return m.Labels.Negatives[0]
	}
	return "not " + m.Labels.Positive
}

// HoldoutValue returns the measure on held-out data. ok is false if there were none or it was
// undefined.
func (m *Model) HoldoutValue() (value float64, ok bool) { return m.Training.holdoutValue() }

func (t ModelTraining) holdoutValue() (value float64, ok bool) {
	if len(t.History) == 0 { // a private model
		return 0, false
	}
	if v := t.History[t.Chosen].Holdout; v != nil {
		return *v, true
	}
	return 0, false
}
