package classify

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/loss"
)

// Validate checks the rules that a model file must keep. The error, of code bad_input, says the
// JSON path, what is there and what is allowed. O(size).
func (m *Model) Validate() error {
	if _, err := measure.Parse(m.Measure); err != nil {
		return noregret.BadInputf("measure", "%w", err)
	}
	if !slices.Contains(AlgorithmNames(), m.Algorithm) {
		return noregret.BadInputf("algorithm", "no algorithm is named %q", m.Algorithm)
	}
	if m.Schema == nil {
		return noregret.BadInputf("schema", "it is null, want the feature space")
	}
	if err := m.Schema.Validate(); err != nil {
		return noregret.BadInputf("", "%w", err) // it says "schema" itself
	}
	for _, check := range []func() error{
		m.checkLabels, m.checkNames, m.checkVectors, m.checkOptions, m.checkData,
		m.checkTraining,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) checkLabels() error {
	all := append([]string{m.Labels.Positive}, m.Labels.Negatives...)
	if len(all) < 2 {
		return noregret.BadInputf("labels.negatives", "it is empty, want at least one label")
	}
	seen := map[string]bool{}
	for i, l := range all {
		path := "labels.positive"
		if i > 0 {
			path = fmt.Sprintf("labels.negatives[%d]", i-1)
		}
		switch {
		case l == "":
			return noregret.BadInputf(path, "the label is empty")
		case seen[l]:
			return noregret.BadInputf(path, "the label %q is there twice", l)
		case !utf8.ValidString(l):
			return noregret.BadInputf(path, "the label %q is not valid UTF-8, which a model file cannot hold", l)
		}
		seen[l] = true
	}
	return nil
}

// checkNames refuses names that would not survive being written as JSON.
func (m *Model) checkNames() error {
	for i, f := range m.Schema.Features {
		if !utf8.ValidString(f) {
			return noregret.BadInputf(fmt.Sprintf("schema.features[%d]", i),
				"the name %q is not valid UTF-8, which a model file cannot hold", f)
		}
	}
	for i, c := range m.Schema.Columns {
		if !utf8.ValidString(c.Name) {
			return noregret.BadInputf(fmt.Sprintf("schema.columns[%d].name", i),
				"the name %q is not valid UTF-8, which a model file cannot hold", c.Name)
		}
	}
	return nil
}

func (m *Model) checkVectors() error {
	if err := m.checkIndex("weights", m.Weights.Index, m.Weights.Value); err != nil {
		return err
	}
	for i, v := range m.Weights.Value {
		if v == 0 || v-v != 0 {
			return noregret.BadInputf(fmt.Sprintf("weights.value[%d]", i),
				"the weight is %v, want a finite number that is not 0",
				v)
		}
	}
	for _, n := range []struct {
		path string
		v    float64
	}{{"intercept", m.Intercept}, {"threshold", m.Threshold}} {
		if n.v-n.v != 0 {
			return noregret.BadInputf(n.path, "it is %v, want a finite number", n.v)
		}
	}
	s := m.Scaling
	if s == nil {
		return nil
	}
	if err := m.checkIndex("scaling", s.Index, s.Center, s.Inverse); err != nil {
		return err
	}
	for i := range s.Index {
		if c, v := s.Center[i], s.Inverse[i]; c-c != 0 || !(v > 0) || math.IsInf(v, 1) {
			return noregret.BadInputf(fmt.Sprintf("scaling.inverse[%d]", i),
				"centre %v and inverse %v, want finite numbers, the inverse positive", c, v)
		}
	}
	return nil
}

// checkIndex checks that indices ascend below the dimension and that there is one value of each
// kind for each.
func (m *Model) checkIndex(path string, index []uint32, values ...[]float64) error {
	for _, v := range values {
		if len(v) != len(index) {
			return noregret.BadInputf(path, "%d indices and %d values, want as many of each", len(index), len(v))
		}
	}
	for j, i := range index {
		at := fmt.Sprintf("%s.index[%d]", path, j)
		if int64(i) >= int64(m.Schema.Dim) {
			return noregret.BadInputf(at, "the index is %d, want one below the dimension %d", i, m.Schema.Dim)
		}
		if j > 0 && i <= index[j-1] {
			return noregret.BadInputf(at, "the index is %d after %d, want them ascending without repeats", i,
				index[j-1])
		}
	}
	return nil
}

func (m *Model) checkOptions() error {
	o := m.Options
	if _, err := ParseThresholdRule(o.Threshold); err != nil {
		return noregret.BadInputf("options.threshold", "%w", err)
	}
	if o.LevelPositives < -1 {
		return noregret.BadInputf("options.level_positives", "%d, want at least -1", o.LevelPositives)
	}
	if _, err := ParseSteps(o.Steps); err != nil {
		return noregret.BadInputf("options.steps", "%w", err)
	}
	if !slices.Contains(averagings, o.Averaging) {
		return noregret.BadInputf("options.averaging", "%q, want one of %s", o.Averaging,
			strings.Join(averagings, ", "))
	}
	if v := o.BiasFeature; v-v != 0 {
		return noregret.BadInputf("options.bias_feature", "%v, want a finite number", v)
	}
	if _, err := loss.ParseReward(o.Reward); err != nil {
		return noregret.BadInputf("options.reward", "%w", err)
	}
	if o.Valid != "" && !isDigest(o.Valid) {
		return noregret.BadInputf("options.valid", "%q, want \"\" or sha256: and 64 hexadecimal digits", o.Valid)
	}
	if h := o.Holdout; h != nil && !(*h >= 0 && *h < 1) {
		return noregret.BadInputf("options.holdout", "%v, want null or a share in [0, 1)", *h)
	}
	for _, n := range []struct {
		name     string
		v        float64
		positive bool
	}{
		{"passes", float64(o.Passes), false},
		{"folds", float64(o.Folds), false},
		{"step_scale", o.StepScale, true},
		{"dual_scale", o.DualScale, true},
		{"radius", o.Radius, false},
		{"lambda", o.Lambda, false},
		{"prior_positives", o.PriorPositives, false},
		{"first_epoch", float64(o.FirstEpoch), false},
		{"growth", o.Growth, false},
		{"patience", float64(o.Patience), true},
		{"step", o.Step, false},
		{"max_example_weight", o.MaxWeight, false},
	} {
		if !(n.v >= 0) || math.IsInf(n.v, 1) || n.positive && n.v == 0 {
			want := "at least 0"
			if n.positive {
				want = "above 0"
			}
			return noregret.BadInputf("options."+n.name, "%v, want a finite number %s", n.v, want)
		}
	}
	return nil
}

func isDigest(s string) bool {
	const prefix = "sha256:"
	if len(s) != len(prefix)+64 || s[:len(prefix)] != prefix {
		return false
	}
	for _, c := range s[len(prefix):] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

func (m *Model) checkData() error {
	d := m.Data
	if d.Digest != "" && !isDigest(d.Digest) {
		return noregret.BadInputf("data.digest", "%q, want \"\" or sha256: and 64 hexadecimal digits", d.Digest)
	}
	for _, n := range []struct {
		name string
		v    float64
	}{
		{"rows", float64(d.Rows)},
		{"nonzeros", float64(d.NonZeros)},
		{"bad_lines", float64(d.BadLines)},
		{"train.positives", float64(d.Train.Positives)},
		{"train.negatives", float64(d.Train.Negatives)},
		{"train.positive_weight", d.Train.PositiveWeight},
		{"train.negative_weight", d.Train.NegativeWeight},
		{"holdout.positives", float64(d.Holdout.Positives)},
		{"holdout.negatives", float64(d.Holdout.Negatives)},
		{"holdout.positive_weight", d.Holdout.PositiveWeight},
		{"holdout.negative_weight", d.Holdout.NegativeWeight},
	} {
		if !(n.v >= 0) || math.IsInf(n.v, 1) {
			return noregret.BadInputf("data."+n.name, "%v, want a finite number at least 0", n.v)
		}
	}
	return nil
}

func (m *Model) checkTraining() error {
	t := m.Training
	if t.Passes < 0 {
		return noregret.BadInputf("training.passes", "%d, want at least 0", t.Passes)
	}
	if t.Folds < 1 {
		return noregret.BadInputf("training.folds", "%d, want at least 1", t.Folds)
	}
	if t.Chosen < 0 || t.Chosen >= len(t.History) {
		return noregret.BadInputf("training.chosen", "%d, want a place in the history of %d", t.Chosen, len(t.History))
	}
	for i, e := range t.History {
		if e.Threshold-e.Threshold != 0 || e.StepScale-e.StepScale != 0 {
			return noregret.BadInputf(fmt.Sprintf("training.history[%d]", i),
				"threshold %v and step scale %v, want finite numbers", e.Threshold, e.StepScale)
		}
		if finite(e.Progressive) == nil && e.Progressive != nil || finite(e.Level) == nil && e.Level != nil ||
			finite(e.Holdout) == nil && e.Holdout != nil {
			return noregret.BadInputf(fmt.Sprintf("training.history[%d]", i),
				"a value is not finite, want a finite number or null")
		}
	}
	return nil
}
