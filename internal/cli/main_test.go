package cli

import "github.com/noregret/noregret/internal/cli/clitest"

// cmds runs the whole command in tests.
var cmds = clitest.Tree(Root)
