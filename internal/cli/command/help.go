package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ShortHelp makes the help of a command with many flags show only those with the given names, and
// adds --help-all, which shows all. What the other flags do does not change.
func ShortHelp(cmd *cobra.Command, names ...string) {
	flags, all := cmd.Flags(), false
	flags.BoolFunc("help-all", "help for "+cmd.Name()+" with all its flags", func(string) error {
		all = true
		return flags.Set("help", "true") // cobra has declared it before it reads the command line
	})
	names = append(names, "help", "help-all")
	show := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var hidden []*pflag.Flag
		flags.VisitAll(func(f *pflag.Flag) {
			if !all && !f.Hidden && !slices.Contains(names, f.Name) {
				f.Hidden, hidden = true, append(hidden, f)
			}
		})
		show(cmd, args)
		for _, f := range hidden {
			f.Hidden = false
		}
	})
}
