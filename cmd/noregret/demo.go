package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
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
}

const demoLong = `Run the whole loop of the decision service on this machine: start the service on a temporary
directory, apply an example experiment, and let simulated users come through the HTTP API, on a
clock that is turned on after each round.

The experiment ranks lists by a blend of two scores with the weight alpha, of which there are
eleven settings. The goal is recall at 20: the share of what a visitor comes to like that was in
the list. The guardrail is the recall of documentaries, which must not be more than 6 % below that
of today's setting, 0.5, which keeps a tenth of the visits as the control arm. Users, items and
both scores are generated from the seed. One visit in twenty is never exposed, one in twenty of
the others never reports, two in a hundred report twice, one in a hundred too late.

The table has, after some rounds, what the mixture that is served brings in truth: its recall and
documentary recall are computed from all users, not from the feedback, which is all that the
service knows. Best single is the best of the settings that hold the guardrail.

The address of the dashboard is printed first. On a terminal the service goes on until Ctrl-C when
the rounds are over.`

//go:embed demo.yaml
var demoDefinition []byte

// demoName is the experiment's name in demo.yaml.
const demoName = "ranking"

// newDemoCommand makes "noregret demo".
func newDemoCommand(a *app) *cobra.Command {
	opt := demoOptions{rounds: 40, users: 300, seed: 1, listen: "127.0.0.1:0"}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the decision service with simulated users and print how it learns",
		Long:  demoLong,
		Example: `  noregret demo

  # With a picture; keep the service's data
  noregret demo --plot demo.svg --keep demo-data --exit

  # Classifiers for rare positives
  noregret demo classifier`,
		Args: noArgs("demo"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("exit") {
				f, file := a.stdout.(*os.File)
				opt.exit = !file || !term.IsTerminal(int(f.Fd()))
			}
			return a.demo(cmd.Context(), opt)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.rounds, "rounds", opt.rounds, "rounds of the experiment, 1 to 10000")
	f.IntVar(&opt.users, "users", opt.users, "simulated users, 50 to 10000; each visits 20 times a round")
	f.Uint64Var(&opt.seed, "seed", opt.seed, "seed of users, items and visits")
	f.StringVar(&opt.listen, "listen", opt.listen, "address of the service, HOST:PORT; port 0 takes a free one")
	f.StringVar(&opt.keep, "keep", "", "directory for the service's data, kept; without it they are temporary")
	f.StringVar(&opt.plot, "plot", "", "draw the learning progress into this .svg or .png file")
	f.BoolVar(&opt.exit, "exit", false, "end when the rounds are over; the default where the output is no terminal")
	cmd.AddCommand(newDemoClassifierCommand(a))
	return cmd
}

func (opt *demoOptions) check() error {
	switch {
	case opt.rounds < 1 || opt.rounds > 10_000:
		return outOfRange("--rounds", opt.rounds, "1 to 10000")
	case opt.users < 50 || opt.users > 10_000:
		return outOfRange("--users", opt.users, "50 to 10000")
	case opt.plot != "":
		return checkPlotName(opt.plot)
	}
	return nil
}

// demoDirectory is the directory of the service's data, and what takes it away again.
func (opt *demoOptions) demoDirectory() (dir string, remove func() error, err error) {
	if opt.keep == "" {
		if dir, err = os.MkdirTemp("", "noregret-demo-"); err != nil {
			return "", nil, noregret.Errorf(noregret.Internal, "", "no temporary directory: %w", err)
		}
		return dir, func() error { return os.RemoveAll(dir) }, nil
	}
	if list, err := os.ReadDir(opt.keep); err == nil && len(list) > 0 {
		return "", nil, noregret.Errorf(noregret.Usage, "--keep", "there is something in %q; name another directory",
			opt.keep)
	}
	return opt.keep, func() error { return nil }, nil
}

func (a *app) demo(ctx context.Context, opt demoOptions) (err error) {
	if err := opt.check(); err != nil {
		return err
	}
	d, err := newDemoWorld(opt.users, opt.seed)
	if err != nil {
		return err
	}
	dir, remove, err := opt.demoDirectory()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	logger := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := server.New(server.Config{Data: dir, Now: d.clock.now, Tick: time.Hour, Logger: logger})
	if err != nil {
		return err
	}
	l, err := s.Listen(opt.listen)
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
	return a.demoRun(ctx, opt, d, s, l.Addr())
}

// demoRun plays the rounds and says what came of them.
func (a *app) demoRun(ctx context.Context, opt demoOptions, d *demoWorld, s *server.Server, address net.Addr) error {
	c, err := d.connect("http://" + address.String())
	if err != nil {
		return err
	}
	defer d.http.CloseIdleConnections()
	definition, err := json.Marshal(d.def)
	if err != nil {
		return err
	}
	if _, err := c.Apply(ctx, demoName, definition); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.stdout, "Dashboard: http://%s/experiments/%s\n\n", address, demoName); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%d users, %d items, %d visits a round; the best single setting that holds the guardrail "+
		"is\n%s: recall %.4f, documentary recall %.4f.\n\n",
		d.lists.Users(), d.lists.Items(), demoVisits*d.lists.Users(), d.names[d.single], d.value(d.at(d.single)),
		d.guard(d.at(d.single)))
	fmt.Fprintf(a.stdout, "%5s  %7s  %14s  %11s  %18s  %8s\n", "round", "visits", "mixture recall", "best single",
		"documentary recall", "gain")
	for round := 1; round <= opt.rounds; round++ {
		if err := d.play(ctx, c, s, round); err != nil {
			return err
		}
		if demoShown(round, opt.rounds) {
			if err := a.demoRow(ctx, d, c, round); err != nil {
				return err
			}
		}
	}
	if err := a.demoSummary(ctx, d, c); err != nil {
		return err
	}
	if opt.plot != "" {
		if err := d.plot(opt.plot); err != nil {
			return err
		}
	}
	if opt.keep != "" {
		fmt.Fprintf(a.stdout, "\nThe service's data are in %s.\n", opt.keep)
	}
	if opt.exit {
		return nil
	}
	if _, err := fmt.Fprintf(a.stdout, "\nThe service goes on at http://%s/ until Ctrl-C.\n", address); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// demoShown picks the rounds of the table: 1, 2, 5, 10, 20, 50, ... and the last.
func demoShown(round, last int) bool {
	for round%10 == 0 {
		round /= 10
		last = max(last/10, round)
	}
	return round == 1 || round == 2 || round == 5 || round == last
}

// demoRow prints what the mixture that is served now brings in truth.
func (a *app) demoRow(ctx context.Context, d *demoWorld, c *client.Client, round int) error {
	r, err := c.Report(ctx, demoName)
	if err != nil {
		return err
	}
	p := d.mixture(r.Mixture)
	single := d.value(d.at(d.single))
	held := ""
	if d.guard(p) < d.limit {
		held = "  below the limit"
	}
	visits := int64(0)
	for _, arm := range r.Arms {
		visits += arm.N
	}
	_, err = fmt.Fprintf(a.stdout, "%5d  %7d  %14.4f  %11.4f  %18.4f  %+7.2f%%%s\n", round, visits, d.value(p), single,
		d.guard(p), 100*(d.value(p)/single-1), held)
	return err
}

// demoSummary prints what was learned beside what could have been.
func (a *app) demoSummary(ctx context.Context, d *demoWorld, c *client.Client) error {
	r, err := c.Report(ctx, demoName)
	if err != nil {
		return err
	}
	d.report = r
	p := d.mixture(r.Mixture)
	f := r.Feedback
	fmt.Fprintf(a.stdout, "\nFeedback: %d accepted, %d duplicate, %d late, %d rejected; version %d.\n\n", f.Accepted,
		f.Duplicate, f.Late, f.Rejected, r.Version)
	g := grid{}
	g.add("in truth", "recall", "documentary recall", "shares")
	row := func(name string, p []float64) {
		g.add(name, number(d.value(p)).String(), number(d.guard(p)).String(), d.shares(p))
	}
	row("learned mixture", p)
	row("best single of 11 settings", d.at(d.single))
	row("best single of 101 settings", d.fine())
	row("best mixture of 11 settings", d.best.Mixture)
	if err := g.write(a.stdout); err != nil {
		return err
	}
	single := d.value(d.at(d.single))
	verdict := fmt.Sprintf("holds the guardrail (at least %v)", d.limit)
	if by := d.limit - d.guard(p); by > 0 {
		verdict = fmt.Sprintf("misses the guardrail (at least %v) by %.4f", d.limit, by)
	}
	word := "above"
	if d.value(p) < single {
		word = "below"
	}
	_, err = fmt.Fprintf(a.stdout, "\nThe learned mixture %s; its recall is %.2f %% %s that of the best single "+
		"setting.\n", verdict, 100*math.Abs(d.value(p)/single-1), word)
	return err
}

// shares writes the arms of a mixture with at least half a per cent.
func (d *demoWorld) shares(p []float64) string {
	var parts []string
	for k, v := range p {
		if v >= 0.005 {
			name := fmt.Sprintf("α %.2f", d.settings[k])
			if k < len(d.names) {
				name = d.names[k]
			}
			parts = append(parts, fmt.Sprintf("%s %.0f %%", name, 100*v))
		}
	}
	return strings.Join(parts, ", ")
}
