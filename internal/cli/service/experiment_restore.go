package service

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
)

// newRestoreExperimentCommand makes "noregret experiment restore".
func newRestoreExperimentCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "restore NAME",
		Short: "Bring back an experiment that was deleted",
		Long: `Bring back an experiment that was deleted, within the grace time of its deletion: with its
definition, its state, its counts and its policy. Feedback for its earlier decisions counts again,
as long as their windows are open: the time has gone on. "noregret experiment list --deleted" shows
what can be restored, and until when.`,
		Example: `  noregret experiment restore ranking --reason "deleted by mistake"`,
		Args:    oneName,
	}, &changeOptions{remote: r, change: "restore"})
}
