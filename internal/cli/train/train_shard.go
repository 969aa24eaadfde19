package train

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
)

// shardFlags are the flags of a training on several machines.
type shardFlags struct {
	text, from string
	share      dataset.Share
}

func (s *shardFlags) addTo(f *pflag.FlagSet) {
	f.StringVar(&s.text, "shard", s.text,
		"K/N: train on the rows whose number is K modulo N, for noregret merge; 1/1 is a file of its own")
	f.StringVar(&s.from, "from", s.from,
		"with --shard: merged model that the pass starts from; with --calibration it is calibrated only")
}

func (s *shardFlags) given() bool { return s.text != "" }

// shardExcludes are the flags that --shard excludes.
var shardExcludes = []string{"folds", "valid", "tune-steps", "cache", "drift", "multilabel"}

// check parses the share and refuses flags that have no meaning with one.
func (s *shardFlags) check(o *trainOptions) (err error) {
	if !s.given() {
		if s.from != "" {
			return noregret.Errorf(noregret.Usage, "--from", "needs --shard")
		}
		return nil
	}
	if s.share, err = dataset.ParseShare(s.text); err != nil {
		return noregret.Errorf(noregret.Usage, "--shard", "%w", err)
	}
	if o.stream {
		return noregret.Errorf(noregret.Usage, "--shard", "excludes --stream: a shard is kept and shuffled")
	}
	for _, f := range shardExcludes {
		if o.fit.flags.Changed(f) {
			return noregret.Errorf(noregret.Usage, "--"+f, "no meaning with --shard")
		}
	}
	return nil
}

// runShard is train --shard.
func (o *trainOptions) runShard(ctx context.Context, a *command.App, inputs []string) (err error) {
	if o.measures.of(classify.Binary) == nil {
		return noregret.Errorf(noregret.Usage, "--shard", "for two classes only; %s is a measure of several",
			o.fit.measure)
	}
	opt := classify.ShardOptions{Fit: o.options(classify.Binary), Share: o.shards.share}
	var schema *dataset.Schema
	if o.shards.from != "" {
		if opt.From, err = loadModel(o.shards.from); err != nil {
			return err
		}
		schema = opt.From.Schema
	}
	set, err := o.data.LoadShare(ctx, a, inputs, schema, o.shards.share)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	data, err := o.data.TwoClasses(a, set)
	if err != nil {
		return err
	}
	p, err := a.Progress()
	if err != nil {
		return err
	}
	opt.Fit.Progress = fitProgress(p)
	m, err := classify.FitShard(ctx, data, opt)
	p.Finish()
	if err != nil {
		return withFlag(dataflags.WithPlace(err, set.Info().Inputs))
	}
	return o.save(a, m)
}
