package train

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/show"
)

// twoLabels are the labels of a model of two classes in JSON.
type twoLabels struct {
	Positive  string   `json:"positive"`
	Negatives []string `json:"negatives"`
}

// labelsOf returns the labels of a model as JSON has them.
func labelsOf(m *classify.Model) any {
	if m.Task != classify.Binary {
		return m.Labels
	}
	return twoLabels{m.Positive(), m.Negatives()}
}

// classCounts are the sizes of the two classes of a part of the data in JSON.
type classCounts struct {
	Positives      int64   `json:"positives"`
	Negatives      int64   `json:"negatives"`
	PositiveWeight float64 `json:"positive_weight"`
	NegativeWeight float64 `json:"negative_weight"`
}

func classCountsOf(p classify.Part) classCounts {
	return classCounts{p.Labels[0].Rows, p.Labels[1].Rows, p.Labels[0].Weight, p.Labels[1].Weight}
}

// trainReport is the output of train --json for two classes.
type trainReport struct {
	Algorithm      string      `json:"algorithm"`
	Measure        string      `json:"measure"`
	Value          show.Number `json:"value"`
	Candidate      string      `json:"candidate"`
	Threshold      float64     `json:"threshold"`
	Intercept      float64     `json:"intercept"`
	Features       int         `json:"features"`
	NonzeroWeights int         `json:"nonzero_weights"`
	Rows           int64       `json:"rows"`
	Positives      int64       `json:"positives"`
	PositiveLabel  string      `json:"positive_label"`
	Train          classCounts `json:"train"`
	Holdout        classCounts `json:"holdout"`
	Passes         int         `json:"passes"`
	Folds          int         `json:"folds"`
	Digest         string      `json:"digest"`
	Model          string      `json:"model"`
	Warnings       []string    `json:"warnings"`

	Search  *classify.ModelSearch  `json:"search,omitempty"`
	Figures *classify.ModelFigures `json:"figures,omitempty"`
}

// labelReport is a class or label in the output of train --json.
type labelReport struct {
	Label          string              `json:"label"`
	Train          classify.LabelCount `json:"train"`
	Holdout        classify.LabelCount `json:"holdout"`
	Intercept      float64             `json:"intercept"`
	Threshold      float64             `json:"threshold"`
	NonzeroWeights int                 `json:"nonzero_weights"`
}

// labelsReport is the output of train --json for several classes or labels.
type labelsReport struct {
	Task        string        `json:"task"`
	Algorithm   string        `json:"algorithm"`
	Measure     string        `json:"measure"`
	Value       show.Number   `json:"value"`
	Candidate   string        `json:"candidate"`
	Features    int           `json:"features"`
	Rows        int64         `json:"rows"`
	TrainRows   int64         `json:"train_rows"`
	HoldoutRows int64         `json:"holdout_rows"`
	Labels      []labelReport `json:"labels"`
	Passes      int           `json:"passes"`
	Digest      string        `json:"digest"`
	Model       string        `json:"model"`
	Warnings    []string      `json:"warnings"`

	Search  *classify.ModelSearch  `json:"search,omitempty"`
	Figures *classify.ModelFigures `json:"figures,omitempty"`
}

// trainSummary returns the output of train --json.
func trainSummary(m *classify.Model, path string) any {
	chosen := m.Training.History[m.Training.Chosen]
	value := show.Number(math.NaN())
	f := m.Figures.Of(m.Measure)
	if v, ok := m.HoldoutValue(); f != nil && (m.Search != nil || m.Figures.Source != "cross-fitted") {
		value = show.Number(f.Value)
	} else if ok {
		value = show.Number(v)
	}
	if m.Task == classify.Binary {
		l := m.Models[0]
		return trainReport{
			Algorithm: m.Algorithm, Measure: m.Measure, Value: value, Search: m.Search, Figures: m.Figures,
			Candidate: chosen.Candidate, Threshold: l.Threshold, Intercept: l.Intercept, Features: m.Dim(),
			NonzeroWeights: len(l.Weights.Index), Rows: m.Data.Rows, Positives: positivesOf(m),
			PositiveLabel: m.Positive(), Train: classCountsOf(m.Data.Train),
			Holdout: classCountsOf(m.Data.Holdout), Passes: m.Training.Passes, Folds: m.Training.Folds,
			Digest: m.Data.Digest, Model: path, Warnings: m.Warnings,
		}
	}
	r := labelsReport{
		Task: m.Task.String(), Algorithm: m.Algorithm, Measure: m.Measure, Value: value,
		Search: m.Search, Figures: m.Figures,
		Candidate: chosen.Candidate, Features: m.Dim(), Rows: m.Data.Rows, TrainRows: m.Data.Train.Rows,
		HoldoutRows: m.Data.Holdout.Rows, Passes: m.Training.Passes, Digest: m.Data.Digest, Model: path,
		Warnings: m.Warnings,
	}
	for k, l := range m.Models {
		r.Labels = append(r.Labels, labelReport{
			Label: m.Labels[k], Train: m.Data.Train.Labels[k], Holdout: m.Data.Holdout.Labels[k],
			Intercept: l.Intercept, Threshold: l.Threshold, NonzeroWeights: len(l.Weights.Index),
		})
	}
	return r
}

// positivesOf counts the positive rows of the data that a model of two classes was trained on, the
// held-out part of them included.
func positivesOf(m *classify.Model) int64 {
	n := m.Data.Train.Labels[0].Rows
	if m.Options.ValidDigest == "" {
		n += m.Data.Holdout.Labels[0].Rows
	}
	return n
}

// printModel prints the short table of a model and, for several labels, one line for each.
func printModel(w io.Writer, m *classify.Model, path string) error {
	rows := []string{"model", path, "data", dataLine(m), "trained on", trainedLine(m)}
	if m.Task == classify.Binary {
		rows = append(rows, "labels", fmt.Sprintf("positive %s, negative %s", m.Positive(), show.Listed(m.Negatives())))
	}
	rows = append(rows, "algorithm", m.Algorithm+", "+show.Count(m.Training.Passes, "pass", "passes"),
		"chosen", historyLine(m.Training), m.Measure, valueLine(m))
	if m.Task == classify.Binary {
		l := m.Models[0]
		err := show.KeyValues(w, append(rows, "threshold", show.Short(l.Threshold), "weights",
			fmt.Sprintf("%d of %d are not zero, intercept %s", len(l.Weights.Index), m.Features(),
				show.Short(l.Intercept)))...)
		return errors.Join(err, printSearch(w, m))
	}
	if err := show.KeyValues(w, rows...); err != nil {
		return err
	}
	t := show.Table{}
	t.Add("")
	t.Add("label", "rows", "held out", "threshold", "weights", "intercept")
	for k, l := range m.Models {
		t.Add(m.Labels[k], strconv.FormatInt(m.Data.Train.Labels[k].Rows, 10),
			strconv.FormatInt(m.Data.Holdout.Labels[k].Rows, 10), show.Short(l.Threshold),
			strconv.Itoa(len(l.Weights.Index)), show.Short(l.Intercept))
	}
	return errors.Join(t.Write(w), printSearch(w, m))
}

// valueLine has what the measure is worth on new rows, and by which rows.
func valueLine(m *classify.Model) string {
	f := m.Figures.Of(m.Measure)
	v, ok := m.HoldoutValue()
	if f == nil && ok || ok && m.Search == nil && m.Figures.Source == "cross-fitted" {
		on := "held-out data"
		if m.Training.Folds > 1 {
			on = fmt.Sprintf("%d rows, cross-fitted", m.Data.Train.Rows)
		}
		return show.Number(v).String() + " on " + on
	}
	if f == nil {
		return "not measured on held-out data"
	}
	line := fmt.Sprintf("%s (%s to %s), ", show.Number(f.Value), show.Number(f.Low), show.Number(f.High))
	switch m.Figures.Source {
	case "held out":
		return line + heldOutLine(m)
	case "progressive":
		return line + fmt.Sprintf("%d rows of the stream, each before it was learned from", m.Figures.Rows)
	}
	line += fmt.Sprintf("cross-fitted on %d rows", m.Figures.Rows)
	if n := m.Data.Train.Rows; m.Search != nil && m.Figures.Rows < n/2 {
		line += fmt.Sprintf(" of %d: this model may be better", n)
	}
	return line
}

// heldOutLine says what figures of held-out rows are.
func heldOutLine(m *classify.Model) string {
	by, n := "this model", m.Figures.Folds
	if n > 1 {
		by = fmt.Sprintf("the models of the %d shards", n)
	}
	line := fmt.Sprintf("%d held-out rows by %s", m.Figures.Rows, by)
	if m.Training.History[m.Training.Chosen].Threshold != 0 {
		line += ", each at a threshold tuned on other rows"
	}
	return line
}

// printSearch prints what was tried and the figures to expect on new rows.
func printSearch(w io.Writer, m *classify.Model) error {
	var err error
	if s := m.Search; s != nil {
		own := "are the last training"
		if m.Options.Stream {
			own = "are this learner's"
		}
		_, err = fmt.Fprintf(w, "cost        %.1f trainings of the usual algorithm, at most %.1f were planned; %.1f "+
			"of them %s\n", s.Cost.Trainings, s.Cost.Budget, s.Cost.Own, own)
		tried := show.Table{Gap: true, Left: map[int]bool{0: true, 1: true, 2: true, 4: true}}
		tried.Add("features", "scale", "algorithm", "lambda", "threshold", "rows", "value", "behind", "±", "")
		for i, t := range s.Tried {
			mark := ""
			if i == s.Chosen {
				mark = "chosen"
			}
			tried.Add(t.Features, t.Scale, t.Algorithm, show.Short(t.Lambda), t.Threshold,
				strconv.FormatInt(t.Rows, 10), show.NumberOf(t.Value).String(), show.NumberOf(t.Behind).String(),
				show.NumberOf(t.StandardError).String(), mark)
		}
		err = errors.Join(err, tried.Write(w))
	}
	if m.Figures == nil {
		return err
	}
	figures := show.Table{Gap: true}
	figures.Add("on new rows", "value", "from", "to")
	for _, f := range m.Figures.Values {
		figures.Add(f.Measure, show.Number(f.Value).String(), show.Number(f.Low).String(), show.Number(f.High).String())
	}
	err = errors.Join(err, figures.Write(w))
	if f, n := m.Figures, m.Data.Train.Rows; m.Search == nil && f.Source == "cross-fitted" && f.Rows < n/2 {
		_, e := fmt.Fprintf(w, "these are of models of fewer rows, cross-fitted on %d of %d: this model may differ\n",
			f.Rows, n)
		err = errors.Join(err, e)
	}
	return err
}

func trainedLine(m *classify.Model) string {
	switch k := m.Training.Folds; {
	case k > 1 && m.Task == classify.Multiclass:
		return fmt.Sprintf("%d rows, the thresholds by %d models, each without one fold of them",
			m.Data.Train.Rows, k)
	case k > 1:
		return fmt.Sprintf("%d rows, the mean of %d models, each without one fold of them", m.Data.Train.Rows, k)
	}
	return fmt.Sprintf("%d rows, %d held out", m.Data.Train.Rows, m.Data.Holdout.Rows)
}

func dataLine(m *classify.Model) string {
	switch m.Task {
	case classify.Multiclass:
		return fmt.Sprintf("%d rows, %s, %s", m.Data.Rows, show.Count(m.Dim(), "feature", "features"),
			show.Count(len(m.Labels), "class", "classes"))
	case classify.Multilabel:
		return fmt.Sprintf("%d rows, %s, %s", m.Data.Rows, show.Count(m.Dim(), "feature", "features"),
			show.Count(len(m.Labels), "label", "labels"))
	}
	n := positivesOf(m)
	share := ""
	if m.Data.Rows > 0 {
		share = fmt.Sprintf(" (%s %%)", strconv.FormatFloat(100*float64(n)/float64(m.Data.Rows), 'g', 3, 64))
	}
	return fmt.Sprintf("%d rows, %d features, %d positives%s", m.Data.Rows, m.Dim(), n, share)
}

// historyLine says which candidate was chosen.
func historyLine(t classify.ModelTraining) string {
	if len(t.History) == 1 {
		return t.History[t.Chosen].Candidate + ", the only candidate"
	}
	if t.History[t.Chosen].Holdout == nil { // of a stream: it may be the simplest, not the best
		return fmt.Sprintf("%s, of %d candidates", t.History[t.Chosen].Candidate, len(t.History))
	}
	return fmt.Sprintf("%s, the best of %d candidates", t.History[t.Chosen].Candidate, len(t.History))
}
