package service

import (
	"context"

	"github.com/noregret/noregret/internal/cli/command"

	_ "embed"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exampleDefinition is what "noregret experiment example" prints.
//
//go:embed toy.yaml
var exampleDefinition []byte

// exampleOptions are the options of "noregret experiment example", which has no flags.
type exampleOptions struct{}

// newExampleCommand makes "noregret experiment example".
func newExampleCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "example",
		Short: "Print a definition to begin with",
		Long: `Print the definition of an experiment with three arms, a goal and a guardrail, with comments, to
begin with. It needs no service.`,
		Example: `  noregret experiment example > toy.yaml
  noregret experiment apply toy.yaml`,
		Args: command.NoArgs,
	}, exampleOptions{})
}

// AddFlags implements [command.Options].
func (exampleOptions) AddFlags(*pflag.FlagSet) {}

// Validate implements [command.Options].
func (exampleOptions) Validate() error { return nil }

// Run implements [command.Options].
func (exampleOptions) Run(_ context.Context, a *command.App, _ []string) error {
	_, err := a.Stdout.Write(exampleDefinition)
	return err
}
