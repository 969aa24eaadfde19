package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/edge"
)

// edgeOptions are the flags of "noregret edge".
type edgeOptions struct {
	edge.Config
	listening
	remote
	experiments []string
	source      string
	every       time.Duration
	remember    int
}

const edgeLong = `Decide near the users for a decision service that is elsewhere, until SIGINT or SIGTERM.

The edge follows the policies of --experiments by long polls, and answers POST
/v1/experiments/NAME/decide by copies of them: with the same policy, a unit gets the arm that the
service gives it. While the service is away it decides by the last policy, which --data keeps;
GET /readyz and /metrics say how long ago the service last confirmed it.

POST /v1/feedback takes each unit once, with the token of its decision and all of its metrics, and
counts it as exposed. The answer comes when it is on the disk. Sums by version and arm go to the
service every --every, in numbered reports that count once, also after kill -9. A unit that is
reported again is a duplicate as long as it is among the latest --remember of its experiment, which
--data keeps.

Tokens are those of this edge. Exposures by themselves, contexts, feedback in parts and other routes
need the service. There the edge's access token needs the roles decide and aggregate, and sources
that begin with --source. Limits, access tokens, TLS and logs for the edge's own clients are those
of "noregret serve".

docs/how-to/edge.md explains it.`

// newEdgeCommand makes "noregret edge".
func newEdgeCommand(a *command.App) *cobra.Command {
	o := &edgeOptions{
		Config: edge.DefaultConfig(""), listening: newListening("127.0.0.1:8431"), source: "edge",
		every: 5 * time.Second, remember: 1_000_000,
	}
	cmd := command.New(a, &cobra.Command{
		Use:   "edge --upstream URL --experiments NAME,... --data DIR",
		Short: "Decide near the users, and send sums to the service",
		Long:  edgeLong,
		Example: `  noregret edge --upstream http://127.0.0.1:8430 --experiments toy --data edge
  noregret edge --upstream https://decide.example --token-file token --experiments toy --data edge`,
		Args: command.NoArgs,
	}, o)
	command.Require(cmd, "upstream", "experiments", "data")
	return cmd
}

// AddFlags implements [command.Options].
func (o *edgeOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.url, "upstream", "", "the service's URL")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the access token of the service; else that of "+
		"$NOREGRET_TOKEN, or in the file that $NOREGRET_TOKEN_FILE names")
	f.StringSliceVar(&o.experiments, "experiments", nil, "names of the experiments to decide for")
	f.StringVar(&o.Data, "data", "", "directory of policies, sums and the key; created if it does not exist")
	f.StringVar(&o.source, "source", o.source, "name of this edge in its reports; a random part is appended")
	command.DurationVar(f, &o.every, "every", "time between reports to the service")
	f.IntVar(&o.remember, "remember", o.remember,
		"latest units of an experiment of which a second report is a duplicate")
	o.addTo(f, &o.Limits, "most units or items of a request", "to the process")
	o.settings.AddFlags(f)
}

// Validate implements [command.Options].
func (o *edgeOptions) Validate() error {
	if o.every <= 0 {
		return command.OutOfRange("--every", o.every, "a length of time above 0")
	}
	if len(o.experiments) == 0 {
		return noregret.Errorf(noregret.Usage, "--experiments", "it has no name: want NAME,...")
	}
	for _, name := range o.experiments {
		if name == "" || strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, ".") {
			return noregret.Errorf(noregret.Usage, "--experiments", "%q is not the name of an experiment", name)
		}
	}
	if o.remember < 1 {
		return command.OutOfRange("--remember", o.remember, "at least 1")
	}
	if err := o.check(&o.Limits); err != nil {
		return err
	}
	c := o.Config
	c.Limits = withBurst(c.Limits)
	return c.Validate()
}

// Run implements [command.Options].
func (o *edgeOptions) Run(ctx context.Context, a *command.App, _ []string) (err error) {
	c, err := o.client()
	if err != nil {
		return err
	}
	scheme, certificate, end, err := o.open(ctx, &o.Limits, a.Stderr)
	if err != nil {
		return err
	}
	defer end()
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return noregret.Errorf(noregret.Internal, o.Data, "the directory cannot be made: %w", err)
	}
	experiments := map[string]edge.Experiment{}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.drain)
		defer cancel()
		for _, name := range o.experiments {
			if f, ok := experiments[name].(*followed); ok {
				err = errors.Join(err, f.close(last))
			}
		}
	}()
	for _, name := range o.experiments {
		if experiments[name] == nil {
			f, err := o.follow(ctx, c, name)
			if err != nil {
				return err
			}
			experiments[name] = f
		}
	}
	config := o.Config
	config.Limits = withBurst(config.Limits)
	s, err := edge.New(experiments, config)
	if err != nil {
		return err
	}
	return s.Run(ctx, o.listen, certificate, o.drain, func(address net.Addr) error {
		o.onHangup(o.Logger, s.ReloadTokens)
		_, err := fmt.Fprintf(a.Stdout, "listening on %s://%s\n", scheme, address)
		return err
	})
}

// followed is an experiment whose policy is kept in a file.
type followed struct {
	*client.Local
	outbox *client.FileOutbox
	kept   time.Time // of the policy that was in the file
}

// Confirmed implements [edge.Experiment].
func (f *followed) Confirmed() time.Time {
	if at := f.Local.Confirmed(); !at.IsZero() {
		return at
	}
	return f.kept
}

// close sends what is left. What the service does not take stays in the outbox.
func (f *followed) close(ctx context.Context) error {
	err := f.Local.Close(ctx)
	if ctx.Err() != nil || noregret.CodeOf(err) == noregret.Internal {
		err = f.Keep() // the service is away: the next start sends it
	}
	return errors.Join(err, f.outbox.Close())
}

// follow begins to follow an experiment, by the policy in the file if there is one.
func (o *edgeOptions) follow(ctx context.Context, c *client.Client, name string) (*followed, error) {
	path := filepath.Join(o.Data, name+".policy.json")
	f := new(followed)
	first, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, noregret.Errorf(noregret.Internal, path, "the policy cannot be read: %w", err)
	}
	log := o.Logger.With("experiment", name)
	l := client.DefaultLocalOptions()
	if first != nil {
		if l.First, err = policy.Parse(first); err != nil {
			return nil, noregret.BadInputf(path, "not a policy: %w; remove the file to ask the service", err)
		}
		if st, err := os.Stat(path); err == nil {
			f.kept = st.ModTime()
		}
	}
	save := func(p *policy.Policy) {
		if err := savePolicy(path, p); err != nil {
			log.Error("the policy cannot be kept", "error", err)
		}
	}
	l.Source, l.Every, l.Renewed, l.Remember = o.source, o.every, save, o.remember
	l.Waiting = func(err error) { log.Warn("the service does not take sums now", "error", err) }
	l.Done = func(sums api.Aggregate, result api.FeedbackResult, err error) { logReport(log, sums, result, err) }
	if f.outbox, err = client.OpenFileOutbox(filepath.Join(o.Data, name+".outbox.json")); err != nil {
		return nil, err
	}
	l.Outbox = f.outbox
	if f.Local, err = c.NewLocal(ctx, name, l); err != nil {
		return nil, errors.Join(err, f.outbox.Close())
	}
	if first == nil {
		if err := savePolicy(path, f.Policy()); err != nil {
			return nil, errors.Join(err, f.close(ctx))
		}
	}
	return f, nil
}

func savePolicy(path string, p *policy.Policy) error {
	b, err := strictjson.Encode(p)
	if err == nil {
		err = atomicfile.WriteBytes(path, b)
	}
	if err != nil {
		return noregret.Errorf(noregret.Internal, path, "the policy cannot be kept: %w", err)
	}
	return nil
}

// logReport says what the service did not count.
func logReport(log *slog.Logger, sums api.Aggregate, result api.FeedbackResult, err error) {
	if err != nil {
		log.Error("a report of sums failed", "sequence", sums.Sequence, "error", err)
		return
	}
	for i, r := range result.Items {
		if (r.Status == api.Rejected || r.Status == api.Late) && i < len(sums.Items) {
			it := sums.Items[i]
			log.Error("sums are not counted", "status", string(r.Status), "version", it.Version, "arm", it.Arm,
				"units", it.Units, "error", r.Error)
		}
	}
}
