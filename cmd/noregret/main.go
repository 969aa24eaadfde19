// Command noregret learns decisions from streams, with guarantees. Run "noregret --help" for the
// manual. The commands are in the packages below internal/cli; the tests here run the whole binary.
//
// The exit status is 0 for success, 1 for a failure, 2 for a usage error and 3 for bad input.
package main

import (
	"os"

	"github.com/noregret/noregret/internal/cli"
)

func main() { os.Exit(cli.Main()) }
