// Package reproduce has the commands that measure what papers state, beside the published numbers:
// drift (restarts in a world that changes), private and private-bandit (private learners),
// private-pasto (what privacy costs an experiment), papers and "reproduce classify" (SPADE and
// STAMP). The measurements are those of packages papers, privacy and noisysums; here are flags,
// tables and pictures.
package reproduce

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
)

// Commands returns the commands.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newDriftCommand(), newPrivateCommand(), newPrivateBanditCommand(), newPrivatePastoCommand(),
		newPapersCommand(),
		command.NewParent(&cobra.Command{
			Use:     "reproduce",
			Short:   "Figures of papers",
			Long:    "Measure figures of papers on real data and say which of the papers' claims hold.",
			Example: "  noregret-lab reproduce classify --data DIR",
		}, newClassifyCommand()),
	}
}
