package reproduce

import (
	"fmt"
	"strconv"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/lab/papers"
)

// driftRateJSON is a rate as --json prints it.
type driftRateJSON struct {
	Setting     string           `json:"setting"`
	Game        string           `json:"game"`
	Runs        int              `json:"runs"`
	Asked       int              `json:"runs_asked"`
	InRounds    driftSlopeJSON   `json:"in_rounds"`
	InVariation driftSlopeJSON   `json:"in_variation"`
	Horizons    []driftPointJSON `json:"horizons"`
	Variations  []driftPointJSON `json:"variations"`
}

type driftSlopeJSON struct {
	Slope  show.Number `json:"slope"`
	Error  show.Number `json:"error"`
	Theory show.Number `json:"theory"`
}

type driftPointJSON struct {
	Rounds    int         `json:"rounds"`
	Variation show.Number `json:"variation"`
	Regret    show.Number `json:"regret"`
	Error     show.Number `json:"error"`
	Floor     show.Number `json:"floor"`
	Bound     show.Number `json:"bound"`
}

// writeDriftRates prints the slopes, then the points.
func writeDriftRates(a *command.App, rates []papers.DriftRate, runs int, asJSON bool) error {
	if asJSON {
		return show.JSON(a.Stdout, driftRatesJSON(rates, runs))
	}
	if rates[0].Runs == 0 {
		return nil // interrupted in the first run
	}
	if rates[0].Runs < runs {
		fmt.Fprintf(a.Stdout, "%s\n\n", show.RunsIn(rates[0].Runs, runs))
	}
	g := show.Table{Left: map[int]bool{1: true}}
	g.Add("setting", "game", "slope in T", "error", "theory", "slope in V", "error", "theory")
	for _, r := range rates {
		g.Add(r.Setting, r.Game, show.Number(r.InRounds.Value).String(), show.Digits(show.Number(r.InRounds.Error), 2),
			show.Number(r.InRounds.Theory).String(), show.Number(r.InVariation.Value).String(),
			show.Digits(show.Number(r.InVariation.Error), 2),
			show.Number(r.InVariation.Theory).String())
	}
	if err := g.Write(a.Stdout); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout)
	g = show.Table{}
	g.Add("setting", "rounds", "variation", "floor", "regret", "error", "bound")
	for _, r := range rates {
		for _, list := range [][]papers.DriftPoint{r.Horizons, r.Variations} {
			for _, p := range list {
				g.Add(r.Setting, strconv.Itoa(p.Rounds), show.Short(p.Variation), show.Short(p.Floor),
					show.Short(p.Regret),
					show.Digits(show.Number(p.Error), 2), show.Short(p.Bound))
			}
		}
	}
	return g.Write(a.Stdout)
}

func driftRatesJSON(rates []papers.DriftRate, runs int) []driftRateJSON {
	slope := func(s papers.DriftSlope) driftSlopeJSON {
		return driftSlopeJSON{show.Number(s.Value), show.Number(s.Error), show.Number(s.Theory)}
	}
	points := func(list []papers.DriftPoint) []driftPointJSON {
		var all []driftPointJSON
		for _, p := range list {
			all = append(all, driftPointJSON{
				p.Rounds, show.Number(p.Variation), show.Number(p.Regret), show.Number(p.Error), show.Number(p.Floor),
				show.Number(p.Bound),
			})
		}
		return all
	}
	var all []driftRateJSON
	for _, r := range rates {
		all = append(all, driftRateJSON{
			r.Setting, r.Game, r.Runs, runs, slope(r.InRounds), slope(r.InVariation), points(r.Horizons),
			points(r.Variations),
		})
	}
	return all
}
