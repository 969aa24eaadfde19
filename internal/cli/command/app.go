package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/internal/progress"
)

// App is one call of the command: its streams, and the flags that all commands have.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Asks reports whether somebody can answer a question. Run sets it; tests set it themselves.
	Asks func() bool

	progressMode string // of --progress: auto, plain or quiet
	running      bool   // a command's own code has begun; earlier errors are usage errors
}

// Main runs a tree of commands on the process's own arguments and streams, and returns the exit
// status. SIGINT and SIGTERM cancel the run, which then cleans up; a second signal ends the process
// at once.
func Main(tree func(a *App) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Run(ctx, tree, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Run runs a tree of commands with args (without the program's name) on the given streams and
// returns the exit status. It neither reads nor changes global state.
func Run(ctx context.Context, tree func(a *App) *cobra.Command, args []string, stdin io.Reader,
	stdout, stderr io.Writer,
) int {
	a := &App{Stdin: stdin, Stdout: stdout, Stderr: stderr}
	a.Asks = a.onTerminal
	return a.execute(ctx, tree(a), args)
}

// execute runs a tree of commands and prints its error, if any.
func (a *App) execute(ctx context.Context, root *cobra.Command, args []string) int {
	if args == nil {
		args = []string{} // cobra takes os.Args for nil
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	err = a.explain(ctx, cmd, err)
	fmt.Fprintf(a.Stderr, "%s: %s\n", root.Name(), legible.Lines(err.Error()))
	return noregret.CodeOf(err).ExitStatus()
}

// explain completes an error: one of the flag parser gets its code and the place of the manual,
// that of an interrupted run one word.
func (a *App) explain(ctx context.Context, cmd *cobra.Command, err error) error {
	if !a.running {
		err = missingFlag(cmd, err)
	}
	if _, coded := errors.AsType[*noregret.Error](err); !coded && !a.running {
		err = noregret.Errorf(noregret.Usage, "", "%w", err)
	}
	switch {
	case !a.running && noregret.CodeOf(err) == noregret.Usage:
		return noregret.Errorf(noregret.Usage, "", "%w (see %q)", err, cmd.CommandPath()+" --help")
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return noregret.Errorf(noregret.Internal, "", "interrupted")
	}
	return hint(cmd, err)
}

// Progress makes the progress reporter that --progress asks for. It writes to standard error.
func (a *App) Progress() (*progress.Reporter, error) { return a.ProgressOf("examples") }

// ProgressOf is Progress for another unit.
func (a *App) ProgressOf(unit string) (*progress.Reporter, error) {
	return progress.New(a.Stderr, progress.Options{Mode: progress.Mode(a.progressMode), Unit: unit})
}

// ProgressOfLong is ProgressOf for commands that take minutes or hours: off a terminal they print
// the table unless --progress is quiet.
func (a *App) ProgressOfLong(unit string) (*progress.Reporter, error) {
	return progress.New(a.Stderr, progress.Options{Mode: progress.Mode(a.progressMode), Unit: unit, Long: true})
}

// ReadFile reads a file, or standard input for "-".
func (a *App) ReadFile(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(a.Stdin, 2<<20))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, file, "the file cannot be read: %w", err)
	}
	return b, nil
}

// onTerminal reports whether somebody can answer a question.
func (a *App) onTerminal() bool {
	f, file := a.Stdin.(*os.File)
	return file && term.IsTerminal(int(f.Fd()))
}

// Note prints a sentence on standard error.
func (a *App) Note(format string, args ...any) {
	fmt.Fprintf(a.Stderr, "noregret: %s\n", legible.Lines(fmt.Sprintf(format, args...)))
}

// Input returns standard input as a stream whose reads end with ctx.
func (a *App) Input(ctx context.Context) io.Reader { return newCancelReader(ctx, a.Stdin) }
