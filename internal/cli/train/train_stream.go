package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
)

// streamExcludes are the flags that --stream excludes.
var streamExcludes = []string{
	"passes", "holdout", "folds", "valid", "tune-steps", "threshold", "cache", "temp-dir", "seed",
}

// runStream is train --stream.
func (o *trainOptions) runStream(ctx context.Context, a *command.App, inputs []string) (err error) {
	for _, f := range streamExcludes {
		if o.fit.flags.Changed(f) {
			return noregret.Errorf(noregret.Usage, "--"+f,
				"no meaning with --stream, which goes through the data once and keeps none")
		}
	}
	if o.saveEvery < 0 {
		return command.OutOfRange("--save-every", o.saveEvery, "at least 0")
	}
	opt := classify.StreamOptions{
		Fit: o.options(classify.Binary), Positive: o.data.Positive, SaveEvery: o.saveEvery,
		Save:    func(m *classify.Model) error { return classify.SaveModel(o.model, m) },
		Started: func(info dataset.Info) { streamDecisions(a, o.data, info) },
	}
	if err := opt.Validate(); err != nil {
		return withFlag(err)
	}
	p, err := a.Progress()
	if err != nil {
		return err
	}
	opt.Progress = fitProgress(p)
	data := o.data.Options(ctx, a, nil)
	data.Digest = o.data.StreamDigest()
	s, err := dataset.Open(ctx, inputs, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := classify.FitStream(ctx, s, opt)
	p.Finish()
	if err != nil {
		return withFlag(err)
	}
	dataflags.Skipped(a, s.Info())
	if o.opt.Algorithm == classify.Auto {
		a.Note("%s", streamChoice(m))
	}
	return o.save(a, m)
}

// streamChoice says which algorithm a stream's model is of where none was named, and why.
func streamChoice(m *classify.Model) string {
	h := m.Training.History
	if len(h) == 1 {
		return fmt.Sprintf("the algorithm is %s, the default for %s: no others are compared with settings of a "+
			"learner or --drift", m.Algorithm, m.Measure)
	}
	return fmt.Sprintf("the algorithm is %s, chosen among %d by what each predicted before it learned from a row",
		h[m.Training.Chosen].Candidate, len(h))
}

// streamDecisions reports which defaults were chosen, after the first rows are read.
func streamDecisions(a *command.App, data *dataflags.Flags, info dataset.Info) {
	if data.Positive == "" {
		a.Note("the positive label is \"1\", as of +1/-1 and 1/0 (--positive says otherwise)")
	}
	data.ReadDecisions(a, info, "as a stream cannot look ahead")
}
