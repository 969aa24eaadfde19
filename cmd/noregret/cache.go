package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const cacheLong = `Read data once and write them as a binary cache. Later commands read it many
times faster than text. It records the feature space, the labels and the index base, so they need
not be given again.

` + dataHelp + `
The cache holds all labels; a command that reads it chooses the positive one.
docs/formats/cache.md describes the file. It is written completely or not at all.`

// cacheOptions are the flags of "noregret cache".
type cacheOptions struct{ *dataFlags }

// newCacheCommand makes "noregret cache".
func newCacheCommand(a *app) *cobra.Command {
	o := &cacheOptions{newDataFlags()}
	cmd := newCommand(a, &cobra.Command{
		Use:   "cache --output FILE DATA...",
		Short: "Convert data to a binary cache for fast passes",
		Long:  cacheLong,
		Example: `  noregret cache --output train.cache train-*.csv.gz
  noregret train --measure f1 --model f1.json train.cache`,
		Args: wantData,
	}, o)
	o.register(cmd)
	require(cmd, "output")
	return cmd
}

// AddFlags implements options. The flags of the data are added with the command, as they complete
// file names.
func (o *cacheOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.cachePath, "output", "o", o.cachePath, "file to write")
	f.BoolVar(&o.labelless, "allow-no-label", o.labelless, "keep rows without a label")
}

// Validate implements options.
func (o *cacheOptions) Validate() error { return nil }

// Run implements options.
func (o *cacheOptions) Run(ctx context.Context, a *app, inputs []string) error {
	if err := checkOutputs([]namedFile{{"--output", o.cachePath}}, inputFiles(inputs)); err != nil {
		return err
	}
	set, err := o.loadSet(ctx, a, inputs, nil)
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
	return keyValues(a.stdout,
		"cache", o.cachePath,
		"format", string(info.Schema.Format),
		"data", fmt.Sprintf("%d rows, %d features, %d nonzeros", info.Rows, info.Dim, info.NonZeros),
		"labels", strings.Join(labels, ", "),
		"digest", info.Digest,
	)
}
