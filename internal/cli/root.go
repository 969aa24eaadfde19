package cli

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/demo"
	"github.com/noregret/noregret/internal/cli/play"
	"github.com/noregret/noregret/internal/cli/policy"
	"github.com/noregret/noregret/internal/cli/privacy"
	"github.com/noregret/noregret/internal/cli/service"
	"github.com/noregret/noregret/internal/cli/train"
)

// Main runs noregret on the process's own arguments and streams, and returns the exit status.
func Main() int { return command.Main(Root) }

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

// Root builds the tree of commands. A new command is added to its group here, or to the commands of
// its package.
func Root(a *command.App) *cobra.Command {
	doctor := policy.NewDoctorCommand(a)
	doctor.AddCommand(train.NewDoctorDataCommand(a))
	return command.NewRoot(a, &cobra.Command{
		Use:     "noregret",
		Short:   "Learn decisions from streams, with guarantees",
		Long:    rootLong,
		Example: rootExample,
	},
		command.Group{ID: "service", Title: "The decision service:", Commands: append(service.Commands(a),
			demo.NewCommand(a, train.NewDemoCommand(a)), policy.NewPlanCommand(a), privacy.NewCommand(a))},
		command.Group{ID: "offline", Title: "Policies without a service:", Commands: []*cobra.Command{
			policy.NewEvaluatePolicyCommand(a), doctor, play.NewSimulateCommand(a),
		}},
		command.Group{ID: "classifiers", Title: "Classifiers:", Commands: append(train.Commands(a),
			service.NewScoreCommand(a))},
		command.Group{ID: "learners", Title: "Online learning:", Commands: play.Commands(a)},
		command.Group{Commands: []*cobra.Command{newVersionCommand(a)}},
	)
}
