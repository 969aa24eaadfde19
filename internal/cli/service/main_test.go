package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// cmds runs the commands of this package in tests.
var cmds = clitest.Commands(Commands)

// programs are those that the test binary is under other names.
var programs = map[string]func(){}

func TestMain(m *testing.M) { clitest.Main(m, programs) }
