package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/demo/internal/world"
	"github.com/noregret/noregret/internal/cli/files"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/server"
)

// demoOptions are the flags of "noregret demo".
type demoOptions struct {
	rounds, users int
	seed          uint64
	listen        string
	keep          string
	plot          string
	exit          bool

	flags *pflag.FlagSet
}

const demoLong = `Run the whole loop of the decision service on this machine: start the service on
a temporary directory, apply an example experiment, and send simulated users through the HTTP API,
with a clock that the command advances after each round.

The experiment ranks lists by a blend of two scores with the weight alpha. There are eleven
settings of alpha. The goal is recall at 20: the share of the items a visitor will like that are
in the list. The guardrail is the recall of documentaries. It must not be more than 6 % below that
of today's setting, alpha=0.5, which is the control arm with at least a tenth of the visits, and it
must hold in every round. Users, items and both scores are generated from the seed. One visit in
twenty is never exposed. Of the others, one in twenty never reports, two in a hundred report twice,
and one in a hundred reports too late.

The table shows the true values of the served mixture after some of the rounds: recall and
documentary recall are computed from all users. The service itself knows only the feedback. Best
single is the best of the settings that hold the guardrail.

The command prints the address of the dashboard first. On a terminal the service keeps running
after the last round, until Ctrl-C.`

// NewCommand makes "noregret demo" with the given commands below it.
func NewCommand(a *command.App, below ...*cobra.Command) *cobra.Command {
	o := &demoOptions{rounds: 40, users: 300, seed: 1, listen: "127.0.0.1:0"}
	cmd := command.New(a, &cobra.Command{
		Use:   "demo",
		Short: "Run the decision service with simulated users and print how it learns",
		Long:  demoLong,
		Example: `  noregret demo

  # With a picture; keep the service's data
  noregret demo --plot demo.svg --keep demo-data --exit

  # Classifiers for rare positives
  noregret demo classifier

  # Three nodes, killed under load
  noregret demo cluster`,
		Args: command.NoArgs,
	}, o)
	cmd.AddCommand(append(below, NewClusterCommand(a))...)
	return cmd
}

// AddFlags implements [command.Options].
func (o *demoOptions) AddFlags(f *pflag.FlagSet) {
	o.flags = f
	f.IntVar(&o.rounds, "rounds", o.rounds, "rounds of the experiment, 1 to 10000")
	f.IntVar(&o.users, "users", o.users, "simulated users, 50 to 10000; each visits 20 times a round")
	f.Uint64Var(&o.seed, "seed", o.seed, "seed of users, items and visits")
	f.StringVar(&o.listen, "listen", o.listen, "address of the service, HOST:PORT; port 0 takes a free one")
	f.StringVar(&o.keep, "keep", "", "directory in which to keep the service's data; without it they are temporary")
	f.StringVar(&o.plot, "plot", "", "draw the learning progress into this .svg or .png file")
	f.BoolVar(&o.exit, "exit", false, "end after the last round; the default if the output is not a terminal")
}

// Validate implements [command.Options].
func (o *demoOptions) Validate() error {
	switch {
	case o.rounds < 1 || o.rounds > 10_000:
		return command.OutOfRange("--rounds", o.rounds, "1 to 10000")
	case o.users < 50 || o.users > 10_000:
		return command.OutOfRange("--users", o.users, "50 to 10000")
	case o.plot != "":
		return files.CheckPlotName(o.plot)
	}
	return nil
}

// directory creates the directory of a service's data, that of --keep or a temporary one for "",
// and returns it with the function that removes it.
func directory(keep string) (dir string, remove func() error, err error) {
	if keep == "" {
		if dir, err = os.MkdirTemp("", "noregret-demo-"); err != nil {
			return "", nil, noregret.Errorf(noregret.Internal, "", "no temporary directory: %w", err)
		}
		return dir, func() error { return os.RemoveAll(dir) }, nil
	}
	if list, err := os.ReadDir(keep); err == nil && len(list) > 0 {
		return "", nil, noregret.Errorf(noregret.Usage, "--keep", "%q is not empty; name another directory", keep)
	}
	return keep, func() error { return nil }, nil
}

// Run implements [command.Options].
func (o *demoOptions) Run(ctx context.Context, a *command.App, _ []string) (err error) {
	if !o.flags.Changed("exit") {
		f, file := a.Stdout.(*os.File)
		o.exit = !file || !term.IsTerminal(int(f.Fd()))
	}
	w, err := world.New(o.users, o.seed)
	if err != nil {
		return err
	}
	dir, remove, err := directory(o.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	// The demo prints itself how much feedback was late.
	logger := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	config := server.DefaultConfig(dir)
	config.Now, config.Tick, config.Logger = w.Now, time.Hour, logger
	s, err := server.New(config)
	if err != nil {
		return err
	}
	l, err := s.Listen(o.listen)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving, l, nil, 5*time.Second) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	h := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer h.CloseIdleConnections()
	options := client.DefaultOptions("http://" + l.Addr().String())
	options.HTTP = h
	c, err := client.New(options)
	if err != nil {
		return err
	}
	d := &demonstration{demoOptions: o, out: a.Stdout, world: w, client: c}
	return d.run(ctx, s, l.Addr())
}

// demonstration is a running demo.
type demonstration struct {
	*demoOptions
	out    io.Writer
	world  *world.World
	client *client.Client
	report *api.Report // the last one
}

// run plays the rounds and prints the results.
func (d *demonstration) run(ctx context.Context, s *server.Server, address net.Addr) error {
	w := d.world
	definition, err := w.Definition()
	if err != nil {
		return err
	}
	if _, err := d.client.Apply(ctx, world.Experiment, definition); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(d.out, "Dashboard: http://%s/experiments/%s\n\n", address, world.Experiment); err != nil {
		return err
	}
	single, arm := w.Single()
	fmt.Fprintf(d.out, "%d users, %d items, %d visits a round; the best single setting that holds the guardrail "+
		"is\n%s: recall %.4f, documentary recall %.4f.\n\n",
		w.Users(), w.Items(), world.Visits*w.Users(), w.Name(arm), w.Value(single), w.Guard(single))
	fmt.Fprintf(d.out, "%5s  %7s  %14s  %11s  %18s  %8s\n", "round", "visits", "mixture recall", "best single",
		"documentary recall", "gain")
	for round := 1; round <= d.rounds; round++ {
		if err := w.Play(ctx, d.client, s.Tick, round); err != nil {
			return err
		}
		if demoShown(round, d.rounds) {
			if err := d.row(ctx, round); err != nil {
				return err
			}
		}
	}
	if err := d.summary(ctx); err != nil {
		return err
	}
	if d.plot != "" {
		if err := d.draw(d.plot); err != nil {
			return err
		}
	}
	if d.keep != "" {
		fmt.Fprintf(d.out, "\nThe service's data are in %s.\n", d.keep)
	}
	if d.exit {
		return nil
	}
	if _, err := fmt.Fprintf(d.out, "\nThe service goes on at http://%s/ until Ctrl-C.\n", address); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// demoShown reports whether the table has a round: 1, 2, 5, 10, 20, 50, ... and the last.
func demoShown(round, last int) bool {
	for round%10 == 0 {
		round /= 10
		last = max(last/10, round)
	}
	return round == 1 || round == 2 || round == 5 || round == last
}

// row prints the truth about the mixture that is served now.
func (d *demonstration) row(ctx context.Context, round int) error {
	r, err := d.client.Report(ctx, world.Experiment)
	if err != nil {
		return err
	}
	p := d.world.Mixture(r.Mixture)
	bestSingle, _ := d.world.Single()
	single := d.world.Value(bestSingle)
	note := ""
	if d.world.Guard(p) < d.world.Limit() {
		note = "  below the limit"
	}
	visits := int64(0)
	for _, arm := range r.Arms {
		visits += arm.N
	}
	_, err = fmt.Fprintf(d.out, "%5d  %7d  %14.4f  %11.4f  %18.4f  %+7.2f%%%s\n", round, visits, d.world.Value(p),
		single,
		d.world.Guard(p), 100*(d.world.Value(p)/single-1), note)
	return err
}

// summary prints the result beside the best possible ones.
func (d *demonstration) summary(ctx context.Context) error {
	r, err := d.client.Report(ctx, world.Experiment)
	if err != nil {
		return err
	}
	d.report = r
	bestSingle, _ := d.world.Single()
	p := d.world.Mixture(r.Mixture)
	f := r.Feedback
	fmt.Fprintf(d.out, "\nFeedback: %d accepted, %d duplicate, %d late, %d rejected; version %d.\n\n", f.Accepted,
		f.Duplicate, f.Late, f.Rejected, r.Version)
	t := show.Table{}
	t.Add("in truth", "recall", "documentary recall", "shares")
	row := func(name string, p []float64) {
		t.Add(name, show.Number(d.world.Value(p)).String(), show.Number(d.world.Guard(p)).String(), shares(d.world, p))
	}
	row("learned mixture", p)
	row("best single of 11 settings", bestSingle)
	row("best single of 101 settings", d.world.Fine())
	row("best mixture of 11 settings", d.world.Best())
	if err := t.Write(d.out); err != nil {
		return err
	}
	single := d.world.Value(bestSingle)
	if err := d.served(); err != nil {
		return err
	}
	verdict := fmt.Sprintf("holds the guardrail (at least %v)", d.world.Limit())
	if by := d.world.Limit() - d.world.Guard(p); by > 0 {
		verdict = fmt.Sprintf("misses the guardrail (at least %v) by %.4f", d.world.Limit(), by)
	}
	word := "above"
	if d.world.Value(p) < single {
		word = "below"
	}
	_, err = fmt.Fprintf(d.out, "The learned mixture %s; its recall is %.2f %% %s that of the best single "+
		"setting.\n", verdict, 100*math.Abs(d.world.Value(p)/single-1), word)
	return err
}

// served prints in how many of the versions that were served the guardrail held, in truth.
func (d *demonstration) served() error {
	held, first := 0, ""
	for _, h := range d.report.History {
		if d.world.Guard(d.world.Mixture(h.Mixture)) >= d.world.Limit() {
			held++
		} else if first == "" {
			first = fmt.Sprintf("; the first that did not is version %d", h.Version)
		}
	}
	_, err := fmt.Fprintf(d.out, "\nThe guardrail held in %d of %d versions that were served%s.\n", held,
		len(d.report.History), first)
	return err
}

// shares writes the arms of a mixture with at least half a per cent.
func shares(w *world.World, p []float64) string {
	var parts []string
	for k, v := range p {
		if v >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", w.Name(k), 100*v))
		}
	}
	return strings.Join(parts, ", ")
}
