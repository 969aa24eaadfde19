package main

import (
	"fmt"
	"strconv"

	"github.com/noregret/noregret/papers"
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
	Slope  number `json:"slope"`
	Error  number `json:"error"`
	Theory number `json:"theory"`
}

type driftPointJSON struct {
	Rounds    int    `json:"rounds"`
	Variation number `json:"variation"`
	Regret    number `json:"regret"`
	Error     number `json:"error"`
	Floor     number `json:"floor"`
	Bound     number `json:"bound"`
}

// writeDriftRates prints the slopes, then the points.
func (a *app) writeDriftRates(rates []papers.DriftRate, runs int, asJSON bool) error {
	if asJSON {
		return writeJSON(a.stdout, driftRatesJSON(rates, runs))
	}
	if rates[0].Runs == 0 {
		return nil // interrupted in the first run
	}
	if rates[0].Runs < runs {
		fmt.Fprintf(a.stdout, "%s\n\n", runsIn(rates[0].Runs, runs))
	}
	g := table{left: map[int]bool{1: true}}
	g.add("setting", "game", "slope in T", "error", "theory", "slope in V", "error", "theory")
	for _, r := range rates {
		g.add(r.Setting, r.Game, number(r.InRounds.Value).String(), twoDigits(number(r.InRounds.Error)),
			number(r.InRounds.Theory).String(), number(r.InVariation.Value).String(),
			twoDigits(number(r.InVariation.Error)),
			number(r.InVariation.Theory).String())
	}
	if err := g.write(a.stdout); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	g = table{}
	g.add("setting", "rounds", "variation", "floor", "regret", "error", "bound")
	for _, r := range rates {
		for _, list := range [][]papers.DriftPoint{r.Horizons, r.Variations} {
			for _, p := range list {
				g.add(r.Setting, strconv.Itoa(p.Rounds), short(p.Variation), short(p.Floor), short(p.Regret),
					twoDigits(number(p.Error)), short(p.Bound))
			}
		}
	}
	return g.write(a.stdout)
}

func driftRatesJSON(rates []papers.DriftRate, runs int) []driftRateJSON {
	slope := func(s papers.DriftSlope) driftSlopeJSON {
		return driftSlopeJSON{number(s.Value), number(s.Error), number(s.Theory)}
	}
	points := func(list []papers.DriftPoint) []driftPointJSON {
		var all []driftPointJSON
		for _, p := range list {
			all = append(all, driftPointJSON{
				p.Rounds, number(p.Variation), number(p.Regret), number(p.Error), number(p.Floor), number(p.Bound),
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
