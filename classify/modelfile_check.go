package classify

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/loss"
)

// Validate checks the rules that a model file must keep. The error, of code bad_input, gives the
// JSON path, the value and what is allowed. O(size).
func (m *Model) Validate() error {
	if m.Privacy != nil {
		return m.validatePrivate()
	}
	if _, err := measure.Parse(m.Measure); err != nil {
		return noregret.BadInputf("measure", "%w", err)
	}
	if !slices.Contains(AlgorithmNames(), m.Algorithm) {
		return noregret.BadInputf("algorithm", "no algorithm is named %q", m.Algorithm)
	}
	for _, check := range []func() error{
		func() error { return checkSchema(m.Schema) },
		m.checkLabels,
		func() error { return checkNames(m.Schema) },
		m.checkVectors,
		m.Options.check,
		m.checkData,
		m.Training.check,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkSchema checks the feature space of a model.
func checkSchema(s *dataset.Schema) error {
	if s == nil {
		return noregret.BadInputf("schema", "null, but a model needs the feature space")
	}
	if err := s.Validate(); err != nil {
		return noregret.BadInputf("", "%w", err) // its message begins with "schema"
	}
	return nil
}

func (m *Model) checkLabels() error {
	all := append([]string{m.Labels.Positive}, m.Labels.Negatives...)
	if len(all) < 2 {
		return noregret.BadInputf("labels.negatives", "empty: at least one label is required")
	}
	return checkLabelNames(all, func(i int) string {
		if i == 0 {
			return "labels.positive"
		}
		return fmt.Sprintf("labels.negatives[%d]", i-1)
	})
}

// checkLabelNames returns an error for labels that are empty, repeated or not representable in
// JSON. path returns the JSON path of label i.
func checkLabelNames(all []string, path func(i int) string) error {
	seen := map[string]bool{}
	for i, l := range all {
		path := path(i)
		switch {
		case l == "":
			return noregret.BadInputf(path, "the label is empty")
		case seen[l]:
			return noregret.BadInputf(path, "the label %q appears twice", l)
		case !utf8.ValidString(l):
			return noregret.BadInputf(path, "the label %q is not valid UTF-8, which a model file cannot hold", l)
		}
		seen[l] = true
	}
	return nil
}

// checkNames returns an error for names that are not representable in JSON.
func checkNames(s *dataset.Schema) error {
	for i, f := range s.Features {
		if !utf8.ValidString(f) {
			return noregret.BadInputf(fmt.Sprintf("schema.features[%d]", i),
				"the name %q is not valid UTF-8, which a model file cannot hold", f)
		}
	}
	for i, c := range s.Columns {
		if !utf8.ValidString(c.Name) {
			return noregret.BadInputf(fmt.Sprintf("schema.columns[%d].name", i),
				"the name %q is not valid UTF-8, which a model file cannot hold", c.Name)
		}
	}
	return nil
}

func (m *Model) checkVectors() error {
	if err := checkModelLinear("", m.Schema.Dim, m.Weights, m.Intercept, m.Threshold); err != nil {
		return err
	}
	return m.Scaling.check(m.Schema.Dim)
}

// checkModelLinear checks the numbers of a linear model whose fields have the given prefix to their
// JSON path.
func checkModelLinear(prefix string, dim int, weights SparseVector, intercept, threshold float64) error {
	if err := checkIndex(prefix+"weights", dim, weights.Index, weights.Value); err != nil {
		return err
	}
	for i, v := range weights.Value {
		if v == 0 || v-v != 0 {
			return noregret.BadInputf(fmt.Sprintf("%sweights.value[%d]", prefix, i),
				"the weight is %v, want a finite number that is not 0", v)
		}
	}
	for _, n := range []struct {
		name string
		v    float64
	}{{"intercept", intercept}, {"threshold", threshold}} {
		if n.v-n.v != 0 {
			return noregret.BadInputf(prefix+n.name, "%v: want a finite number", n.v)
		}
	}
	return nil
}

func (s *ModelScaling) check(dim int) error {
	if s == nil {
		return nil
	}
	if err := checkIndex("scaling", dim, s.Index, s.Center, s.Inverse); err != nil {
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
func checkIndex(path string, dim int, index []uint32, values ...[]float64) error {
	for _, v := range values {
		if len(v) != len(index) {
			return noregret.BadInputf(path, "%d indices and %d values, want the same number", len(index), len(v))
		}
	}
	for j, i := range index {
		at := fmt.Sprintf("%s.index[%d]", path, j)
		if int64(i) >= int64(dim) {
			return noregret.BadInputf(at, "the index is %d, want one below the dimension %d", i, dim)
		}
		if j > 0 && i <= index[j-1] {
			return noregret.BadInputf(at, "the index is %d after %d, want them ascending without repeats", i,
				index[j-1])
		}
	}
	return nil
}

func (o ModelOptions) check() error {
	if _, err := ParseThresholdRule(o.Threshold); err != nil {
		return noregret.BadInputf("options.threshold", "%w", err)
	}
	if _, err := levelOf(o.LevelPositives); err != nil {
		return noregret.BadInputf("options.level_positives", "%d, %w", o.LevelPositives, err)
	}
	if _, err := ParseSteps(o.Steps); err != nil {
		return noregret.BadInputf("options.steps", "%w", err)
	}
	if !slices.Contains(averagings, o.Averaging) {
		return noregret.BadInputf("options.averaging", "%q, want one of %s", o.Averaging,
			strings.Join(averagings, ", "))
	}
	if _, err := loss.ParseReward(o.Reward); err != nil {
		return noregret.BadInputf("options.reward", "%w", err)
	}
	if o.Drift != "" {
		if _, err := ParseDrift(o.Drift); err != nil {
			return noregret.BadInputf("options.drift", "%w", err)
		}
	}
	if o.Valid != "" && !isDigest(o.Valid) {
		return noregret.BadInputf("options.valid", "%q, want \"\" or sha256: and 64 hexadecimal digits", o.Valid)
	}
	for i, v := 0, reflect.ValueOf(o); i < v.NumField(); i++ {
		name := strictjson.Name(v.Type().Field(i))
		s, known := settingOf(name)
		if !known || s.ok == nil || name == "level_positives" { // whose numbers levelOf knows
			continue
		}
		var x float64
		want, f := s.Want, v.Field(i)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			want, f = "null or "+want, f.Elem()
		}
		switch f.Kind() {
		case reflect.Int:
			x = float64(f.Int())
		case reflect.Float64:
			x = f.Float()
		default:
			continue
		}
		if !s.ok(x) {
			return noregret.BadInputf("options."+name, "%v, want %s", x, want)
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
	return checkCounts(d.Digest, []countField{
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
	})
}

// countField is a count or a sum of weights in data, by its JSON path there.
type countField struct {
	name string
	v    float64
}

// checkCounts checks the digest and the counts of the data of a model.
func checkCounts(digest string, counts []countField) error {
	if digest != "" && !isDigest(digest) {
		return noregret.BadInputf("data.digest", "%q, want \"\" or sha256: and 64 hexadecimal digits", digest)
	}
	for _, n := range counts {
		if !(n.v >= 0) || math.IsInf(n.v, 1) {
			return noregret.BadInputf("data."+n.name, "%v, want a finite number at least 0", n.v)
		}
	}
	return nil
}

func (t ModelTraining) check() error {
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
