package command

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/progress"
)

// Group is a group of commands in the help of the root. Commands without an ID are in no group.
type Group struct {
	ID, Title string
	Commands  []*cobra.Command
}

// NewRoot completes the description of a root: it gives it the streams of a, --progress, and the
// commands of the groups, which the help shows in this order. A root without RunE shows its help.
func NewRoot(a *App, root *cobra.Command, groups ...Group) *cobra.Command {
	root.Args = refuseUnknown
	if root.RunE == nil {
		root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	a.progressMode = string(progress.Auto)
	root.PersistentFlags().Var(
		NewChoice(&a.progressMode, string(progress.Auto), string(progress.Plain), string(progress.Quiet)),
		"progress", "progress on standard error: auto (a line on a terminal; elsewhere a table in long "+
			"simulations only), plain (a table) or quiet")
	for _, g := range groups {
		if g.ID != "" {
			root.AddGroup(&cobra.Group{ID: g.ID, Title: g.Title})
		}
		for _, cmd := range g.Commands {
			cmd.GroupID = g.ID
		}
		root.AddCommand(g.Commands...)
	}
	root.SetHelpCommand(newHelpCommand(a))
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		// As cobra makes it, an unknown shell shows the help with status 0.
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	markRunning(a, root)
	return root
}

// markRunning makes every command below cmd record that its own code has begun.
func markRunning(a *App, cmd *cobra.Command) {
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.running = true
			return inner(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		markRunning(a, sub)
	}
}

// refuseUnknown checks the root's arguments: an argument there is an unknown command.
func refuseUnknown(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "", "unknown command %q%s", args[0], suggestion(args[0], below(root)))
}

// newHelpCommand replaces cobra's help command, which exits with status 0 for an unknown command.
func newHelpCommand(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the manual of a command",
		Long:    "Show the manual of noregret or of one of its commands, on standard output.",
		Example: "  noregret help generate",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				a.running = false
				return refuseUnknown(cmd.Root(), args)
			}
			target.InitDefaultHelpFlag() // as for --help
			return target.Help()
		},
	}
	// cobra adds the help command when it executes, after markRunning has walked the tree.
	markRunning(a, cmd)
	return cmd
}
