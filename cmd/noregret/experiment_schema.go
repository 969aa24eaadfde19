package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/experiment/definition"
)

// schemaOptions are the options of "noregret experiment schema", which has no flags.
type schemaOptions struct{}

// newSchemaCommand makes "noregret experiment schema".
func newSchemaCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of definitions",
		Long:    "Print the JSON Schema (draft 2020-12) of definitions, for editors and checks.",
		Example: "  noregret experiment schema > definition.schema.json",
		Args:    noArgs,
	}, schemaOptions{})
}

// AddFlags implements options.
func (schemaOptions) AddFlags(*pflag.FlagSet) {}

// Validate implements options.
func (schemaOptions) Validate() error { return nil }

// Run implements options.
func (schemaOptions) Run(_ context.Context, a *app, _ []string) error {
	_, err := a.stdout.Write(definition.Schema)
	return err
}
