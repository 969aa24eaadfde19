// Command noregret learns decisions from streams, with guarantees.
//
// Each subcommand has one file, in the form that command.go describes. root.go has what they share:
// the streams, the common flags, and the mapping of errors to exit statuses. Run "noregret --help"
// for the manual.
//
// The exit status is 0 for success, 1 for a failure, 2 for a usage error and 3 for bad
// input.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(mainStatus())
}

// mainStatus runs the command on the process's own streams. SIGINT and SIGTERM
// cancel the run, which then cleans up; a second signal ends the process at once.
func mainStatus() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
