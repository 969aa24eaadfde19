package train

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
)

const cacheLong = `Read data once and write them as a binary cache. Later commands read it many
times faster than text. It records the feature space, the labels and the index base, so they need
not be given again.

` + dataflags.Help + `
The cache holds all labels; a command that reads it chooses the positive one.
docs/formats/cache.md describes the file. It is written completely or not at all.`

// cacheOptions are the flags of "noregret cache".
type cacheOptions struct{ *dataflags.Flags }

// newCacheCommand makes "noregret cache".
func newCacheCommand(a *command.App) *cobra.Command {
	o := &cacheOptions{dataflags.New()}
	cmd := command.New(a, &cobra.Command{
		Use:   "cache --output FILE DATA...",
		Short: "Convert data to a binary cache for fast passes",
		Long:  cacheLong,
		Example: `  noregret cache --output train.cache train-*.csv.gz
  noregret train --measure f1 --model f1.json train.cache`,
		Args: dataflags.WantArgs,
	}, o)
	o.Register(cmd)
	command.Require(cmd, "output")
	return cmd
}

// AddFlags implements [command.Options]. The flags of the data are added with the command, as they
// complete file names.
func (o *cacheOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.CachePath, "output", "o", o.CachePath, "file to write")
	f.BoolVar(&o.Labelless, "allow-no-label", o.Labelless, "keep rows without a label")
}

// Validate implements [command.Options].
func (o *cacheOptions) Validate() error { return nil }

// Run implements [command.Options].
func (o *cacheOptions) Run(ctx context.Context, a *command.App, inputs []string) error {
	if err := files.CheckOutputs([]files.Named{{Flag: "--output", Path: o.CachePath}},
		files.Inputs(inputs)); err != nil {
		return err
	}
	set, err := o.LoadSet(ctx, a, inputs, nil)
	if err != nil {
		return err
	}
	info := set.Info()
	if err := set.Close(); err != nil {
		return err
	}
	var labels []string
	for i, l := range info.Labels {
		if i == 10 {
			labels = append(labels, "...")
			break
		}
		labels = append(labels, fmt.Sprintf("%s (%d)", l.Name, l.Rows))
	}
	return show.KeyValues(a.Stdout,
		"cache", o.CachePath,
		"format", string(info.Schema.Format),
		"data", fmt.Sprintf("%d rows, %d features, %d nonzeros", info.Rows, info.Dim, info.NonZeros),
		"labels", strings.Join(labels, ", "),
		"digest", info.Digest,
	)
}
