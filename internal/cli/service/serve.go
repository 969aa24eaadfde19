package service

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// serveOptions are the flags of "noregret serve".
type serveOptions struct {
	server.Config
	listening
	replicated
	pprof string
	clock func(c *server.Config) // sets the service's clock, nil for the machine's
}

const serveLong = `Run the decision service until SIGINT or SIGTERM.

A program asks the service for the arm of a unit (a user, a request), shows it, and reports the
outcome. The service learns the best mixture of arms under the guardrails, and can explain each
decision afterwards. docs/service.md shows the whole loop in curl; GET /openapi.json describes the
API.

All data are in one directory. The service answers feedback when it is on the disk. With --log
several nodes share one log in a stream of NATS JetStream: one of them appends, and all decide
(docs/service.md#several-nodes). Without
--tokens every request is allowed, and the service listens on loopback addresses only.

Each flag may also be set by a variable, --max-body by NOREGRET_MAX_BODY, or in the YAML file of
--config, where its name is the key. The command line goes before a variable, which goes before
the file.

The address is printed on standard output once the service accepts requests; logs go to standard
error. After the first signal the service stops listening, finishes running requests and saves a
snapshot. A second signal ends the process at once; nothing that was answered is lost. The service
checks for new access tokens every second, and at once on SIGHUP.`

// newServeCommand makes "noregret serve". The clock is that of the machine unless a test sets it.
func newServeCommand(a *command.App, clock func(c *server.Config)) *cobra.Command {
	o := &serveOptions{
		Config: server.DefaultConfig("data"), listening: newListening("127.0.0.1:8430"), clock: clock,
	}
	return command.New(a, &cobra.Command{
		Use:   "serve",
		Short: "Run the decision service",
		Long:  serveLong,
		Example: `  # On this machine only
  noregret serve --data data

  # For others: with access tokens and TLS
  noregret serve --listen :8430 --tokens tokens.yaml --tls-cert cert.pem --tls-key key.pem

  # With a file, such as "listen: :8430" and "tokens: tokens.yaml" on two lines
  noregret serve --config serve.yaml

  # One of several nodes on one log
  noregret serve --listen 10.0.0.1:8430 --tokens tokens.yaml --data data \
    --log nats://n0:4222,nats://n1:4222,nats://n2:4222 --stream decisions

  # For the pages of a shop, which decide in the browser (docs/service.md#pages-of-other-sites)
  noregret serve --tokens tokens.yaml --cors-origin https://shop.example`,
		Args: command.NoArgs,
	}, o)
}

// AddFlags implements [command.Options].
func (o *serveOptions) AddFlags(f *pflag.FlagSet) {
	o.listening.addTo(f, &o.Limits, "most units or items of a request", "to the log")
	f.StringVar(&o.Data, "data", o.Data, "directory of the log and the keys; created if it does not exist")
	f.BoolVar(&o.NewKeys, "new-keys", false,
		"make keys for a log that has lost them; feedback for earlier decisions is refused")
	f.IntVar(&o.MaxStreams, "max-streams", o.MaxStreams,
		"most concurrent long polls; the same limit holds for dashboards")
	f.IntVar(&o.MaxExports, "max-exports", o.MaxExports, "most concurrent exports of the log and of snapshots")
	f.IntVar(&o.MaxReads, "max-reads", o.MaxReads, "most reports and explanations computed at once")
	command.DurationVar(f, &o.Retain, "retain",
		"how long events are kept once a snapshot covers them, negative for ever")
	command.DurationVar(f, &o.DeleteGrace, "delete-grace",
		"how long a deleted experiment is kept and can be restored, 0 for not at all")
	f.Uint64Var(&o.SnapshotEvery, "snapshot-every", o.SnapshotEvery, "events between snapshots; 0 is the default")
	f.StringArrayVar(&o.CORSOrigins, "cors-origin", nil,
		"origin whose pages may decide, such as https://shop.example; repeat it for more")
	f.BoolVar(&o.CORSFeedback, "cors-feedback", false,
		"these pages may also send exposures and feedback")
	f.Int64Var(&o.OpenMemory, "open-memory", o.OpenMemory,
		"memory for units that wait for feedback, in bytes; the default is an eighth of the memory")
	f.Int64Var(&o.OpenDisk, "open-disk", o.OpenDisk,
		"bytes of a file for units beyond the memory; the default is 16 times it, 0 is none")
	command.DurationVar(f, &o.LogRetry, "log-retry",
		"how long a failed log is tried again before /livez fails and serve ends with status 1")
	f.Int64Var(&o.SnapshotBytes, "snapshot-bytes", o.SnapshotBytes,
		"bytes of events between snapshots (up to twice as many after a large one), for short recoveries")
	f.StringVar(&o.AlertWebhook, "alert-webhook", "", "address to which alerts are sent, with signatures and retries")
	f.StringVar(&o.AlertSecretFile, "alert-secret-file", "", "file with the key that signs alerts, at least 16 bytes")
	f.Var(command.NewChoice(&o.AlertWebhookFormat, "json", "slack", "alertmanager"), "alert-webhook-format",
		"form of alerts; json needs --alert-secret-file")
	f.StringVar(&o.PublicURL, "public-url", "",
		"address of this service for people, to which alerts for Slack and Alertmanager link")
	f.BoolVar(&o.BackupPrivate, "backup-private", false,
		"online backups may have the raw feedback of private experiments")
	o.replicated.addTo(f)
	f.StringVar(&o.pprof, "pprof", "", "loopback address of the profiles for go tool pprof, HOST:PORT")
	o.settings.AddFlags(f)
}

// Validate implements [command.Options].
func (o *serveOptions) Validate() error {
	if o.pprof != "" {
		if err := server.CheckProfiles(o.pprof); err != nil {
			return err
		}
	}
	if err := o.listening.check(&o.Limits); err != nil {
		return err
	}
	if err := o.replicated.check(o.Data); err != nil {
		return err
	}
	c := o.config()
	end, err := o.join(&c, o.listen, o.listening.cert != "")
	if err != nil {
		return err
	}
	end()
	return c.Validate()
}

// config is the service's configuration. This is the only place where a negative --retain, which
// keeps events for ever, becomes [server.Config.RetainAll], and where 0 becomes the default of
// --snapshot-every and --burst.
func (o *serveOptions) config() server.Config {
	c := o.Config
	if c.Retain < 0 {
		c.Retain, c.RetainAll = 0, true
	}
	for _, file := range []string{o.listening.key, o.replicated.key, o.creds, o.password, o.secret, o.peerTLS.Key} {
		if file != "" {
			c.Secrets = append(c.Secrets, file)
		}
	}
	if c.SnapshotEvery == 0 {
		c.SnapshotEvery = server.DefaultConfig(c.Data).SnapshotEvery
	}
	c.Limits = withBurst(c.Limits)
	return c
}

// Run implements [command.Options].
func (o *serveOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	scheme, certificate, end, err := o.open(ctx, &o.Limits, a.Stderr)
	if err != nil {
		return err
	}
	defer end()
	if o.clock != nil {
		o.clock(&o.Config)
	}
	if o.pprof != "" {
		profiles, err := server.OpenProfiles(o.pprof)
		if err != nil {
			return err
		}
		defer func() { _ = profiles.Close() }()
		o.Logger.Info("profiles are served", "url", "http://"+profiles.Address().String()+"/debug/pprof/")
	}
	ready := func(s *server.Server, address net.Addr) error {
		o.onHangup(o.Logger, s.ReloadTokens)
		_, err := fmt.Fprintf(a.Stdout, "listening on %s://%s\n", scheme, address)
		return err
	}
	stop, err := o.start(ctx, o.Data, o.Logger)
	if err != nil {
		return err
	}
	defer stop()
	if o.only {
		return o.serveOnly(ctx, a.Stdout)
	}
	c := o.config()
	leave, err := o.join(&c, o.listen, o.listening.cert != "")
	if err != nil {
		return err
	}
	defer leave()
	return server.Run(ctx, c, o.listen, certificate, o.drain, ready)
}
