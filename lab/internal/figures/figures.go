// Package figures draws the pictures of scenarios and bandits in lab/docs. It runs the commands
// noregret simulate and noregret play, as a reader of the pages can.
package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/play"
	"github.com/noregret/noregret/lab/internal/study"
)

// figure is a picture and the command that draws it, without the flags of all pictures. RUNS stands
// for the number of runs.
type figure struct{ file, command string }

// Commands returns the commands "noregret-lab figures" and "noregret-lab bandits".
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newCommand(&cobra.Command{
			Use:   "figures [FILE]...",
			Short: "Draw figures 3 and 4 of the paper on mixtures, and the drifting scenarios",
			Long: `Draw the paper's figures 3 and 4 and the drifting scenarios of lab/docs/pasto.md, each with
"noregret simulate", whose table goes into a file .txt beside the picture. The files go into
dist/pasto below the current directory, which is made; --dir names another one. All take some 15
minutes on two cores; --runs 50 is a quick look.`,
			Example: "  noregret-lab figures\n  noregret-lab figures figure3-sd5.png --runs 50",
		}, "dist/pasto", mixtures()),
		newCommand(&cobra.Command{
			Use:   "bandits [FILE]...",
			Short: "Play all bandit algorithms on two and ten arms and against an adversary",
			Long: `Draw the pictures of lab/docs/bandits.md, each with "noregret play", whose table goes into a file .txt
beside the picture. The files go into dist/bandits below the current directory, which is made; --dir
names another one. All take some 15 minutes on two cores; --runs 50 is a quick look.`,
			Example: "  noregret-lab bandits\n  noregret-lab bandits two-stochastic.svg --runs 50",
		}, "dist/bandits", bandits()),
	}
}

// mixtures are the pictures of lab/docs/pasto.md.
func mixtures() (all []figure) {
	const a = "simulate a --algorithm %s --noise %s --points 10 --runs RUNS"
	const b = "simulate b --algorithm default,paper --noise %s --points 10 --runs RUNS"
	noises := [][2]string{{"sd5", "5"}, {"variance5", "2.23606797749979"}}
	for _, noise := range noises {
		all = append(all, figure{
			"figure3-" + noise[0] + ".png", fmt.Sprintf(a, "default,paper,s-scgd", noise[1]),
		})
	}
	for _, start := range []string{"0.02", "0.98"} {
		for _, noise := range noises {
			all = append(all, figure{
				"figure3-start" + start + "-" + noise[0] + ".png",
				fmt.Sprintf(a, "paper,s-scgd", noise[1]) + " --start " + start,
			})
		}
	}
	for _, noise := range []string{"0.1", "0.5", "1", "5"} {
		all = append(all, figure{"figure4-" + noise + ".png", fmt.Sprintf(b, noise)})
	}
	for _, name := range []string{"a-drift", "a-swap", "b-drift"} {
		all = append(all, figure{name + ".png", "simulate " + name + " --points 50"})
	}
	return all
}

// bandits are the pictures of lab/docs/bandits.md.
func bandits() (all []figure) {
	for _, game := range [][2]string{
		{"two", "bernoulli --means 0.5,0.6"},
		{"ten", "bernoulli --means 0.4,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5"},
		{"shifting", "shifting:gap=0.1 --dim 10"},
	} {
		for _, group := range [][2]string{
			{"adversarial", "exploring,exp3,exp3-anytime,exp3-ix,inf,tsallis-inf,tsallis-inf:reduced=1"},
			{"stochastic", "ucb,kl-ucb,thompson,thompson-gaussian,etc,elimination"},
		} {
			all = append(all, figure{
				game[0] + "-" + group[0] + ".svg",
				"play --learner " + group[1] + " --game " + game[1] + " --rounds 100000 --runs RUNS",
			})
		}
	}
	return all
}

// newCommand makes a command that draws pictures, or those that its arguments name.
func newCommand(c *cobra.Command, dir string, all []figure) *cobra.Command {
	for _, f := range all {
		c.ValidArgs = append(c.ValidArgs, f.file)
	}
	c.Args = func(_ *cobra.Command, args []string) error {
		for _, name := range args {
			if !slices.Contains(c.ValidArgs, name) {
				return noregret.Errorf(noregret.Usage, "", "no picture is named %q; there are %s", name,
					strings.Join(c.ValidArgs, ", "))
			}
		}
		return nil
	}
	runs := c.Flags().Int("runs", 1000, "number of runs; the drifting scenarios have a number of their own")
	c.Flags().StringVar(&dir, "dir", dir, "directory for the pictures")
	return study.New(c, "pictures", func(ctx context.Context, r *study.Runner) (*study.Report, error) {
		if *runs < 1 {
			return nil, command.OutOfRange("--runs", *runs, "at least 1")
		}
		args := c.Flags().Args()
		chosen := slices.DeleteFunc(slices.Clone(all), func(f figure) bool {
			return len(args) > 0 && !slices.Contains(args, f.file)
		})
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		r.Expect(len(chosen))
		t := study.Table{Title: "Pictures in " + dir, Columns: []string{"file", "command"}}
		for _, f := range chosen {
			line := strings.ReplaceAll(f.command, "RUNS", strconv.Itoa(*runs))
			if err := draw(ctx, line, filepath.Join(dir, f.file), r.Workers); err != nil {
				return &study.Report{Tables: []study.Table{t}}, fmt.Errorf("%s: %w", f.file, err)
			}
			t.Add(f.file, "`noregret "+line+" --plot "+f.file+"`")
			r.Step()
		}
		return &study.Report{Tables: []study.Table{t}}, nil
	})
}

// draw runs a command of noregret that draws a picture, and writes its table beside it.
func draw(ctx context.Context, line, picture string, workers int) error {
	tree := func(a *command.App) *cobra.Command {
		return command.NewRoot(a, &cobra.Command{Use: "noregret"},
			command.Group{Commands: append(play.Commands(a), play.NewSimulateCommand(a))})
	}
	var out, failure bytes.Buffer
	args := append(strings.Fields(line), "--plot", picture, "--workers", strconv.Itoa(workers), "--progress", "quiet")
	if command.Run(ctx, tree, args, strings.NewReader(""), &out, &failure) != 0 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.New(strings.TrimSpace(failure.String()))
	}
	return os.WriteFile(strings.TrimSuffix(picture, filepath.Ext(picture))+".txt", out.Bytes(), 0o666)
}
