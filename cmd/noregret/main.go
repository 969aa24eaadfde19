// Command noregret learns decisions from streams, with guarantees.
//
// Every subcommand is made in a file of its own by a function newXCommand(app); root.go
// holds what they share: the streams, the flags common to all, the mapping of errors to
// exit statuses. Run "noregret --help" for the manual.
//
// The exit status is 0 for success, 1 for a failure, 2 for a call that cannot be meant and 3
// for bad input.
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
