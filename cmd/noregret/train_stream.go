package main

import (
	"context"
	"errors"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
)

// streamExcludes are the flags that --stream excludes.
var streamExcludes = []string{
	"passes", "holdout", "folds", "valid", "tune-steps", "threshold", "cache", "temp-dir", "seed",
}

// runStream is train --stream.
func (o *trainOptions) runStream(ctx context.Context, a *app, inputs []string) (err error) {
	for _, f := range streamExcludes {
		if o.fit.flags.Changed(f) {
			return noregret.Errorf(noregret.Usage, "--"+f,
				"no meaning with --stream, which goes through the data once and keeps none")
		}
	}
	if o.saveEvery < 0 {
		return outOfRange("--save-every", o.saveEvery, "at least 0")
	}
	opt := classify.StreamOptions{
		Fit: o.twoOptions(), Positive: o.data.positive, SaveEvery: o.saveEvery,
		Save:    func(m *classify.Model) error { return classify.SaveModel(o.model, m) },
		Started: func(info dataset.Info) { streamDecisions(a, o.data, info) },
	}
	if err := opt.Validate(); err != nil {
		return withFlag(err)
	}
	p, err := a.progress()
	if err != nil {
		return err
	}
	opt.Progress = fitProgress(p)
	s, err := dataset.Open(ctx, inputs, o.data.options(ctx, a, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := classify.FitStream(ctx, s, opt)
	p.Finish()
	if err != nil {
		return withFlag(err)
	}
	a.skipped(s.Info())
	return o.save(a, m)
}

// streamDecisions reports which defaults were chosen, after the first rows are read.
func streamDecisions(a *app, data *dataFlags, info dataset.Info) {
	if data.positive == "" {
		a.note("the positive label is \"1\", as of +1/-1 and 1/0 (--positive says otherwise)")
	}
	a.readDecisions(data, info.Schema, "as a stream cannot look ahead")
}
