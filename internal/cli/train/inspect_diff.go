package train

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/show"
)

// flattenRaw lists the leaves of a JSON value with their paths, in the order of the text. Arrays
// are leaves.
func flattenRaw(path string, raw []byte) ([]setting, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return []setting{{path, string(bytes.Trim(raw, `"`))}}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var out []setting
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		name := fmt.Sprint(t)
		if path != "" {
			name = path + "." + name
		}
		inner, err := flattenRaw(name, value)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// compared holds what inspect --diff compares besides the weights.
type compared struct {
	Measure   string                `json:"measure"`
	Algorithm string                `json:"algorithm"`
	Labels    any                   `json:"labels"`
	Format    string                `json:"format"`
	Dim       int                   `json:"dim"`
	Intercept float64               `json:"intercept"`
	Threshold float64               `json:"threshold"`
	Candidate string                `json:"candidate"`
	Holdout   show.Number           `json:"holdout_value"`
	Options   classify.ModelOptions `json:"options"`
	Data      any                   `json:"data"`
}

func comparedOf(m *classify.Model) ([]setting, error) {
	chosen := m.Training.History[m.Training.Chosen]
	return flatten("", compared{
		Measure: m.Measure, Algorithm: m.Algorithm, Labels: labelsOf(m), Format: string(m.Schema.Format), Dim: m.Dim(),
		Intercept: m.Models[0].Intercept, Threshold: m.Models[0].Threshold, Candidate: chosen.Candidate,
		Holdout: show.NumberOf(chosen.Holdout), Options: m.Options, Data: dataOf(m),
	})
}

// settingChange is a setting in which two models differ.
type settingChange struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// weightChange is a feature whose weight differs between two models; a missing weight is 0.
type weightChange struct {
	Feature string  `json:"feature"`
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	Change  float64 `json:"change"`
}

// writeDiff prints how model b differs from model m.
func (o *inspectOptions) writeDiff(w io.Writer, m, b *classify.Model, path string) error {
	left, err := comparedOf(m)
	if err != nil {
		return err
	}
	right, err := comparedOf(b)
	if err != nil {
		return err
	}
	changes := []settingChange{}
	for i := range left { // the same names in the same order: both come from one type
		if left[i].value != right[i].value {
			changes = append(changes, settingChange{left[i].name, left[i].value, right[i].value})
		}
	}
	weights := weightChanges(m, b)
	total := len(weights)
	if o.top > 0 && total > o.top {
		weights = weights[:o.top]
	}
	if o.json {
		return writeOrdered(w, "settings", changes, "changed_weights", total, "weights", weights)
	}
	return writeDiff(w, path, o.diff, changes, weights, total)
}

// weightChanges lists the features, matched by name, whose weights differ, the largest change
// first.
func weightChanges(m, b *classify.Model) []weightChange {
	byName := map[string]int{}
	list := []weightChange{}
	left, right := m.Models[0].Weights, b.Models[0].Weights
	for j, i := range left.Index {
		name := m.FeatureName(i)
		byName[name] = len(list)
		list = append(list, weightChange{Feature: name, A: left.Value[j]})
	}
	for j, i := range right.Index {
		name := b.FeatureName(i)
		k, ok := byName[name]
		if !ok {
			k = len(list)
			list = append(list, weightChange{Feature: name})
		}
		list[k].B = right.Value[j]
	}
	list = slices.DeleteFunc(list, func(c weightChange) bool { return c.A == c.B })
	for k := range list {
		list[k].Change = list[k].B - list[k].A
	}
	slices.SortStableFunc(list, func(x, y weightChange) int {
		return cmp.Compare(math.Abs(y.Change), math.Abs(x.Change))
	})
	return list
}

func writeDiff(w io.Writer, nameA, nameB string, changes []settingChange, weights []weightChange, total int) error {
	if len(changes) == 0 && total == 0 {
		_, err := fmt.Fprintln(w, "no difference")
		return err
	}
	g := show.Table{Left: map[int]bool{1: true, 2: true}}
	g.Add("setting", nameA, nameB)
	for _, c := range changes {
		g.Add(c.Name, c.A, c.B)
	}
	if err := g.Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d weights differ\n", total)
	t := show.Table{}
	if total > 0 {
		t.Add("feature", nameA, nameB, "change")
	}
	for _, c := range weights {
		t.Add(c.Feature, show.Short(c.A), show.Short(c.B), show.Short(c.Change))
	}
	return t.Write(w)
}
