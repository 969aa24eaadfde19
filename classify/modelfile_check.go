package classify

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
)

// Validate checks the rules that a model file must keep. The error, of code bad_input, gives the
// JSON path, the value and what is allowed. O(size).
func (m *Model) Validate() error {
	if m.Task < Binary || m.Task > Multilabel {
		return noregret.BadInputf("task", "want %s", strings.Join(taskNames, ", "))
	}
	checks := []func() error{
		m.checkTraining,
		func() error { return checkSchema(m.Schema) },
		m.checkLabels,
		func() error { return checkNames(m.Schema) },
		func() error { return m.Transform.check(m.Schema.Dim) },
		m.checkModels,
		func() error { return m.Scaling.check(m.Features()) },
		m.checkCalibration,
		func() error { return m.Shard.check(m) },
	}
	if m.Privacy != nil {
		checks[0] = m.checkPrivate
		checks = append(checks, m.Privacy.check)
	} else {
		checks = append(checks, m.Options.check, m.checkData, m.Training.check, m.Search.check, m.Figures.check)
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkTraining checks the names of measure and algorithm.
func (m *Model) checkTraining() error {
	if _, err := m.ParsedMeasure(); err != nil {
		return noregret.BadInputf("measure", "%w", err)
	}
	if !slices.Contains(AlgorithmNames(m.Task), m.Algorithm) {
		return noregret.BadInputf("algorithm", "no algorithm for %s data is named %q", m.Task, m.Algorithm)
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

// checkLabels returns an error for labels that are too few, empty, repeated or not representable in
// JSON.
func (m *Model) checkLabels() error {
	if least := m.Task.fewestLabels(); len(m.Labels) < least {
		return noregret.BadInputf("labels", "there are %d, want at least %d", len(m.Labels), least)
	}
	seen := map[string]bool{}
	for i, l := range m.Labels {
		path := fmt.Sprintf("labels[%d]", i)
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

// checkModels checks the linear models.
func (m *Model) checkModels() error {
	if want := m.Task.outputs(len(m.Labels)); len(m.Models) != want {
		return noregret.BadInputf("models", "there are %d, want %d for %s data of %d labels", len(m.Models), want,
			m.Task, len(m.Labels))
	}
	for k, l := range m.Models {
		path := fmt.Sprintf("models[%d].", k)
		if err := checkIndex(path+"weights", m.Features(), l.Weights.Index, l.Weights.Value); err != nil {
			return err
		}
		for i, v := range l.Weights.Value {
			if v == 0 || v-v != 0 {
				return noregret.BadInputf(fmt.Sprintf("%sweights.value[%d]", path, i),
					"the weight is %v, want a finite number that is not 0", v)
			}
		}
		if l.Intercept-l.Intercept != 0 || l.Threshold-l.Threshold != 0 {
			return noregret.BadInputf(path+"intercept", "%v, with the threshold %v: want finite numbers", l.Intercept,
				l.Threshold)
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

func isDigest(s string) bool { return isHex(s, "sha256:", 64) }

// isHex reports whether s is the prefix and so many hexadecimal digits.
func isHex(s, prefix string, digits int) bool {
	hex, ok := strings.CutPrefix(s, prefix)
	return ok && len(hex) == digits && strings.Trim(hex, "0123456789abcdef") == ""
}

func (m *Model) checkData() error {
	d := m.Data
	if d.Digest != "" && !isDigest(d.Digest) && !isHex(d.Digest, "xxh64:", 16) {
		return noregret.BadInputf("data.digest", "%q, want \"\", sha256: and 64 hexadecimal digits, or xxh64: and 16",
			d.Digest)
	}
	type count struct {
		name string
		v    float64
	}
	counts := []count{
		{"rows", float64(d.Rows)},
		{"nonzeros", float64(d.NonZeros)},
		{"bad_lines", float64(d.BadLines)},
	}
	for _, part := range []struct {
		name string
		Part
	}{{"train", d.Train}, {"holdout", d.Holdout}} {
		if want := m.Task.counted(len(m.Labels)); len(part.Labels) != want {
			return noregret.BadInputf("data."+part.name+".labels", "there are %d, want %d for %s data of %d labels",
				len(part.Labels), want, m.Task, len(m.Labels))
		}
		counts = append(counts, count{part.name + ".rows", float64(part.Rows)})
		for i, c := range part.Labels {
			path := fmt.Sprintf("%s.labels[%d].", part.name, i)
			counts = append(counts, count{path + "rows", float64(c.Rows)}, count{path + "weight", c.Weight})
		}
	}
	for _, c := range counts {
		if !(c.v >= 0) || math.IsInf(c.v, 1) {
			return noregret.BadInputf("data."+c.name, "%v, want a finite number at least 0", c.v)
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
