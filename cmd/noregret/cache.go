package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const cacheLong = `Read data once and write them as a binary cache, which later commands read many times faster than
text and without decisions to make: the feature space, the labels and the index base are in it.

` + dataHelp + `
The cache holds all labels; which one is positive is said when it is used. docs/formats/cache.md
describes the file. It is written whole or not at all.`

// newCacheCommand makes "noregret cache".
func newCacheCommand(a *app) *cobra.Command {
	f := newDataFlags()
	cmd := &cobra.Command{
		Use:   "cache --output FILE DATA...",
		Short: "Keep data as a binary cache for fast passes",
		Long:  cacheLong,
		Example: `  noregret cache --output train.cache train-*.csv.gz
  noregret train --measure f1 --model f1.json train.cache`,
		Args: wantData,
		RunE: func(cmd *cobra.Command, args []string) error { return a.cache(cmd.Context(), f, args) },
	}
	f.register(cmd)
	cmd.Flags().StringVarP(&f.cachePath, "output", "o", f.cachePath, "file to write")
	cmd.Flags().BoolVar(&f.labelless, "allow-no-label", f.labelless, "keep rows without a label")
	require(cmd, "output")
	return cmd
}

func (a *app) cache(ctx context.Context, f *dataFlags, inputs []string) error {
	if err := checkOutputs([]namedFile{{"--output", f.cachePath}}, inputFiles(inputs)); err != nil {
		return err
	}
	set, err := f.loadSet(ctx, a, inputs, nil)
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
	return facts(a.stdout,
		"cache", f.cachePath,
		"format", string(info.Schema.Format),
		"data", fmt.Sprintf("%d rows, %d features, %d nonzeros", info.Rows, info.Dim, info.NonZeros),
		"labels", strings.Join(labels, ", "),
		"digest", info.Digest,
	)
}
