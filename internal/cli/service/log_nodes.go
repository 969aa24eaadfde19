package service

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// nodesOptions are the flags of "noregret log nodes".
type nodesOptions struct {
	command.Output
	place
}

// newNodesCommand makes "noregret log nodes".
func newNodesCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes that a log in NATS keeps events for",
		Long: `List the nodes of a log in a stream of NATS: the name of each, as the file stream/node
of its data directory has it, the position of its latest snapshot, and when it was saved. No event
is dropped that a node needs to go on from there. A node that never returns therefore keeps all
later events: "forget-node" ends that. With --data the node of that directory is marked.`,
		Example: "  noregret log nodes --log nats://n0:4222,nats://n1:4222,nats://n2:4222",
		Args:    command.NoArgs,
	}, &nodesOptions{})
}

// AddFlags implements [command.Options].
func (o *nodesOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	o.place.addTo(f)
	f.Lookup("data").Usage = "the data directory of a node, which is marked"
}

// Validate implements [command.Options].
func (o *nodesOptions) Validate() error { return o.required(o.node()) }

// Run implements [command.Options].
func (o *nodesOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	nodes, err := jetstream.Nodes(ctx, o.options(o.node()))
	if err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, struct {
			Nodes []jetstream.Node `json:"nodes"`
		}{append([]jetstream.Node{}, nodes...)})
	}
	t := show.Table{Left: map[int]bool{0: true, 2: true, 3: true}}
	t.Add("node", "snapshot", "saved", "")
	for _, n := range nodes {
		here := ""
		if n.Here {
			here = "--data"
		}
		t.Add(legible.Text(n.Name), strconv.FormatUint(n.Position, 10), n.Told.Format(time.RFC3339), here)
	}
	return t.Write(a.Stdout)
}

// forgetOptions are the flags of "noregret log forget-node".
type forgetOptions struct {
	stream
	node string
}

// newForgetCommand makes "noregret log forget-node".
func newForgetCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "forget-node",
		Short: "Let a log in NATS drop events that a lost node has not seen",
		Long: `Forget a node that never returns, so that the events that it has not seen are dropped in
their time; "log nodes" lists the names. A node that was forgotten and goes on far behind ends, says
so, and begins with a snapshot when it is started again. Once it has saved a snapshot of its own,
the log keeps events for it as before.`,
		Example: "  noregret log forget-node --log nats://n0:4222,nats://n1:4222,nats://n2:4222 --node 7LQ...",
		Args:    command.NoArgs,
	}, &forgetOptions{})
}

// AddFlags implements [command.Options].
func (o *forgetOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.node, "node", "", "name of the node (required)")
	o.stream.addTo(f)
}

// Validate implements [command.Options].
func (o *forgetOptions) Validate() error {
	if o.node == "" {
		return noregret.Errorf(noregret.Usage, "--node", `is required: the name that "noregret log nodes" shows`)
	}
	return o.required("")
}

// Run implements [command.Options].
func (o *forgetOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	if err := jetstream.Forget(ctx, o.options(""), o.node); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "the log keeps no events for the node %s\n", o.node)
	return err
}
