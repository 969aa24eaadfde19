package service

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// Commands returns the commands of this package.
func Commands(a *command.App) []*cobra.Command { return commandsWith(a, nil) }

// commandsWith is Commands with a service whose clock a test sets.
func commandsWith(a *command.App, clock func(c *server.Config)) []*cobra.Command {
	return []*cobra.Command{
		newServeCommand(a, clock), newExperimentCommand(a), newLogCommand(a), newAlertsCommand(a), newAuditCommand(a),
		newBackupCommand(a), newRestoreCommand(a), newEdgeCommand(a),
	}
}
