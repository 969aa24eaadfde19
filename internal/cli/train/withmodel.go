package train

import (
	"context"
	"errors"
	"fmt"
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

// modelReader reads data with the feature space of a model, block by block.
type modelReader struct {
	model      *classify.Model
	classifier *classify.Classifier
	data       *dataflags.Flags
	app        *command.App
	task       string
}

// newModelReader loads the model of --model.
func newModelReader(a *command.App, data *dataflags.Flags, path, task string) (*modelReader, error) {
	m, err := loadModel(path)
	if err != nil {
		return nil, err
	}
	flags := *data
	flags.Multilabel = m.Task == classify.Multilabel
	return &modelReader{model: m, classifier: m.Classifier(), data: &flags, app: a, task: task}, nil
}

// each calls f for every block and returns the description of the data. It reports skipped lines on
// standard error. Data without a row are an error.
func (r *modelReader) each(ctx context.Context, inputs []string,
	f func(s *dataset.Stream, b *dataset.Block) error,
) (info dataset.Info, err error) {
	p, err := r.app.Progress()
	if err != nil {
		return info, err
	}
	opt := r.data.Options(ctx, r.app, r.model.Schema)
	opt.Progress = dataflags.ReadProgress(p, r.task)
	opt.Digest = dataset.NoDigest // it is not shown
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
	if info.Rows == 0 {
		return info, dataflags.WithPlace(noregret.BadInputf("", "the input has no examples"), inputs)
	}
	return info, nil
}

// registerModel adds --model as a required flag.
func registerModel(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "model", *path, "model file")
	command.Require(cmd, "model")
}

// targetMap looks up the labels of data that a model is applied to.
type targetMap struct {
	model *classify.Model
	// others accepts labels that training did not have: they count as negative, and are left out of
	// lists.
	others  bool
	targets [][]int // by class number
	unknown []string
}

// extend adds the labels that have occurred since the last call.
func (m *targetMap) extend(s *dataset.Stream) error {
	for _, x := range s.Info().Labels[len(m.targets):] {
		place := s.LabelPlace(len(m.targets))
		places, unknown, err := m.model.Targets(x.Name)
		if err != nil {
			return dataflags.WithPlace(err, []string{place})
		}
		if len(unknown) > 0 && !m.others {
			return noregret.BadInputf(place, "the label %q did not occur in training; %s", unknown[0], m.known())
		}
		m.targets = append(m.targets, places)
		m.unknown = append(m.unknown, unknown...)
	}
	return nil
}

// known says which labels training had, and what accepts others.
func (m *targetMap) known() string {
	all := m.model.Labels
	switch m.model.Task {
	case classify.Binary:
		return fmt.Sprintf("the positive label was %q, the others %s (--new-labels negative counts it as negative)",
			m.model.Positive(), show.Listed(m.model.Negatives()))
	case classify.Multilabel:
		return fmt.Sprintf("its labels were %s (--new-labels negative leaves it out)", show.Listed(all))
	default:
		return "its labels were " + show.Listed(all)
	}
}

// of returns the labels of row i.
func (m *targetMap) of(b *dataset.Block, i int) []int {
	if c := b.Class[i]; c != dataset.NoClass {
		return m.targets[c]
	}
	return nil
}

// loadModel is [classify.LoadModel] for a path from the command line.
func loadModel(path string) (*classify.Model, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, noregret.Errorf(noregret.BadInput, path, "a directory: want a model file")
	}
	m, err := classify.LoadModel(path)
	is := files.ContentOf(path)
	if noregret.CodeOf(err) == noregret.BadInput && is != files.Model && is != files.Unknown {
		return nil, noregret.BadInputf(path,
			"not a model file, it looks like %s: \"noregret train --model FILE\" writes models", is)
	}
	return m, err
}
