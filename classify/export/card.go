package export

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/legible"
)

// cardWeights is the number of weights that a card lists.
const cardWeights = 10

// writeCard writes a model card (Mitchell et al., FAT* 2019) with what the model itself tells, and
// a heading with a question for what only its people know.
func writeCard(w io.Writer, m *classify.Model) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Model card\n\n## Model\n")
	line("- A linear model of %s data, trained by noregret with the algorithm `%s`.", m.Task, m.Algorithm)
	line("- Labels: %s.", listed(m.Labels))
	if m.Task == classify.Binary {
		line("- It predicts %s where the score exceeds %s, else %s.", quoted(m.Positive()),
			short(m.Models[0].Threshold),
			quoted(m.NegativeName()))
	}
	line("- %d features, read from %s.", m.Dim(), m.Schema.Format)
	line("\n## Intended use\n\nTo be filled in: for which decisions is it meant, and for which is it not?")
	if m.Privacy != nil {
		line("\n## Privacy\n\n%s", strings.TrimSpace(m.Privacy.Text))
	} else {
		cardData(line, m)
	}
	line("\n## Largest weights\n")
	for k := range m.Models {
		if m.Task != classify.Binary {
			line("%s%s:\n", map[bool]string{true: "\n"}[k > 0], quoted(m.Labels[k]))
		}
		cardLargest(line, m, k)
	}
	line("\nA weight is for a feature in its own unit. It says what the model does, not what causes what.")
	line("\n## Limits\n")
	line("- The figures are for rows that are drawn as those of training were.")
	for _, x := range m.Warnings {
		line("- %s", cell(x))
	}
	line("\nTo be filled in: which groups of people or things are in the data, and how does it do on each?")
	_, err := io.WriteString(w, b.String())
	return err
}

// cardData writes the training data and the figures.
func cardData(line func(format string, args ...any), m *classify.Model) {
	line("\n## Training data\n")
	line("- %d rows, of which %d were trained on and %d were held out; digest `%s`.", m.Data.Rows, m.Data.Train.Rows,
		m.Data.Holdout.Rows, m.Data.Digest)
	names := m.Labels
	if m.Task == classify.Binary {
		names = []string{m.Positive(), m.NegativeName()}
	}
	for k, c := range m.Data.Train.Labels {
		line("- %s: %d rows to train on, %d held out.", quoted(names[k]), c.Rows, m.Data.Holdout.Labels[k].Rows)
	}
	line("\n## Figures\n")
	if v, ok := m.HoldoutValue(); ok {
		line("- `%s`, for which it was trained and chosen: %s on rows that it was not trained on.", m.Measure, short(v))
	} else {
		line("- It was trained for `%s`, and not measured on held-out rows.", m.Measure)
	}
	cardFigures(line, m)
	if m.Calibration == nil || m.Calibration[0].Curve == nil {
		return
	}
	c := m.Calibration[0]
	p := c.Curve.At(m.Models[0].Threshold)
	for _, x := range []struct {
		name  string
		value float64
		of    func(confidence float64) (low, high float64)
	}{
		{"recall", p.Recall.Value(), p.Recall.Interval}, {"precision", p.Precision.Value(), p.Precision.Interval},
	} {
		low, high := x.of(0.95)
		if x.value == x.value {
			line("- %s by %d %s rows, %d of them positive: %s, interval of 95 %% from %s to %s.", x.name, c.Rows,
				c.Source,
				c.Positives, short(x.value), short(low), short(high))
		}
	}
	if c.Progressive() {
		line("- Each of these rows was scored before the model learned from it, by an earlier state of the model: " +
			"the figures are approximate.")
	}
	line("- These rows also chose the model, which makes the figures slightly too good.")
}

// cardFigures writes the cross-fitted figures.
func cardFigures(line func(format string, args ...any), m *classify.Model) {
	f := m.Figures
	if f == nil || len(f.Values) == 0 {
		return
	}
	how := fmt.Sprintf("cross-fitted on %d rows in %d folds: every row is predicted by a model that has not seen it",
		f.Rows, f.Folds)
	switch f.Source {
	case "held out":
		how = fmt.Sprintf("of %d held-out rows and %d models, none of which has seen the rows that it predicts, at "+
			"thresholds of other rows", f.Rows, f.Folds)
	case "progressive":
		how = fmt.Sprintf("of %d rows of a stream, each predicted by the model of the rows before", f.Rows)
	}
	line("- On new rows the values of the table are to be expected. They are %s. The intervals are of 95 %%.", how)
	line("\n| measure | value | from | to |\n| --- | --- | --- | --- |")
	for _, x := range f.Values {
		line("| %s | %s | %s | %s |", cell(x.Measure), short(x.Value), short(x.Low), short(x.High))
	}
	line("")
}

// cardLargest writes the largest weights of a linear model.
func cardLargest(line func(format string, args ...any), m *classify.Model, k int) {
	v := m.Models[k].Weights
	order := make([]int, len(v.Index))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(math.Abs(v.Value[j]), math.Abs(v.Value[i]))
	})
	line("| feature | weight |\n| --- | --- |")
	for _, i := range order[:min(cardWeights, len(order))] {
		line("| %s | %s |", cell(m.FeatureName(v.Index[i])), short(v.Value[i]))
	}
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// cell is text from outside on one line of Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`).Replace(
		legible.Text(text))
}

func quoted(label string) string { return `"` + cell(label) + `"` }

// listed lists labels, at most ten.
func listed(labels []string) string {
	const most = 10
	var out []string
	for _, l := range labels[:min(most, len(labels))] {
		out = append(out, quoted(l))
	}
	if n := len(labels) - most; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}
