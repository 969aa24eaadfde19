package reproduce

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

// cmds runs the commands of this package in tests.
var cmds = clitest.Commands(func(*command.App) []*cobra.Command { return Commands() })
