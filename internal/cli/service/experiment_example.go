package service

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/examples"
	"github.com/noregret/noregret/internal/named"
)

// newExampleCommand makes "noregret experiment example".
func newExampleCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "example [NAME]",
		Short: "Print a definition to begin with",
		Long: `Print the definition of an experiment, with comments, to begin with. It needs no service.

  ranking     a mixture of three weights: clicks, with guardrails on revenue and complaints
  price       a number to choose from an interval
  banner      one of a few arms is to win: a bandit
  contextual  each unit gets the arm that suits it: a contextual bandit
  ab          an A/B test with a fixed split
  private     a mixture, with differential privacy for what users report

Without a name it is the smallest one: three arms, a goal and a guardrail.`,
		Example: `  noregret experiment example ranking > ranking.yaml
  noregret plan ranking.yaml
  noregret experiment apply ranking.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noregret.Errorf(noregret.Usage, "", "example takes one name at most, got %d", len(args))
			}
			return nil
		},
	}, command.Func(printExample))
}

// printExample prints the example of a name, or the smallest one.
func printExample(_ context.Context, a *command.App, args []string) error {
	name := examples.Toy
	if len(args) == 1 {
		name = args[0]
	}
	text, ok := examples.Get(name)
	if !ok {
		return noregret.Errorf(noregret.Usage, "", "no example %q: %swant one of %s", name,
			named.DidYouMean(name, examples.Names), strings.Join(examples.Names, ", "))
	}
	_, err := a.Stdout.Write(text)
	return err
}
