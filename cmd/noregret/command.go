package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
)

// options are the flags of a command and what it does with them. Every command has one file,
// named after it: newNameCommand describes the command, nameOptions implements options, and a
// test beside it checks what Validate refuses.
type options interface {
	// AddFlags declares the flags. The fields' values are the defaults.
	AddFlags(f *pflag.FlagSet)
	// Validate checks what the flag parser cannot. It runs before anything is read or written.
	Validate() error
	// Run does the work. Results go to a.stdout, everything else to a.stderr.
	Run(ctx context.Context, a *app, args []string) error
}

// newCommand completes the description of a command with its options.
func newCommand(a *app, cmd *cobra.Command, o options) *cobra.Command {
	o.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := validate(o); err != nil {
			return err
		}
		return o.Run(cmd.Context(), a, args)
	}
	return cmd
}

// validate checks options, after it has given them the values that are not on the command line.
func validate(o options) error {
	c, ok := o.(configured)
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

// newParent completes the description of a command that only has commands below it.
func newParent(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args = unknownBelow
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flag("data") != nil {
		return noregret.Errorf(noregret.Usage, "",
			"%s takes no arguments, got %q: the flag --data names the data directory", cmd.Name(), args[0])
	}
	return noregret.Errorf(noregret.Usage, "", "%s takes no arguments, got %q", cmd.Name(), args[0])
}

// oneName requires the name of one experiment.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "", "%s takes the name of one experiment, got %d arguments", cmd.Name(),
		len(args))
}

// unknownBelow returns an error for an argument where a subcommand is expected.
func unknownBelow(cmd *cobra.Command, args []string) error {
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

// outputOptions are the flag --json of commands that only print something.
type outputOptions struct{ json bool }

// AddFlags implements options.
func (o *outputOptions) AddFlags(f *pflag.FlagSet) { f.BoolVar(&o.json, "json", o.json, "print JSON") }

// Validate implements options.
func (o *outputOptions) Validate() error { return nil }
