package train

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/files"
)

const mergeLong = `Join the models of the shards of one training, which "noregret train --shard" wrote, into one
model. Weights are averaged, each shard counted by its rows; class counts and rates are added, and
the dual of the measure is solved again on their sums. Where the algorithm tunes a threshold, the
merged one is the average of those of the shards.

The model is one like any other. It is also what "noregret train --shard --from" starts the next
pass from. The order of the arguments does not matter: the same shards give the same bytes. Shards
of different options, passes or positive labels are refused, and so are two shards of one input that
share rows, and a share K/N of an input that is missing: --allow-missing goes on without its rows,
with a warning that stays in the model. Inputs that are missing as a whole cannot be seen.

The model has no probabilities. After a last pass with --from and --calibration platt or isotonic,
which trains nothing, the merged model is that which the pass started from, with a calibration of
the scores of all rows that the shards have held out, and a threshold that is tuned on them.

The value that is printed, with an interval of 95 %, and the table of all measures are of the rows
that the shards have held out: of their own models or, after such a last pass, of the merged one.
Where a threshold is tuned, each half of the rows is decided at the threshold of the other half.

With --json the output is that of "noregret train --json".`

// mergeOptions are the flags of "noregret merge".
type mergeOptions struct {
	model        string
	allowMissing bool
	json         bool
}

// newMergeCommand makes "noregret merge".
func newMergeCommand(a *command.App) *cobra.Command {
	cmd := command.New(a, &cobra.Command{
		Use:   "merge --model FILE SHARD...",
		Short: "Join the models of shards that were trained on several machines",
		Long:  mergeLong,
		Example: `  noregret train --measure f1 --shard 1/2 --model part-1.json train.svm
  noregret train --measure f1 --shard 2/2 --model part-2.json train.svm
  noregret merge --model f1.json part-1.json part-2.json
  noregret train --measure f1 --shard 1/2 --from f1.json --model next-1.json train.svm`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return noregret.Errorf(noregret.Usage, "", "no shards: name the models of all shards of one pass")
			}
			return nil
		},
	}, &mergeOptions{})
	command.Require(cmd, "model")
	return cmd
}

// AddFlags implements [command.Options].
func (o *mergeOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", o.model, "file to write the model to")
	f.BoolVar(&o.allowMissing, "allow-missing", o.allowMissing, "merge although a share K/N of an input is missing")
	f.BoolVar(&o.json, "json", o.json, "print one JSON object")
}

// Validate implements [command.Options].
func (o *mergeOptions) Validate() error { return nil }

// Run implements [command.Options].
func (o *mergeOptions) Run(_ context.Context, a *command.App, inputs []string) error {
	if err := files.CheckOutputs([]files.Named{{Flag: "--model", Path: o.model}}, files.Inputs(inputs)); err != nil {
		return err
	}
	var shards []*classify.Model
	for _, path := range inputs {
		m, err := loadModel(path)
		if err != nil {
			return err
		}
		if m.Shard == nil {
			return noregret.BadInputf(path, "not the model of a shard: noregret train --shard writes those")
		}
		shards = append(shards, m)
	}
	m, err := classify.Merge(shards, classify.MergeOptions{AllowMissing: o.allowMissing})
	if err != nil {
		return err
	}
	out := trainOptions{model: o.model, json: o.json}
	return out.save(a, m)
}
