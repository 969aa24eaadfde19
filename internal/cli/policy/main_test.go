package policy

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

// cmds runs the commands of this package in tests.
var cmds = clitest.Commands(func(a *command.App) []*cobra.Command {
	return []*cobra.Command{NewEvaluatePolicyCommand(a), NewDoctorCommand(a), NewPlanCommand(a)}
})
