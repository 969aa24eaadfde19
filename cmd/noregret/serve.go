package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server"
)

// serveOptions are the flags of "noregret serve".
type serveOptions struct {
	server.Config
	listen    string
	cert, key string
	drain     time.Duration
	logLevel  string
	logFormat string
}

const serveLong = `Run the decision service until SIGINT or SIGTERM.

A program asks which arm of an experiment a unit gets (a user, a request), shows it, and
reports what came of it. The service learns the mixture of arms that is best under the
guardrails, and can say afterwards why it did what it did. docs/service.md shows the whole
loop in curl; GET /openapi.json describes the API.

Everything is kept in one directory. Feedback is answered when it is on the disk. Without
--tokens everybody may do everything, and only loopback addresses are listened on.

The address is printed on standard output once the service takes requests; logs go to
standard error. The first signal stops listening, finishes what runs and saves a
snapshot; a second one ends the process at once, which loses nothing that was answered.
SIGHUP makes it look for new access tokens at once, as it does each second.`

// newServeCommand makes "noregret serve".
func newServeCommand(a *app) *cobra.Command {
	opt := serveOptions{listen: "127.0.0.1:8430", drain: 30 * time.Second, logLevel: "info", logFormat: "text"}
	opt.Data, opt.Retain, opt.MaxBody = "data", 90*24*time.Hour, 1<<20
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the decision service",
		Long:  serveLong,
		Example: `  # On this machine only
  noregret serve --data data

  # For others: with access tokens and TLS
  noregret serve --listen :8430 --tokens tokens.yaml --tls-cert cert.pem --tls-key key.pem`,
		Args: noArgs("serve"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.Data, "data", opt.Data, "directory of the log and the keys; made if it is not there")
	f.StringVar(&opt.listen, "listen", opt.listen, "address, HOST:PORT; port 0 takes a free one")
	f.StringVar(&opt.Tokens, "tokens", "", "file of access tokens; read again when it changes")
	f.StringVar(&opt.cert, "tls-cert", "", "certificate chain, PEM")
	f.StringVar(&opt.key, "tls-key", "", "private key, PEM")
	f.Float64Var(&opt.Rate, "rate", 0, "requests a second of a token or address, 0 for no limit")
	f.IntVar(&opt.Burst, "burst", 0, "requests that may come at once, 0 for the rate")
	f.Int64Var(&opt.MaxBody, "max-body", opt.MaxBody, "bytes of a request's body")
	f.IntVar(&opt.MaxItems, "max-items", 10_000, "units or items of a request")
	f.IntVar(&opt.MaxStreams, "max-streams", 1000, "long polls at once, and as many exports, and dashboards")
	f.DurationVar(&opt.RequestTime, "request-time", 10*time.Second,
		"how long a request may take, long polls and streams apart")
	f.DurationVar(&opt.Retain, "retain", opt.Retain,
		"how long events are kept once a snapshot covers them, negative for ever")
	f.Uint64Var(&opt.SnapshotEvery, "snapshot-every", 0, "events between snapshots, 0 for 100000")
	f.DurationVar(&opt.drain, "drain", opt.drain, "how long requests may take to finish at the end")
	f.Var(newChoice(&opt.logLevel, "debug", "info", "warn", "error"), "log-level", "least level of what is logged")
	f.Var(newChoice(&opt.logFormat, "text", "json"), "log-format", "form of the logs")
	return cmd
}

// noArgs refuses arguments.
func noArgs(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return noregret.Errorf(noregret.Usage, "", "%s takes no arguments, got %q", name, args[0])
	}
}

func (a *app) serve(ctx context.Context, opt serveOptions) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(opt.logLevel)); err != nil {
		return err
	}
	o := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(a.stderr, o)
	if opt.logFormat == "json" {
		handler = slog.NewJSONHandler(a.stderr, o)
	}
	opt.Logger = slog.New(handler)
	if opt.drain < 0 {
		return noregret.Errorf(noregret.Usage, "--drain", "%v is out of range, want a length of time", opt.drain)
	}
	certificate, scheme, err := opt.certificate()
	if err != nil {
		return err
	}
	if err := opt.CheckListen(opt.listen); err != nil { // before anything is made
		return err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	s, err := server.New(opt.Config)
	if err != nil {
		return err
	}
	l, err := s.Listen(opt.listen)
	if err != nil {
		_ = s.Close()
		return err
	}
	if _, err := fmt.Fprintf(a.stdout, "listening on %s://%s\n", scheme, l.Addr()); err != nil {
		_ = l.Close()
		_ = s.Close()
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-hangups:
				_ = s.ReloadTokens() // what came of it is in the log
				opt.Logger.Info("SIGHUP: looked for new access tokens")
			case <-done:
				return
			}
		}
	}()
	return s.Serve(ctx, l, certificate, opt.drain)
}

// certificate reads what TLS needs.
func (opt *serveOptions) certificate() (*tls.Certificate, string, error) {
	if opt.cert == "" && opt.key == "" {
		return nil, "http", nil
	}
	if opt.cert == "" || opt.key == "" {
		return nil, "", noregret.Errorf(noregret.Usage, "--tls-cert", "TLS needs both --tls-cert and --tls-key")
	}
	c, err := tls.LoadX509KeyPair(opt.cert, opt.key)
	if err != nil {
		return nil, "", noregret.BadInputf("--tls-cert",
			"the certificate and its key cannot be used: %w", err)
	}
	return &c, "https", nil
}
