package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
)

// modelReader reads data with the feature space of a model, block by block.
type modelReader struct {
	model *classify.Model
	lin   classify.Linear
	data  *dataFlags
	app   *app
	task  string
}

// newModelReader loads the model of --model.
func newModelReader(a *app, data *dataFlags, path, task string) (*modelReader, error) {
	m, err := loadModel(path)
	if err != nil {
		return nil, err
	}
	return &modelReader{model: m, lin: m.Linear(), data: data, app: a, task: task}, nil
}

// each calls f for every block and returns what there was. It reports on standard error what was
// skipped.
func (r *modelReader) each(ctx context.Context, inputs []string,
	f func(s *dataset.Stream, b *dataset.Block) error,
) (info dataset.Info, err error) {
	p, err := r.app.progress()
	if err != nil {
		return info, err
	}
	opt := r.data.options(ctx, r.app, r.model.Schema)
	opt.Progress = readProgress(p, r.task)
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
	r.app.skipped(info)
	return info, nil
}

// registerModel adds --model as a required flag.
func registerModel(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "model", *path, "model file")
	require(cmd, "model")
}

// labelMap tells the labels of data that a model is applied to.
type labelMap struct {
	model   *classify.Model
	others  bool   // labels that training did not have count as negative
	classes []bool // class number to label
	unknown []string
}

// learn takes over the labels that have come up since.
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
				"the label %q is none that training had; its positive label was %q, the others %s (--new-labels "+
					"negative counts it as negative)",
				x.Name, l.model.Labels.Positive, listed(l.model.Labels.Negatives))
		}
		l.unknown = append(l.unknown, x.Name)
	}
	return nil
}
