package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/inputs/parquet"
	"github.com/noregret/noregret/internal/cli/command"
)

// parquetOptions are the flags of "noregret-input parquet".
type parquetOptions struct {
	ignore []string
	held   int
}

func newParquetCommand(a *command.App) *cobra.Command {
	o := &parquetOptions{held: int(parquet.DefaultOptions().MaxHeld >> 20)}
	return command.New(a, &cobra.Command{
		Use:   "parquet FILE...",
		Short: "Write Parquet files as CSV with a header",
		Long: `Write the rows of Parquet files of the same columns as CSV with a header.

A null and NaN are empty cells, which noregret takes for missing values, as it does an empty text and a
text such as "NA". Booleans are 1 and 0, decimals have all of their digits, dates are YYYY-MM-DD,
timestamps always have their time of day, times of day are seconds. A field with parts (a struct, a list,
a map) is refused by its name, unless it is left out.`,
		Example: "  noregret-input parquet 2026-*.parquet > data.csv && noregret train --model m.json data.csv",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return noregret.Errorf(noregret.Usage, "", "parquet takes one or more files")
			}
			return nil
		},
	}, o)
}

func (o *parquetOptions) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.ignore, "ignore-columns", nil, "leave out columns of these names")
	f.IntVar(&o.held, "max-held", o.held, "refuse files of which one page of each column needs more MiB together")
}

func (o *parquetOptions) Validate() error {
	if o.held < 1 || o.held > 1<<20 {
		return command.OutOfRange("--max-held", o.held, "1 to 1048576")
	}
	return nil
}

func (o *parquetOptions) Run(ctx context.Context, a *command.App, args []string) error {
	opt := parquet.Options{Ignore: o.ignore, MaxHeld: int64(o.held) << 20}
	var files []*parquet.File
	for _, name := range args {
		f, size, err := open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		p, err := parquet.Open(name, f, size, opt)
		if err != nil {
			return err
		}
		files = append(files, p)
	}
	_, err := parquet.WriteCSV(ctx, a.Stdout, files...)
	return err
}

// open opens a regular file.
func open(name string) (*os.File, int64, error) {
	if name == "-" {
		return nil, 0, noregret.Errorf(noregret.Usage, "", "Parquet is not read from standard input: its directory "+
			"is at its end; write it to a file first")
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, noregret.Errorf(noregret.NotFound, name, "there is no such file")
	}
	if err != nil {
		return nil, 0, noregret.Errorf(noregret.Internal, name, "the file cannot be opened: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = noregret.BadInputf(name, "not a file: Parquet is read from files, as its directory is at the end")
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}
