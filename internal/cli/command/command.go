package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// Options are the flags of a command and what it does with them. Every command has one file, named
// after it: newNameCommand describes the command, nameOptions implements Options, and a test beside
// it checks what Validate refuses. A command without flags is a [Func].
type Options interface {
	// AddFlags declares the flags. The fields' values are the defaults.
	AddFlags(f *pflag.FlagSet)
	// Validate checks what the flag parser cannot. It runs before anything is read or written.
	Validate() error
	// Run does the work. Results go to a.Stdout, everything else to a.Stderr.
	Run(ctx context.Context, a *App, args []string) error
}

// New completes the description of a command with its options.
func New(a *App, cmd *cobra.Command, o Options) *cobra.Command {
	o.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := Validate(o); err != nil {
			return err
		}
		return o.Run(cmd.Context(), a, args)
	}
	return cmd
}

// Validate checks options, after it has given them the values that are not on the command line.
func Validate(o Options) error {
	c, ok := o.(Configured)
	if !ok {
		return o.Validate()
	}
	if err := c.Configure(); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return c.Locate(err)
	}
	return nil
}

// Configured is implemented by options that take values from elsewhere than the command line.
type Configured interface {
	// Configure sets the flags that are not on the command line. It runs before Validate.
	Configure() error
	// Locate gives an error of Validate the place of the value that it is about.
	Locate(err error) error
}

// NewParent completes the description of a command that only has commands below it.
func NewParent(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args = UnknownBelow
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flag("data") != nil {
		return noregret.Errorf(noregret.Usage, "",
			"%s takes no arguments, got %q: the flag --data names the data directory", cmd.Name(), args[0])
	}
	return noregret.Errorf(noregret.Usage, "", "%s takes no arguments, got %q", cmd.Name(), args[0])
}

// Args refuses another number of arguments. What says what they are, as in "one file".
func Args(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return noregret.Errorf(noregret.Usage, "", "%s takes %s, got %d arguments", cmd.Name(), what, len(args))
	}
}

// UnknownBelow returns an error for an argument where a subcommand is expected.
func UnknownBelow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "", "unknown command %q for %q%s", args[0], cmd.CommandPath(),
		suggestion(args[0], below(cmd)))
}

// below returns the names of the commands below one.
func below(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// Output is the flag --json of commands that only print something.
type Output struct{ JSON bool }

// AddFlags implements [Options].
func (o *Output) AddFlags(f *pflag.FlagSet) { f.BoolVar(&o.JSON, "json", o.JSON, "print JSON") }

// Validate implements [Options].
func (o *Output) Validate() error { return nil }

// Func is the [Options] of a command without flags.
type Func func(ctx context.Context, a *App, args []string) error

// AddFlags implements [Options].
func (Func) AddFlags(*pflag.FlagSet) {}

// Validate implements [Options].
func (Func) Validate() error { return nil }

// Run implements [Options].
func (run Func) Run(ctx context.Context, a *App, args []string) error { return run(ctx, a, args) }

// OutOfRange returns the usage error for a flag's value.
func OutOfRange(flag string, value any, want string) error {
	if d, ok := value.(time.Duration); ok {
		value = policy.Duration(d)
	}
	return noregret.Errorf(noregret.Usage, flag, "%v is out of range, want %s", fmt.Sprint(value), want)
}

// Require marks flags as required.
func Require(cmd *cobra.Command, flags ...string) {
	for _, f := range flags {
		if err := cmd.MarkFlagRequired(f); err != nil {
			panic(err) // a flag that does not exist: a mistake in this program
		}
	}
}

// Flagged adds the flag to a usage error of a simulation about an option, whose place is the
// option.
func Flagged(err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok || e.Code != noregret.Usage || e.Place == "" || e.Place == "scenario" || strings.HasPrefix(e.Place, "--") {
		return err
	}
	flag, _, _ := strings.Cut(e.Place, "[")
	if flag == "checkpoints" {
		flag = "at"
	}
	return noregret.Errorf(noregret.Usage, "--"+flag, "%s", e.Message)
}
