package main

import "github.com/spf13/cobra"

// newRestoreExperimentCommand makes "noregret experiment restore".
func newRestoreExperimentCommand(a *app, r *remote) *cobra.Command {
	return newCommand(a, &cobra.Command{
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
