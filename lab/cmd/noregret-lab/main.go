// Command noregret-lab reproduces the measurements of the project noregret: tables of papers,
// learners beside their peers on the same draws, error rates and costs. Each subcommand
// is a study; the pages in lab/docs show their results.
//
// Results go to standard output, progress and notes to standard error. The exit status is that of
// noregret: 0 for success, 1 for a failure, 2 for a usage error and 3 for bad input.
package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/play"
	"github.com/noregret/noregret/lab/arena"
	"github.com/noregret/noregret/lab/internal/auto"
	"github.com/noregret/noregret/lab/internal/boxes"
	"github.com/noregret/noregret/lab/internal/catastrophe"
	"github.com/noregret/noregret/lab/internal/contexts"
	"github.com/noregret/noregret/lab/internal/cost"
	"github.com/noregret/noregret/lab/internal/edges"
	"github.com/noregret/noregret/lab/internal/faults"
	"github.com/noregret/noregret/lab/internal/figures"
	"github.com/noregret/noregret/lab/internal/measure"
	"github.com/noregret/noregret/lab/internal/obd"
	"github.com/noregret/noregret/lab/internal/parameterfree"
	"github.com/noregret/noregret/lab/internal/rates"
	"github.com/noregret/noregret/lab/internal/reproduce"
	"github.com/noregret/noregret/lab/internal/shards"
	"github.com/noregret/noregret/lab/internal/streams"
	"github.com/noregret/noregret/lab/internal/tables"
	"github.com/noregret/noregret/lab/internal/validity"
)

func main() { os.Exit(command.Main(newRoot)) }

// newRoot makes the tree of commands.
func newRoot(a *command.App) *cobra.Command {
	return command.NewRoot(a, &cobra.Command{
		Use:   "noregret-lab",
		Short: "Reproduce the measurements of noregret",
		Long: `noregret-lab measures the learners and the service of noregret, each of its commands in one study.
The pages in lab/docs show the results. Results do not depend on the number of cores.`,
		Example: "  noregret-lab arena --runs 20 --families week",
	},
		command.Group{ID: "mixtures", Title: "Mixtures under guardrails:", Commands: []*cobra.Command{
			arena.Command(), boxes.Command(), measure.Command(),
			simulate(a), cost.Command(),
		}},
		command.Group{ID: "service", Title: "The decision service:", Commands: []*cobra.Command{
			validity.Command(), catastrophe.Command(), edges.Command(), faults.Command(),
		}},
		command.Group{ID: "papers", Title: "Published tables:", Commands: slices.Concat(
			reproduce.Commands(), tables.Commands(), figures.Commands(),
		)},
		command.Group{ID: "learners", Title: "Learners:", Commands: []*cobra.Command{
			auto.Command(), contexts.Command(), obd.Command(), parameterfree.Command(), shards.Command(),
			streams.Command(),
		}},
	)
}

// simulate makes "noregret-lab simulate": "noregret simulate" with the drifting scenarios of the
// laboratory.
func simulate(a *command.App) *cobra.Command {
	c := play.NewSimulateCommand(a, rates.Specs()...)
	c.Example = "  noregret-lab simulate rates-abrupt --runs 20\n" +
		"  noregret-lab simulate rates-seasonal --runs 20 --plot seasonal.svg"
	return c
}
