package demo

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

// cmds runs the command of this package in tests.
var cmds = clitest.Commands(func(a *command.App) []*cobra.Command { return []*cobra.Command{NewCommand(a)} })

func TestMain(m *testing.M) { clitest.Main(m, nil) }
