package train

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
)

// modelReader reads data with the feature space of a model, block by block. The model is one of two
// classes (model, with its classifier lin) or of several (multi, with joint).
type modelReader struct {
	model  *classify.Model
	lin    classify.Linear
	multi  *classify.MultiModel
	joint  classify.MultiLinear
	schema *dataset.Schema
	data   *dataflags.Flags
	app    *command.App
	task   string
}

// newModelReader loads the model of --model.
func newModelReader(a *command.App, data *dataflags.Flags, path, task string) (*modelReader, error) {
	c, err := loadModel(path)
	if err != nil {
		return nil, err
	}
	r := &modelReader{data: data, app: a, task: task}
	switch m := c.(type) {
	case *classify.Model:
		r.model, r.lin, r.schema = m, m.Linear(), m.Schema
	case *classify.MultiModel:
		r.multi, r.joint, r.schema = m, m.Linear(), m.Schema
		flags := *data
		flags.Multilabel = m.Task == classify.Multilabel
		r.data = &flags
	}
	return r, nil
}

// each calls f for every block and returns the description of the data. It reports skipped lines on
// standard error.
func (r *modelReader) each(ctx context.Context, inputs []string,
	f func(s *dataset.Stream, b *dataset.Block) error,
) (info dataset.Info, err error) {
	p, err := r.app.Progress()
	if err != nil {
		return info, err
	}
	opt := r.data.Options(ctx, r.app, r.schema)
	opt.Progress = dataflags.ReadProgress(p, r.task)
	s, err := dataset.Open(ctx, inputs, opt)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	defer p.Finish()
	var b dataset.Block
	for {
		if err := ctx.Err(); err != nil {
			return info, err
		}
		err := s.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return info, err
		}
		if err := f(s, &b); err != nil {
			return info, err
		}
	}
	p.Finish()
	info = s.Info()
	dataflags.Skipped(r.app, info)
	return info, nil
}

// registerModel adds --model as a required flag.
func registerModel(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "model", *path, "model file")
	command.Require(cmd, "model")
}

// labelMap maps the labels of data to which a model is applied.
type labelMap struct {
	model   *classify.Model
	others  bool   // labels that training did not have count as negative
	classes []bool // class number to label
	unknown []string
}

// learn adds the labels that have occurred since the last call.
func (l *labelMap) learn(s *dataset.Stream) error {
	labels := s.Info().Labels
	for _, x := range labels[len(l.classes):] {
		known := x.Name == l.model.Labels.Positive
		l.classes = append(l.classes, known)
		for _, n := range l.model.Labels.Negatives {
			known = known || n == x.Name
		}
		if known {
			continue
		}
		if !l.others {
			return noregret.BadInputf(s.LabelPlace(len(l.classes)-1),
				"the label %q did not occur in training; the positive label was %q, the others %s (--new-labels "+
					"negative counts it as negative)",
				x.Name, l.model.Labels.Positive, show.Listed(l.model.Labels.Negatives))
		}
		l.unknown = append(l.unknown, x.Name)
	}
	return nil
}

// targetMap looks up the labels of data that a model of several classes or labels is applied to.
type targetMap struct {
	model   *classify.MultiModel
	others  bool    // a label that training did not have is left out of lists
	targets [][]int // by class number
	unknown []string
}

// extend adds the labels that have occurred since the last call.
func (m *targetMap) extend(s *dataset.Stream) error {
	for _, x := range s.Info().Labels[len(m.targets):] {
		places, unknown, err := m.model.Targets(x.Name)
		if err != nil {
			return dataflags.WithPlace(err, []string{s.LabelPlace(len(m.targets))})
		}
		if len(unknown) > 0 && !m.others {
			hint := ""
			if m.model.Task == classify.Multilabel {
				hint = " (--new-labels negative leaves it out)"
			}
			return noregret.BadInputf(s.LabelPlace(len(m.targets)),
				"the label %q did not occur in training; its labels were %s%s", unknown[0], show.Listed(m.model.Labels),
				hint)
		}
		m.targets = append(m.targets, places)
		m.unknown = append(m.unknown, unknown...)
	}
	return nil
}

// of returns the labels of row i.
func (m *targetMap) of(b *dataset.Block, i int) []int {
	if c := b.Class[i]; c != dataset.NoClass {
		return m.targets[c]
	}
	return nil
}

// loadModel is [classify.LoadClassifier] for a path from the command line.
func loadModel(path string) (classify.Classifier, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, noregret.Errorf(noregret.BadInput, path, "a directory: want a model file")
	}
	c, err := classify.LoadClassifier(path)
	is := files.ContentOf(path)
	if noregret.CodeOf(err) == noregret.BadInput && is != files.Model && is != files.Unknown {
		return nil, noregret.BadInputf(path,
			"not a model file, it looks like %s: \"noregret train --model FILE\" writes models", is)
	}
	return c, err
}
