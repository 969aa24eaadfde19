package train

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/show"
)

// fitMulti trains a classifier of several classes or labels.
func (o *trainOptions) fitMulti(ctx context.Context, a *command.App, set *dataset.Set) error {
	opt := o.multiOptions()
	if err := opt.Validate(o.measures.task); err != nil {
		return err
	}
	data, err := o.data.AllLabels(a, set, o.measures.task)
	if err != nil {
		return err
	}
	if o.measures.two != nil {
		a.Note("training for %s of all classes (--positive trains one of them against the others)", o.fit.measure)
	}
	var result *classify.MultiResult
	err = o.fitKept(ctx, a, set.Info(), func(valid *dataset.Set, progress func(classify.Progress)) error {
		if valid != nil {
			held, err := data.Of(valid)
			if err != nil {
				return dataflags.WithPlace(err, valid.Info().Inputs)
			}
			opt.Valid = &held
		}
		opt.Fit.Progress = progress
		result, err = classify.FitMulti(ctx, data, opt)
		return dataflags.WithPlace(err, set.Info().Inputs)
	})
	if err != nil {
		return err
	}
	m, err := classify.NewMultiModel(result, opt, data)
	if err != nil {
		return err
	}
	if err := o.writeModel(a, m, m.Warnings); err != nil {
		return err
	}
	if o.json {
		return show.JSON(a.Stdout, multiSummary(m, o.model))
	}
	return printMultiModel(a.Stdout, m, o.model)
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

// multiReport is the output of train --json for several classes or labels.
type multiReport struct {
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
}

func multiSummary(m *classify.MultiModel, path string) multiReport {
	chosen := m.Training.History[m.Training.Chosen]
	r := multiReport{
		Task: m.Task.String(), Algorithm: m.Algorithm, Measure: m.Measure, Value: show.NumberOf(chosen.Holdout),
		Candidate: chosen.Candidate, Features: m.Dim(), Rows: m.Data.Rows, TrainRows: m.Data.TrainRows,
		HoldoutRows: m.Data.HoldoutRows, Passes: m.Training.Passes, Digest: m.Data.Digest, Model: path,
		Warnings: m.Warnings,
	}
	for k, l := range m.Models {
		r.Labels = append(r.Labels, labelReport{
			Label: m.Labels[k], Train: m.Data.Train[k], Holdout: m.Data.Holdout[k], Intercept: l.Intercept,
			Threshold: l.Threshold, NonzeroWeights: len(l.Weights.Index),
		})
	}
	return r
}

// printMultiModel prints the short table of a model and one line for each label.
func printMultiModel(w io.Writer, m *classify.MultiModel, path string) error {
	what := show.Count(len(m.Labels), "class", "classes")
	if m.Task == classify.Multilabel {
		what = show.Count(len(m.Labels), "label", "labels")
	}
	value := "not measured on held-out data"
	if v, ok := m.HoldoutValue(); ok {
		value = show.Number(v).String() + " on held-out data"
	}
	if err := show.KeyValues(w,
		"model", path,
		"data", fmt.Sprintf("%d rows, %s, %s", m.Data.Rows, show.Count(m.Dim(), "feature", "features"), what),
		"trained on", fmt.Sprintf("%d rows, %d held out", m.Data.TrainRows, m.Data.HoldoutRows),
		"algorithm", m.Algorithm+", "+show.Count(m.Training.Passes, "pass", "passes"),
		"chosen", historyLine(m.Training),
		m.Measure, value,
	); err != nil {
		return err
	}
	t := show.Table{}
	t.Add("")
	t.Add("label", "rows", "held out", "threshold", "weights", "intercept")
	for k, l := range m.Models {
		t.Add(m.Labels[k], strconv.FormatInt(m.Data.Train[k].Rows, 10), strconv.FormatInt(m.Data.Holdout[k].Rows, 10),
			show.Short(l.Threshold), strconv.Itoa(len(l.Weights.Index)), show.Short(l.Intercept))
	}
	return t.Write(w)
}
