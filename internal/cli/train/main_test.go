package train

import (
	"os"
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

// cmds runs the commands of this package in tests.
var cmds = clitest.Commands(Commands, func(a *command.App) []*cobra.Command {
	return []*cobra.Command{NewDemoCommand(a)}
})

func TestMain(m *testing.M) {
	clitest.Main(m, map[string]func(){
		"noregret": func() { os.Exit(command.Main(cmds)) },
		mortal:     func() { os.Exit(mortalStatus()) },
	})
}

// on runs the commands of this package on other files of private trainings.
func on(files privateFiles) clitest.Tree {
	return clitest.Commands(func(a *command.App) []*cobra.Command { return commandsOn(a, files) })
}
