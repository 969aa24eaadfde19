package main

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/inputs/nats"
	"github.com/noregret/noregret/inputs/s3"
	"github.com/noregret/noregret/internal/cli/command"
)

// sourceOptions are the flags of sources with an address.
type sourceOptions struct {
	position string
	limit    int64
	idle     time.Duration
}

// messageFlags are the flags that only sources of messages have.
var messageFlags = []string{"position", "limit", "idle"}

func (o *sourceOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.position, "position", "", "nats: go on at the message in this file, and keep it up to date")
	f.Int64Var(&o.limit, "limit", 0, "nats: end after so many messages; 0 for no limit")
	f.DurationVar(&o.idle, "idle", 0, "nats: end at the end of the stream after so long without a message; 0 for never")
}

// sources write a source with an address, by the scheme of its address.
var sources = map[string]func(ctx context.Context, a *command.App, address string, o *sourceOptions) error{
	"s3": copyObject, "nats": copyMessages,
}

// sourceArgs checks the arguments of the program itself: an address, and else what is not one.
func sourceArgs(otherwise cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || !strings.Contains(args[0], "://") {
			return otherwise(cmd, args)
		}
		scheme, _, _ := strings.Cut(args[0], "://")
		if sources[scheme] == nil {
			return noregret.Errorf(noregret.Usage, "", "%q is no source: addresses begin with s3:// or nats://",
				args[0])
		}
		if len(args) > 1 {
			return noregret.Errorf(noregret.Usage, "", "one source at a time, got %d", len(args))
		}
		for _, name := range messageFlags {
			if scheme == "s3" && cmd.Flags().Changed(name) {
				return noregret.Errorf(noregret.Usage, "--"+name, "an object of S3 has no messages")
			}
		}
		return nil
	}
}

// runSource writes the source of an address, or the help without one.
func runSource(a *command.App, o *sourceOptions) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		scheme, _, _ := strings.Cut(args[0], "://")
		return sources[scheme](cmd.Context(), a, args[0], o)
	}
}

// copyObject writes an object as it is.
func copyObject(ctx context.Context, a *command.App, address string, _ *sourceOptions) error {
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

// copyMessages writes the messages of a stream as lines.
func copyMessages(ctx context.Context, a *command.App, address string, o *sourceOptions) error {
	source, err := nats.Public(address)
	if err != nil {
		return err
	}
	opt := nats.Options{Limit: o.limit, Idle: o.idle}
	if o.position != "" {
		if opt.From, err = readPosition(o.position, source); err != nil {
			return err
		}
		opt.Save = func(next uint64) error { return writePosition(o.position, source, next) }
	}
	_, err = nats.Copy(ctx, a.Stdout, address, opt)
	return err
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
