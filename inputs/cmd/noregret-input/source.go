package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/inputs/s3"
	"github.com/noregret/noregret/internal/cli/command"
)

// sources writes a source with an address, by the scheme of its address.
var sources = map[string]func(ctx context.Context, a *command.App, address string) error{"s3": copyObject}

// sourceArgs checks the arguments of the program itself: an address, and else what is not one.
func sourceArgs(otherwise cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || !strings.Contains(args[0], "://") {
			return otherwise(cmd, args)
		}
		scheme, _, _ := strings.Cut(args[0], "://")
		if sources[scheme] == nil {
			return noregret.Errorf(noregret.Usage, "", "%q is no source: addresses begin with s3://", args[0])
		}
		if len(args) > 1 {
			return noregret.Errorf(noregret.Usage, "", "one source at a time, got %d", len(args))
		}
		return nil
	}
}

// runSource writes the source of an address, or the help without one.
func runSource(a *command.App) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		scheme, _, _ := strings.Cut(args[0], "://")
		return sources[scheme](cmd.Context(), a, args[0])
	}
}

// copyObject writes an object as it is.
func copyObject(ctx context.Context, a *command.App, address string) error {
	config, err := s3.Environment(os.Getenv)
	if err != nil {
		return err
	}
	o, err := s3.Open(ctx, address, config)
	if err != nil {
		return err
	}
	if _, err := io.Copy(writer{a.Stdout}, o); err != nil {
		return err
	}
	return nil
}

// writer tells the errors of the output from those of the source.
type writer struct{ w io.Writer }

func (w writer) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if err != nil {
		err = noregret.Errorf(noregret.Internal, "", "the output cannot be written: %w", err)
	}
	return n, err
}
