package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/demo/internal/drill"
	"github.com/noregret/noregret/internal/cli/show"
)

// clusterOptions are the flags of "noregret demo cluster".
type clusterOptions struct {
	command.Output
	kills int
	seed  uint64
	keep  string
	exit  bool

	flags *pflag.FlagSet
}

const clusterLong = `Run three nodes of the decision service on this machine, each a process of
noregret serve --cluster with one of the three NATS servers of their log in it. Simulated visitors
are decided for, exposed and report, each at random nodes; a report without an answer is sent again
to another node, and one in ten once more after its acknowledgement. Meanwhile nodes are killed
with SIGKILL and started again: first the one that leads, then one that follows, and so on.

In the end the nodes are asked, not the visitors. The log says which reports are stored, and the
state how many count. The command fails with status 1 if a report that was acknowledged does not
count, one counts twice, or the nodes differ.

The addresses of the dashboards come first (with --json, on standard error); each goes on as long
as its node lives. On a terminal the nodes keep running at the end, until Ctrl-C.`

// NewClusterCommand makes "noregret demo cluster".
func NewClusterCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "cluster",
		Short: "Kill nodes of a cluster under load and check that nothing acknowledged is lost",
		Long:  clusterLong,
		Example: `  noregret demo cluster

  # For programs
  noregret demo cluster --kills 10 --json`,
		Args: command.NoArgs,
	}, &clusterOptions{kills: 4, seed: 1})
}

// AddFlags implements [command.Options].
func (o *clusterOptions) AddFlags(f *pflag.FlagSet) {
	o.flags = f
	f.IntVar(&o.kills, "kills", o.kills, "nodes to kill, one after the other, 1 to 1000")
	f.Uint64Var(&o.seed, "seed", o.seed, "seed of the visitors and of the choice of nodes")
	f.StringVar(&o.keep, "keep", "", "directory in which to keep the nodes' data; without it they are temporary")
	f.BoolVar(&o.exit, "exit", false, "end after the last kill; the default with --json or without a terminal")
	o.Output.AddFlags(f)
}

// Validate implements [command.Options].
func (o *clusterOptions) Validate() error {
	if o.kills < 1 || o.kills > 1000 {
		return command.OutOfRange("--kills", o.kills, "1 to 1000")
	}
	return nil
}

// Run implements [command.Options].
func (o *clusterOptions) Run(ctx context.Context, a *command.App, _ []string) (err error) {
	if !o.flags.Changed("exit") {
		f, file := a.Stdout.(*os.File)
		o.exit = o.JSON || !file || !term.IsTerminal(int(f.Fd()))
	}
	program, err := os.Executable()
	if err != nil {
		return noregret.Errorf(noregret.Internal, "", "this program is not found: %w", err)
	}
	dir, remove, err := directory(o.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	c, err := drill.Start(ctx, drill.Options{
		Program: program, Name: os.Args[0], Dir: dir, Kills: o.kills, Seed: o.seed, Say: a.Note,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	addresses := a.Stdout
	if o.JSON {
		addresses = a.Stderr
	}
	for i, d := range c.Dashboards() {
		if _, err := fmt.Fprintf(addresses, "Dashboard of node %d: %s\n", i+1, d); err != nil {
			return err
		}
	}
	r, err := c.Run(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		err = show.JSON(a.Stdout, r)
	} else {
		err = o.write(a, r)
	}
	if err = errors.Join(err, r.Fault()); err != nil || o.exit {
		return err
	}
	if _, err := fmt.Fprintln(a.Stdout, "\nThe nodes go on until Ctrl-C."); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// write prints a result for people.
func (o *clusterOptions) write(a *command.App, r *drill.Result) error {
	seconds := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	t := show.Table{}
	t.Add("kill", "node", "it", "s without writes", "s away", "s to serve again")
	for i, d := range r.Deaths {
		part := "follows"
		if d.Leads {
			part = "leads"
		}
		t.Add(strconv.Itoa(i+1), strconv.Itoa(d.Node), part, seconds(d.SecondsWithoutWrites), seconds(d.SecondsAway),
			seconds(d.SecondsToServe))
	}
	fmt.Fprintln(a.Stdout)
	if err := t.Write(a.Stdout); err != nil {
		return err
	}
	equal := "equal"
	if !r.DigestsEqual {
		equal = "not equal"
	}
	_, err := fmt.Fprintf(a.Stdout, "\n%d reports were acknowledged, and %d count: %d lost, %d counted twice.\n"+
		"%d calls were refused and %d had no answer; %d reports were acknowledged again.\n"+
		"The digests of the nodes' states at position %d are %s.\n",
		r.Acknowledged, r.Counted, r.Lost, r.DuplicatesCounted, r.Refused, r.Unknown, r.Repeated, r.Position, equal)
	if err == nil && o.keep != "" {
		_, err = fmt.Fprintf(a.Stdout, "\nThe data of the nodes are in %s.\n", o.keep)
	}
	return err
}
