package main

import (
	"context"
	_ "embed"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exampleDefinition is what "noregret experiment example" prints.
//
//go:embed testdata/toy.yaml
var exampleDefinition []byte

// exampleOptions are the options of "noregret experiment example", which has no flags.
type exampleOptions struct{}

// newExampleCommand makes "noregret experiment example".
func newExampleCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "example",
		Short: "Print a definition to begin with",
		Long: `Print the definition of an experiment with three arms, a goal and a guardrail, with comments, to
begin with. It needs no service.`,
		Example: `  noregret experiment example > toy.yaml
  noregret experiment apply toy.yaml`,
		Args: noArgs,
	}, exampleOptions{})
}

// AddFlags implements options.
func (exampleOptions) AddFlags(*pflag.FlagSet) {}

// Validate implements options.
func (exampleOptions) Validate() error { return nil }

// Run implements options.
func (exampleOptions) Run(_ context.Context, a *app, _ []string) error {
	_, err := a.stdout.Write(exampleDefinition)
	return err
}
