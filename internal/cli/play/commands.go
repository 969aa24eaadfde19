package play

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
)

// Commands returns the commands of online learning.
func Commands(a *command.App) []*cobra.Command {
	return append([]*cobra.Command{newPlayCommand(a), newLearnersCommand(a), newGamesCommand(a)},
		movedCommands("papers")...)
}
