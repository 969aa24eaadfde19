package reproduce

import "github.com/noregret/noregret/internal/cli/clitest"

// cmds runs the commands of this package in tests.
var cmds = clitest.Commands(Commands)
