package boxes

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/lab/internal/study"
	"github.com/noregret/noregret/pasto/box"
)

// Command returns the command "noregret-lab boxes".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "boxes",
		Short: "Play the learner on boxes of parameters beside a quadratic response surface",
		Long: `Play learners on random boxes of parameters whose effects are smooth and small, and print the
gain that they deploy and serve, by learner, dimension and kind of world.`,
		Example: "  noregret-lab boxes --runs 40 --seed 1001",
	}
	f, p := c.Flags(), plan{options: box.DefaultOptions(1)}
	f.IntVar(&p.runs, "runs", 20, "random worlds of each kind and dimension")
	f.IntVar(&p.rounds, "rounds", 200, "rounds of a run")
	f.IntVar(&p.units, "units", 20_000, "units of a round")
	f.Uint64Var(&p.seed, "seed", 1, "seed of the first world")
	f.IntVar(&p.dimensions, "dimensions", 3, "the most dimensions, 1 to 3")
	f.StringVar(&p.learners, "learner", "all", "surface, peer or all")
	o := &p.options
	f.Float64Var(&o.Optimism, "optimism", o.Optimism, "standard errors that the learning mixture adds")
	f.Float64Var(&o.HardCaution, "hard-caution", o.HardCaution, "standard errors of hard guardrails, of all learners")
	f.Float64Var(&o.Explore, "explore", o.Explore, "scale of the learning mixture's share")
	f.Float64Var(&o.LeastShare, "least-share", o.LeastShare, "its least")
	return study.New(c, "runs", p.play)
}

// plan says what to play.
type plan struct {
	runs, rounds, units, dimensions int
	seed                            uint64
	learners                        string
	options                         box.Options
}

func (p *plan) validate() error {
	switch {
	case p.runs < 1 || p.rounds < 1 || p.units < 1:
		return noregret.Errorf(noregret.Usage, "", "%d runs, %d rounds and %d units: want at least 1 of each", p.runs,
			p.rounds, p.units)
	case p.dimensions < 1 || p.dimensions > 3:
		return noregret.Errorf(noregret.Usage, "--dimensions", "%d: want 1 to 3", p.dimensions)
	case p.learners != "all" && p.learners != "surface" && p.learners != "peer":
		return noregret.Errorf(noregret.Usage, "--learner", "%q: want surface, peer or all", p.learners)
	}
	return nil
}

// play plays the plan, a row for each learner, dimension and kind of world.
func (p *plan) play(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	out := &study.Report{Tables: []study.Table{{Columns: []string{
		"learner", "d", "world", "deployed", "served", "broken runs", "by", "broken rounds", "points",
	}}}}
	for d := 1; d <= p.dimensions; d++ {
		options := box.DefaultOptions(d)
		options.Optimism, options.HardCaution = p.options.Optimism, p.options.HardCaution
		options.Explore, options.LeastShare = p.options.Explore, p.options.LeastShare
		for _, name := range []string{"surface", "peer"} {
			if p.learners != "all" && p.learners != name {
				continue
			}
			var all []Score
			for kind, label := range Kinds {
				scores, err := study.Runs(ctx, r, p.runs, func(run int) (Score, error) {
					return play(name, kind, d, p.seed+uint64(run), p.rounds, p.units, options)
				})
				if err != nil {
					return out, err
				}
				all = append(all, scores...)
				addRow(&out.Tables[0], name, d, label, scores)
			}
			addRow(&out.Tables[0], name, d, "all", all)
		}
	}
	return out, nil
}

func play(name string, kind, d int, seed uint64, rounds, units int, o box.Options) (Score, error) {
	world, err := New(kind, d, seed)
	if err != nil {
		return Score{}, err
	}
	var l Learner = NewPeer(world.Goals, d, o.HardCaution, seed)
	if name == "surface" {
		lower, upper := make([]float64, d), make([]float64, d)
		for i := range upper {
			upper[i] = 1
		}
		if l, err = box.New(world.Goals, lower, upper, o); err != nil {
			return Score{}, err
		}
	}
	return world.Play(l, rounds, units, seed)
}

func addRow(t *study.Table, name string, d int, world string, scores []Score) {
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
	deployed := study.Estimate{Mean: sum, Error: math.Sqrt(max(square-float64(sum*sum), 0) / n)}
	t.Add(name, d, world, deployed.Cell("%.3f"), study.Number("%.3f", served), study.Number("%.1f %%", 100*runs),
		study.Number("%.3f", by), study.Number("%.1f %%", 100*broken), study.Number("%.1f", points))
}
