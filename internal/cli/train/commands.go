package train

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
)

// Commands returns the commands of this package, except the demonstration.
func Commands(a *command.App) []*cobra.Command { return commandsOn(a, newPrivateFiles()) }

// commandsOn is Commands with the files of private trainings, which tests replace.
func commandsOn(a *command.App, files privateFiles) []*cobra.Command {
	return []*cobra.Command{
		newTrainCommand(a, files), newMergeCommand(a), newEvaluateCommand(a), newPredictCommand(a),
		newInspectCommand(a), newExportCommand(a),
		newCompareCommand(a), newCacheCommand(a), newGenerateCommand(a), newAlgorithmsCommand(a),
		newMeasuresCommand(a),
	}
}
