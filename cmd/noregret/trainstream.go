package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
)

// streamExcludes are the flags that --stream excludes.
var streamExcludes = []string{"passes", "holdout", "valid", "tune-steps", "threshold", "cache", "temp-dir", "seed"}

// runStream is train --stream.
func (t *trainCommand) runStream(cmd *cobra.Command, a *app, inputs []string, fit classify.Options) (err error) {
	for _, f := range streamExcludes {
		if cmd.Flags().Changed(f) {
			return noregret.Errorf(noregret.Usage, "--"+f,
				"it has no meaning with --stream, which goes through the data once and keeps none")
		}
	}
	if t.saveEvery < 0 {
		return outOfRange("--save-every", t.saveEvery, "at least 0")
	}
	opt := classify.StreamOptions{
		Fit: fit, Positive: t.data.positive, SaveEvery: t.saveEvery,
		Save:    func(m *classify.Model) error { return classify.SaveModel(t.model, m) },
		Started: func(info dataset.Info) { t.streamDecisions(a, info) },
	}
	if err := opt.Validate(); err != nil {
		return withFlag(err)
	}
	p, err := a.progress()
	if err != nil {
		return err
	}
	opt.Progress = fitProgress(p)
	ctx := cmd.Context()
	s, err := dataset.Open(ctx, inputs, t.data.options(ctx, a, nil))
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
	return t.save(a, m)
}

// streamDecisions says what was decided by rule, once the first rows have come.
func (t *trainCommand) streamDecisions(a *app, info dataset.Info) {
	if t.data.positive == "" {
		a.note("the positive label is \"1\", as of +1/-1 and 1/0 (--positive says otherwise)")
	}
	a.readDecisions(t.data, info.Schema, "as a stream cannot look ahead")
}
