package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/play"
	"github.com/noregret/noregret/regret"
)

// playOptions are the flags of "noregret play".
type playOptions struct {
	data         *dataFlags
	learners     []string
	game         string
	rounds, runs int
	dim          int
	seed         uint64
	plots        []string
	json         bool
}

const playLong = `Let learners of online convex optimization play a game, and hold their regret against the bound
of their theorem.

Every learner plays the same rounds, once for each seed from --seed on. The table has the
learner's loss, the loss of the best fixed point in hindsight, the regret between them, the
learner's bound on it and the part of the bound that was used; "tight" is the round at which
that part was largest. No fixed point has a loss lower than the best one's by more than "gap";
on unbounded sets, where linear losses have no best point, the game names the comparator. A bound
is missing only where the theory gives none. "floor" is the regret that no learner escapes, for the
lower bounds of the theory that promise one beforehand.

Learners and games take options after colons: ftrl-proximal:a=0.5:l1=0.1, linear-ball:radius=2.
"noregret learners" and "noregret games" list them. The games regression and classification
play the rows of DATA, in order and again from the start, and examples made from the seed
without.

With --json the output is a list of {learner, game, rounds, seed, learner_loss,
comparator_loss, regret, bound}, and more keys; bound is null where the theory gives none.`

// newPlayCommand makes "noregret play".
func newPlayCommand(a *app) *cobra.Command {
	o := playOptions{data: newDataFlags(), rounds: 1000, runs: 1, seed: 1}
	cmd := &cobra.Command{
		Use:   "play --learner NAME[,NAME...] --game GAME [DATA...]",
		Short: "Play learners against a game, regret beside bound",
		Long:  playLong,
		Example: `  noregret play --learner ogd-adaptive,ftrl --game linear-ball --rounds 10000 --seed 1

  # A lower bound of the theory, and a picture of regret against bound
  noregret play --learner adahedge,eg --game minimax-experts --rounds 500 --plot minimax.svg

  # Online least squares on a data file
  noregret play --learner vaw:lambda=0.1 --game regression --rounds 4000 abalone.csv`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.play(cmd.Context(), o, args) },
	}
	s := cmd.Flags()
	s.StringSliceVar(&o.learners, "learner", o.learners,
		`learners, as "name" or "name:option=value" (see "noregret learners")`)
	s.StringVar(&o.game, "game", o.game, `the game, as "name" or "name:option=value" (see "noregret games")`)
	s.IntVar(&o.rounds, "rounds", o.rounds, "number of rounds")
	s.Uint64Var(&o.seed, "seed", o.seed, "seed of the game; run r has seed S + r")
	s.IntVar(&o.runs, "runs", o.runs, "number of runs of each learner, with a seed each")
	s.IntVar(&o.dim, "dim", o.dim, "dimension of the game; 0 is the game's own")
	s.StringArrayVar(&o.plots, "plot", o.plots, "write a picture of regret against bound to this file, .svg or .png; "+
		"may be given more than once")
	s.BoolVar(&o.json, "json", o.json, "print a JSON list")
	o.data.register(cmd)
	o.data.registerPositive(cmd)
	return cmd
}

// playResult is one entry of the list that --json prints.
type playResult struct {
	Learner        string      `json:"learner"`
	Game           string      `json:"game"`
	Rounds         int         `json:"rounds"`
	Seed           uint64      `json:"seed"`
	LearnerLoss    number      `json:"learner_loss"`
	ComparatorLoss number      `json:"comparator_loss"`
	Regret         number      `json:"regret"`
	Bound          number      `json:"bound"`
	Ratio          number      `json:"ratio"`
	Gap            number      `json:"comparator_gap"`
	Floor          number      `json:"floor"`
	Holds          bool        `json:"holds"`
	Comparator     []float64   `json:"comparator,omitempty"`
	Curve          []playPoint `json:"curve"`
}

type playPoint struct {
	Round  int    `json:"round"`
	Loss   number `json:"loss"`
	Regret number `json:"regret"`
	Bound  number `json:"bound"`
}

// longestComparator is the largest dimension at which --json prints the comparator.
const longestComparator = 100

func (a *app) play(ctx context.Context, o playOptions, inputs []string) error {
	if len(o.learners) == 0 {
		return noregret.Errorf(noregret.Usage, "--learner", `want at least one; "noregret learners" lists them`)
	}
	if o.game == "" {
		return noregret.Errorf(noregret.Usage, "--game", `want a game; "noregret games" lists them`)
	}
	if err := checkPlots(o.plots, inputFiles(inputs)); err != nil {
		return err
	}
	opt := play.Options{
		Learners: o.learners, Game: o.game, Rounds: o.rounds, Seed: o.seed, Runs: o.runs, Dim: o.dim, Checkpoints: 60,
		Workers: o.data.workers,
	}
	if len(inputs) > 0 {
		spec, err := play.ParseSpec("--game", o.game)
		if err != nil {
			return err
		}
		game, err := regret.FindGame(spec.Name)
		if err != nil {
			return err
		}
		if opt.Examples, err = a.examples(ctx, o.data, game, inputs); err != nil {
			return err
		}
	}
	p, err := a.progressOf("rounds")
	if err != nil {
		return err
	}
	p.Start("play", int64(o.rounds)*int64(max(o.runs, 1))*int64(len(o.learners)))
	opt.Progress = func(rounds int64, learner string, meanLoss float64) {
		p.Rename("play " + learner)
		p.Metric("loss", meanLoss)
		p.Update(rounds)
	}
	results, err := play.Run(ctx, opt)
	p.Finish()
	if err != nil {
		return err
	}
	if o.json {
		err = writeJSON(a.stdout, playJSON(results))
	} else {
		err = a.writeResults(results)
	}
	for _, path := range o.plots { // the table is out by now: a disk that is full costs the pictures only
		err = errors.Join(err, plotResults(path, results))
	}
	for _, r := range results {
		if !r.Holds() {
			err = errors.Join(err, noregret.Errorf(noregret.Diverged, r.Learner,
				"its regret %v in %s with seed %d is above its bound %v: this is a mistake in noregret", r.Regret,
				r.Game, r.Seed, r.Bound))
		}
	}
	return err
}

func playJSON(results []play.Result) []playResult {
	list := make([]playResult, 0, len(results))
	for _, r := range results {
		e := playResult{
			Learner: r.Learner, Game: r.Game, Rounds: r.Rounds, Seed: r.Seed, LearnerLoss: number(r.LearnerLoss),
			ComparatorLoss: number(r.ComparatorLoss), Regret: number(r.Regret), Bound: number(r.Bound),
			Ratio: number(r.Ratio()),
			Gap:   number(r.Gap), Floor: number(r.Floor), Holds: r.Holds(), Curve: []playPoint{},
		}
		if len(r.Comparator) <= longestComparator {
			e.Comparator = r.Comparator
		}
		for _, p := range r.Curve {
			e.Curve = append(e.Curve, playPoint{p.Round, number(p.Loss), number(p.Regret), number(p.Bound)})
		}
		list = append(list, e)
	}
	return list
}

// writeResults prints the certificates.
func (a *app) writeResults(results []play.Result) error {
	first := results[0]
	fmt.Fprintf(a.stdout, "%s, %s\n\n", first.Game, count(first.Rounds, "round", "rounds"))
	floors := false
	for _, r := range results {
		floors = floors || !math.IsNaN(r.Floor)
	}
	g := grid{}
	head := []string{"learner", "seed", "loss", "best fixed", "gap", "regret", "bound", "used", "tight"}
	if floors {
		head = append(head, "floor")
	}
	g.add(head...)
	for _, r := range results {
		tight := "-"
		if p := r.Tightest(); p != nil {
			tight = strconv.Itoa(p.Round)
		}
		used := "-"
		if v := r.Ratio(); !math.IsNaN(v) {
			used = strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
		}
		row := []string{
			r.Learner, strconv.FormatUint(r.Seed, 10), short(r.LearnerLoss), short(r.ComparatorLoss), gapText(r.Gap),
			short(r.Regret),
			boundText(r.Bound), used, tight,
		}
		if floors {
			row = append(row, boundText(r.Floor))
		}
		g.add(row...)
	}
	return g.write(a.stdout)
}

func boundText(v float64) string {
	if v-v != 0 {
		return "-"
	}
	return short(v)
}

// gapText says how good the comparator is known to be; the game names it where there is no best
// point.
func gapText(v float64) string {
	switch {
	case v == 0:
		return "exact"
	case math.IsInf(v, 1):
		return "named"
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// mostExampleBytes bounds the memory of a data set as dense vectors.
const mostExampleBytes = 1 << 30

// examples reads a data set for a game: labels as numbers for regression, as ±1 for classification.
func (a *app) examples(ctx context.Context, f *dataFlags, game *regret.GameEntry,
	inputs []string,
) (list []regret.Example, err error) {
	if game.TakesExamples == "" {
		return nil, noregret.Errorf(noregret.Usage, "--game", "%s plays no data: regression and classification do",
			game.Name)
	}
	var set *dataset.Set
	positive := -1
	if game.TakesExamples == "classification" {
		s, data, err := f.load(ctx, a, inputs)
		if err != nil {
			return nil, err
		}
		set, positive = s, data.Positive
	} else {
		if f.positive != "" {
			return nil, noregret.Errorf(noregret.Usage, "--positive", "%q: %s takes labels as numbers", f.positive,
				game.Name)
		}
		if set, err = f.loadSet(ctx, a, inputs, nil); err != nil {
			return nil, err
		}
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	info := set.Info()
	if info.Weighted {
		return nil, noregret.Errorf(noregret.Usage, strings.Join(inputs, ", "),
			"the examples have weights, which games do not use; leave the column or key out (--ignore-columns)")
	}
	if info.Rows*int64(info.Dim)*8 > mostExampleBytes {
		return nil, noregret.BadInputf(strings.Join(inputs, ", "),
			"%d rows of %d features: as dense vectors they take more than %d MiB",
			info.Rows, info.Dim, mostExampleBytes>>20)
	}
	labels := make([]float64, len(info.Labels))
	for i, l := range info.Labels {
		switch {
		case positive < 0:
			if labels[i], err = strconv.ParseFloat(l.Name, 64); err != nil {
				return nil, noregret.BadInputf("label", "%q: %s takes labels as numbers", l.Name,
					game.Name)
			}
		case i == positive:
			labels[i] = 1
		default:
			labels[i] = -1
		}
	}
	r, err := set.Read()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var b dataset.Block
	for {
		switch err := r.Next(&b); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		}
		for i := range b.Len() {
			z := make([]float64, info.Dim)
			index, value := b.Row(i)
			for k, j := range index {
				z[j] = float64(value[k])
			}
			list = append(list, regret.Example{Z: z, Y: labels[b.Class[i]]})
		}
	}
}
