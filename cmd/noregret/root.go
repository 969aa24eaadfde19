package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/progress"
	"github.com/noregret/noregret/server"
)

const rootLong = `noregret learns decisions from streams, with guarantees.

It runs a decision service that learns mixtures of arms under guardrails (serve, experiment). It
trains linear classifiers for measures that matter when positives are rare (F1, G-mean, Q-mean,
...), one example at a time, from data larger than memory (train, predict). It compares learners
of online convex optimization with the bounds of their theorems (play).

Results go to standard output; errors and progress go to standard error. The same seed and the
same input give the same result on every machine.

Exit status:
  0  success
  1  failure: the disk is full, the run was interrupted, a learner diverged
  2  usage error: an unknown command or flag, a value out of range
  3  bad input: data that breaks a stated rule, a missing file`

const rootExample = `  # The decision service with simulated users, in some seconds
  noregret demo

  # The decision service, and an experiment to begin with; http://127.0.0.1:8430 shows it
  noregret serve --data data &
  noregret experiment example > toy.yaml
  noregret experiment apply toy.yaml

  # Classifiers on synthetic data with rare positives
  noregret demo classifier

  # Make data with rare positives, train for F1, measure on other data
  noregret generate g1 --rows 20000 --seed 1001 --output train.svm
  noregret generate g1 --rows 20000 --seed 1003 --output test.svm
  noregret train --measure f1 --model f1.json train.svm
  noregret evaluate --model f1.json test.svm

  # The manual of a command
  noregret train --help`

// app holds what the commands share: the streams and the common flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	progressMode string // of --progress: auto, plain or quiet

	private privateFiles
	// asks reports whether somebody can answer a question; tests set it.
	asks func() bool
	// clock sets the service's clock, nil for the machine's. Tests set it.
	clock func(c *server.Config)

	running bool // a command's own code has begun; earlier errors are usage errors
}

// progress makes the progress reporter that --progress asks for. It writes to standard error.
func (a *app) progress() (*progress.Reporter, error) { return a.progressOf("examples") }

// progressOf is progress for another unit.
func (a *app) progressOf(unit string) (*progress.Reporter, error) {
	return progress.New(a.stderr, progress.Options{Mode: progress.Mode(a.progressMode), Unit: unit})
}

// progressOfLong is progressOf for commands that take minutes or hours: off a terminal they print
// the table unless --progress is quiet.
func (a *app) progressOfLong(unit string) (*progress.Reporter, error) {
	return progress.New(a.stderr, progress.Options{Mode: progress.Mode(a.progressMode), Unit: unit, Long: true})
}

// run runs the command with args (without the program's name) on the given streams and returns the
// exit status. It neither reads nor changes global state.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, private: newPrivateFiles()}
	a.asks = a.onTerminal
	return a.execute(ctx, newRootCommand(a), args)
}

// execute runs a tree of commands and prints its error, if any.
func (a *app) execute(ctx context.Context, root *cobra.Command, args []string) int {
	if args == nil {
		args = []string{} // cobra takes os.Args for nil
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	err = a.explain(ctx, cmd, err)
	fmt.Fprintf(a.stderr, "noregret: %s\n", legible.Lines(err.Error()))
	return noregret.CodeOf(err).ExitStatus()
}

// explain completes an error: one of the flag parser gets its code and the place of the manual,
// that of an interrupted run one word.
func (a *app) explain(ctx context.Context, cmd *cobra.Command, err error) error {
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

// newRootCommand builds the tree of commands. A new command is added to its group here.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "noregret",
		Short:         "Learn decisions from streams, with guarantees",
		Long:          rootLong,
		Example:       rootExample,
		Args:          refuseUnknown,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	a.progressMode = string(progress.Auto)
	root.PersistentFlags().Var(
		newChoice(&a.progressMode, string(progress.Auto), string(progress.Plain), string(progress.Quiet)),
		"progress", "progress on standard error: auto (a line on a terminal; elsewhere a table in long "+
			"simulations only), plain (a table) or quiet")

	addGroup(root, "service", "The decision service:",
		newDemoCommand(a),
		newServeCommand(a),
		newExperimentCommand(a),
		newLogCommand(a),
		newAlertsCommand(a),
		newAuditCommand(a),
		newBackupCommand(a),
		newRestoreCommand(a),
		newPlanCommand(a),
		newPrivacyCommand(a),
	)
	addGroup(root, "offline", "Policies without a service:",
		newEvaluatePolicyCommand(a),
		newDoctorCommand(a),
		newSimulateCommand(a),
	)
	addGroup(root, "classifiers", "Classifiers:",
		newTrainCommand(a),
		newEvaluateCommand(a),
		newPredictCommand(a),
		newInspectCommand(a),
		newCompareCommand(a),
		newCacheCommand(a),
		newGenerateCommand(a),
		newAlgorithmsCommand(a),
		newMeasuresCommand(a),
	)
	addGroup(root, "learners", "Online learning:",
		newPlayCommand(a),
		newLearnersCommand(a),
		newGamesCommand(a),
		newPapersCommand(a),
	)
	root.AddCommand(newVersionCommand(a))
	root.SetHelpCommand(newHelpCommand(a))
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		// As cobra makes it, an unknown shell shows the help with status 0.
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	markRunning(a, root)
	return root
}

// addGroup adds commands to a group of the root's help, which shows the groups in the order in
// which they are added.
func addGroup(root *cobra.Command, id, title string, below ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, cmd := range below {
		cmd.GroupID = id
	}
	root.AddCommand(below...)
}

// plainFlagError replaces the message of packages strconv and time about a flag's value by a
// sentence.
func plainFlagError(message string) string {
	if head, _, found := strings.Cut(message, ": time: "); found {
		return head + ": want a length of time, such as 10s or 36h"
	}
	head, tail, found := strings.Cut(message, ": strconv.")
	if !found {
		return message
	}
	want := "want a number"
	switch {
	case strings.HasSuffix(tail, "value out of range"):
		want = "the number is out of range"
	case strings.HasPrefix(tail, "ParseUint"):
		want = "want a whole number, at least 0"
	case strings.HasPrefix(tail, "ParseInt"), strings.HasPrefix(tail, "Atoi"):
		want = "want a whole number"
	case strings.HasPrefix(tail, "ParseBool"):
		want = "want true or false"
	}
	return head + ": " + want
}

// markRunning makes every command below cmd record that its own code has begun.
func markRunning(a *app, cmd *cobra.Command) {
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
func newHelpCommand(a *app) *cobra.Command {
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

// choice is a flag whose value is one of a few words.
type choice struct {
	value   *string
	allowed []string
}

// newChoice returns a flag value that sets *value and allows only the given words. The default is
// the present value.
func newChoice(value *string, allowed ...string) *choice {
	return &choice{value: value, allowed: allowed}
}

// String implements pflag.Value.
func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("%swant %s", named.DidYouMean(s, c.allowed), strings.Join(c.allowed, " or "))
	}
	*c.value = s
	return nil
}

// Type implements pflag.Value; help shows it behind the flag's name.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }
