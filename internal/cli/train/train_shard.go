package train

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
)

// shardFlags are the flags of a training on several machines.
type shardFlags struct {
	text, from, schemaFrom string
	share                  dataset.Share
}

func (s *shardFlags) addTo(f *pflag.FlagSet) {
	f.StringVar(&s.text, "shard", s.text,
		"K/N: train on the rows whose number is K modulo N, for noregret merge; 1/1 is a file of its own")
	f.StringVar(&s.from, "from", s.from,
		"with --shard: merged model that the pass starts from; with --calibration it is calibrated only")
	f.StringVar(&s.schemaFrom, "schema-from", s.schemaFrom,
		"with --shard: model of other rows whose way of reading is taken: the same on all machines")
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
		if s.schemaFrom != "" {
			return noregret.Errorf(noregret.Usage, "--schema-from", "needs --shard")
		}
		return nil
	}
	if s.share, err = dataset.ParseShare(s.text); err != nil {
		return noregret.Errorf(noregret.Usage, "--shard", "%w", err)
	}
	if s.from != "" && s.schemaFrom != "" {
		return noregret.Errorf(noregret.Usage, "--schema-from", "excludes --from, whose model says how data are read")
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
	if o.shards.schemaFrom != "" {
		m, err := loadModel(o.shards.schemaFrom)
		if err != nil {
			return err
		}
		o.data.Like = m.Schema
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
	if schema == nil && o.data.Like == nil && o.shards.share.Of <= 1 {
		noteLearned(a, set.Info().Schema)
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

// noteLearned says which columns another file would have read otherwise, so that merge refuses.
func noteLearned(a *command.App, s *dataset.Schema) {
	var names []string
	for _, c := range s.Columns {
		if c.Center != 0 || c.Kind == dataset.Text {
			names = append(names, strconv.Quote(c.Name))
		}
	}
	if len(names) > 0 {
		a.Note("warning: another file has another center, day 0 or weights of words in %s, and noregret merge refuses "+
			"that: give all shards one --schema-from", strings.Join(names, ", "))
	}
}
