// Command measure plays learners on random boxes and prints the gain that they deploy and serve:
//
//	go run ./pasto/box/internal/measure -runs 40 -rounds 200
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/box"
	"github.com/noregret/noregret/pasto/box/internal/trial"
)

func main() {
	err := measure(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// measure plays what the arguments ask for and writes one line for each learner, dimension and kind
// of world.
func measure(args []string, w io.Writer) error {
	f := flag.NewFlagSet("measure", flag.ContinueOnError)
	runs := f.Int("runs", 20, "random worlds of each kind and dimension")
	rounds := f.Int("rounds", 200, "rounds of a run")
	units := f.Int("units", 20_000, "units of a round")
	seed := f.Uint64("seed", 1, "seed of the first world")
	dimensions := f.Int("dimensions", 3, "the most dimensions, 1 to 3")
	learners := f.String("learner", "all", "surface, peer or all")
	o := box.DefaultOptions(1)
	f.Float64Var(&o.Optimism, "optimism", o.Optimism, "standard errors that the learning mixture adds")
	f.Float64Var(&o.HardCaution, "hard-caution", o.HardCaution, "standard errors of hard guardrails, of all learners")
	f.Float64Var(&o.Explore, "explore", o.Explore, "scale of the learning mixture's share")
	f.Float64Var(&o.LeastShare, "least-share", o.LeastShare, "its least")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("%d arguments after the flags: want none", f.NArg())
	case *runs < 1 || *rounds < 1 || *units < 1:
		return fmt.Errorf("%d runs, %d rounds and %d units: want at least 1 of each", *runs, *rounds, *units)
	case *dimensions < 1 || *dimensions > 3:
		return fmt.Errorf("%d dimensions: want 1 to 3", *dimensions)
	case *learners != "all" && *learners != "surface" && *learners != "peer":
		return fmt.Errorf("learner %q: want surface, peer or all", *learners)
	}
	fmt.Fprintln(w, "learner  d  world      deployed         served   broken runs  by      broken rounds  points")
	for d := 1; d <= *dimensions; d++ {
		options := box.DefaultOptions(d)
		options.Optimism, options.HardCaution = o.Optimism, o.HardCaution
		options.Explore, options.LeastShare = o.Explore, o.LeastShare
		for _, name := range []string{"surface", "peer"} {
			if *learners != "all" && *learners != name {
				continue
			}
			var all []trial.Score
			for kind, label := range trial.Kinds {
				var scores []trial.Score
				for run := range *runs {
					s, err := play(name, kind, d, *seed+uint64(run), *rounds, *units, options)
					if err != nil {
						return err
					}
					scores = append(scores, s)
				}
				all = append(all, scores...)
				write(w, name, d, label, scores)
			}
			write(w, name, d, "all", all)
		}
	}
	return nil
}

func play(name string, kind, d int, seed uint64, rounds, units int, o box.Options) (trial.Score, error) {
	world, err := trial.New(kind, d, seed)
	if err != nil {
		return trial.Score{}, err
	}
	var l trial.Learner = trial.NewPeer(world.Goals, d, o.HardCaution, seed)
	if name == "surface" {
		lower, upper := make([]float64, d), make([]float64, d)
		for i := range upper {
			upper[i] = 1
		}
		if l, err = box.New(world.Goals, lower, upper, o); err != nil {
			return trial.Score{}, err
		}
	}
	return world.Play(l, rounds, units, random.New(seed, "box noise"))
}

func write(w io.Writer, name string, d int, world string, scores []trial.Score) {
	n := float64(len(scores))
	var sum, square, served, runs, by, broken, points float64
	for _, s := range scores {
		sum += s.Deployed / n
		square += s.Deployed * s.Deployed / n
		served += s.Served / n
		if s.Broken > 0 {
			runs += 1 / n
		}
		by += s.Broken / n
		broken += s.BrokenRounds / n
		points += float64(s.Points) / n
	}
	fmt.Fprintf(w, "%-8s %d  %-9s  %.3f ± %.3f  %7.3f  %10.1f %%  %.3f  %11.1f %%  %6.1f\n", name, d, world, sum,
		math.Sqrt(max(square-float64(sum*sum), 0)/n), served, 100*runs, by, 100*broken, points)
}
