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
	"github.com/noregret/noregret/inputs/kafka"
	"github.com/noregret/noregret/inputs/nats"
	"github.com/noregret/noregret/inputs/s3"
	"github.com/noregret/noregret/internal/cli/command"
)

// sourceOptions are the flags of sources with an address.
type sourceOptions struct {
	position string
	limit    int64
	idle     time.Duration

	tls           bool
	ca, cert, key string
	sasl          string
}

// Flags that only some sources have.
var (
	messageFlags = []string{"position", "limit", "idle"}
	kafkaFlags   = []string{"tls", "tls-ca", "tls-cert", "tls-key", "sasl"}
)

func (o *sourceOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.position, "position", "",
		"nats, kafka: go on at the message in this file, and keep it up to date")
	f.Int64Var(&o.limit, "limit", 0, "nats, kafka: end after so many messages; 0 for no limit")
	command.DurationVar(f, &o.idle, "idle",
		"nats, kafka: end at the end of the messages after so long without one; 0 for never")
	f.BoolVar(&o.tls, "tls", false, "kafka: TLS to the brokers")
	f.StringVar(&o.ca, "tls-ca", "", "kafka: certificates that sign those of the brokers, PEM, for the system's")
	f.StringVar(&o.cert, "tls-cert", "", "kafka: certificate of the client, PEM")
	f.StringVar(&o.key, "tls-key", "", "kafka: private key of the client, PEM")
	f.Var(command.NewChoice(&o.sasl, kafka.Mechanisms...), "sasl",
		"kafka: how to prove the password NOREGRET_KAFKA_PASSWORD of NOREGRET_KAFKA_USER")
}

// sources write a source with an address, by the scheme of its address.
var sources = map[string]func(ctx context.Context, a *command.App, address string, o *sourceOptions) error{
	"s3": copyObject, "nats": copyMessages, "kafka": copyTopic,
}

// sourceArgs checks the arguments of the program itself: an address, and else what is not one.
func sourceArgs(otherwise cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || !strings.Contains(args[0], "://") {
			return otherwise(cmd, args)
		}
		scheme, _, _ := strings.Cut(args[0], "://")
		if sources[scheme] == nil {
			return noregret.Errorf(noregret.Usage, "", "%q is no source: addresses begin with s3://, nats:// or "+
				"kafka://", args[0])
		}
		if len(args) > 1 {
			return noregret.Errorf(noregret.Usage, "", "one source at a time, got %d", len(args))
		}
		for _, name := range messageFlags {
			if scheme == "s3" && cmd.Flags().Changed(name) {
				return noregret.Errorf(noregret.Usage, "--"+name, "an object of S3 has no messages")
			}
		}
		for _, name := range kafkaFlags {
			if scheme != "kafka" && cmd.Flags().Changed(name) {
				return noregret.Errorf(noregret.Usage, "--"+name, "only a topic of Kafka has this flag")
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
		p, err := readPosition(o.position, source, false)
		if err != nil {
			return err
		}
		opt.From = p.Next
		opt.Save = func(next uint64) error { return writePosition(o.position, position{Source: source, Next: next}) }
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
