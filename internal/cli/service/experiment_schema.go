package service

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/cli/command"
)

// newSchemaCommand makes "noregret experiment schema".
func newSchemaCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of definitions",
		Long:    "Print the JSON Schema (draft 2020-12) of definitions, for editors and checks.",
		Example: "  noregret experiment schema > definition.schema.json",
		Args:    command.NoArgs,
	}, command.Func(func(_ context.Context, a *command.App, _ []string) error {
		_, err := a.Stdout.Write(definition.Schema)
		return err
	}))
}
