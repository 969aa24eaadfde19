package train

import (
	"fmt"
	"io"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/legible"
)

// showMulti shows a model of several classes or labels.
func (o *inspectOptions) showMulti(w io.Writer, m *classify.MultiModel, path string) error {
	type one struct {
		Label     string   `json:"label"`
		Intercept float64  `json:"intercept"`
		Threshold float64  `json:"threshold"`
		Weights   []weight `json:"weights"`
	}
	var models []one
	for k, l := range m.Labels {
		models = append(models, one{l, m.Models[k].Intercept, m.Models[k].Threshold, topWeights(m.Two(k), o.top)})
	}
	if o.json {
		return writeOrdered(w,
			"task", m.Task.String(), "measure", m.Measure, "algorithm", m.Algorithm, "labels", m.Labels, "dim", m.Dim(),
			"options", m.Options, "data", m.Data, "training", m.Training, "warnings", m.Warnings, "models", models)
	}
	if err := printMultiModel(w, m, path); err != nil {
		return err
	}
	if err := writeSettings(w, m.Options); err != nil {
		return err
	}
	if err := writeHistory(w, m.Training); err != nil {
		return err
	}
	for k, x := range models {
		fmt.Fprintf(w, "\nWeights of %s (%d of %d that are not zero)\n", legible.Text(x.Label), len(x.Weights),
			len(m.Models[k].Weights.Index))
		if err := writeWeights(w, x.Weights); err != nil {
			return err
		}
	}
	for _, s := range m.Warnings {
		fmt.Fprintf(w, "\nWarning: %s\n", legible.Text(s))
	}
	return nil
}
