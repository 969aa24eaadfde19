// Package command is what every command of noregret is made of and runs in. It knows no command.
//
// A command is a description for cobra and a type that implements [Options]: AddFlags declares the
// flags, Validate checks what the flag parser cannot, before anything is read or written, and Run
// does the work. [New] joins both:
//
//	type planOptions struct {
//		command.Output // the flag --json
//		runs int
//	}
//
//	func NewPlanCommand(a *command.App) *cobra.Command {
//		return command.New(a, &cobra.Command{Use: "plan FILE"}, &planOptions{runs: 20})
//	}
//
// [App] is one call of the command: its streams, its progress reporter and its notes. [NewRoot]
// joins commands to a tree; [Run] runs one on given streams, without global state, and [Main] on
// those of the process. They print the error of a command with a hint at what to do next, and map
// its code to the exit status: 0 for success, 1 for a failure, 2 for a usage error and 3 for bad
// input.
package command
