package play

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/pasto/scenario"
)

// A picture of a mixture shows at most mostShares arms, and only those with at least leastShare at
// the end. It shows the sum of the others.
const (
	mostShares = 8
	leastShare = 0.005
)

// roundsAxis puts rounds on the axis. The axis is logarithmic unless the rounds reported are evenly
// spaced, as they are where the means change.
func roundsAxis(p *picture.Panel, s simulation) {
	p.X.Min, p.X.Max = 1, max(2, float64(s.Rounds))
	if n := len(s.At); n < 4 || s.At[1]-s.At[0] != s.At[n-1]-s.At[n-2] {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
}

// objectivePanel plots the objective of the deployed mixtures against rounds, with bands from the
// lower to the upper quartile, and the best single arm and the optimum of each round, which move
// with the means. The axis reaches from somewhat below the lowest best single arm to the highest of
// these: algorithms that end there are visible, while bad beginnings leave the picture.
func objectivePanel(all []simulation) (*picture.Panel, error) {
	first := all[0]
	title := fmt.Sprintf("scenario %s, %s", first.Scenario, show.Count(first.Runs, "run",
		"runs")) + played(first.Result)
	p := picture.NewPanel(title, "rounds", "objective of the deployed mixture: mean, quartiles")
	if first.Iterate == "serving" {
		p.Y.Label.Text = "objective of the served mixture: mean, quartiles"
	}
	roundsAxis(p, first)
	best, single := bests(first)
	low, high := objectiveRange(all, best, single)
	span := max(high-low, 0.1*math.Abs(high), 1e-9)
	floor := low - span
	for _, s := range all {
		floor = max(min(floor, s.Objective.Mean[len(s.At)-1]-float64(0.2*span)), low-float64(6*span))
	}
	at := func(j int, v float64) plotter.XY {
		return plotter.XY{X: float64(first.At[j]), Y: max(v, floor-float64(farAway*span))}
	}
	for i, s := range all {
		if err := addObjective(p, s, show.Colours[i%len(show.Colours)], at); err != nil {
			return nil, err
		}
	}
	for _, h := range []struct {
		name   string
		points plotter.XYs
		grey   uint8
	}{{"optimum over mixtures", best, 0}, {"best single arm", single, 130}} {
		points := slices.DeleteFunc(h.points, func(v plotter.XY) bool { return v.Y != v.Y })
		if len(points) == 0 {
			continue
		}
		l, err := picture.Line(level(points), color.Gray{h.grey}, true)
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add(h.name, l)
	}
	p.Y.Min, p.Y.Max = floor, high+float64(0.05*span)
	return p, nil
}

// objectiveRange returns the lowest best single arm or optimum, and the highest value of all lines.
// If nothing holds the guardrails, the lowest value is that of the means.
func objectiveRange(all []simulation, best, single plotter.XYs) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for j, v := range best {
		if w := v.Y; w == w {
			low, high = min(low, w), max(high, w)
		}
		if w := single[j].Y; w == w {
			low, high = min(low, w), max(high, w)
		}
	}
	for _, s := range all {
		high = max(high, slices.Max(s.Objective.Q75), slices.Max(s.Objective.Mean))
		if math.IsInf(low, 1) { // nothing holds the guardrails
			low = slices.Min(s.Objective.Mean)
		}
	}
	return low, high
}

// addObjective adds the mean of a simulation and the band of its quartiles to a panel; at places a
// value of a reported round.
func addObjective(p *picture.Panel, s simulation, c color.Color, at func(j int, v float64) plotter.XY) error {
	var mean, band plotter.XYs
	for j := range s.At {
		mean = append(mean, at(j, s.Objective.Mean[j]))
		band = append(band, at(j, s.Objective.Q75[j]))
	}
	for j := len(s.At) - 1; j >= 0; j-- {
		band = append(band, at(j, s.Objective.Q25[j]))
	}
	if len(s.At) > 1 {
		poly, err := plotter.NewPolygon(band)
		if err != nil {
			return err
		}
		r, g, b, _ := c.RGBA()
		poly.Color, poly.LineStyle.Width = color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 50}, 0
		p.Add(poly)
	}
	l, err := picture.Line(level(mean), c, false)
	if err != nil {
		return err
	}
	p.Add(l)
	p.Legend.Add(s.Algorithm, l)
	return nil
}

// farAway is where a line that leaves a picture is cut off, in multiples of the axis.
const farAway = 1e3

// bests returns the optimum and the best single arm of each round reported.
func bests(s simulation) (best, single plotter.XYs) {
	for j, t := range s.At {
		best = append(best, plotter.XY{X: float64(t), Y: s.Best.Mean[j]})
		single = append(single, plotter.XY{X: float64(t), Y: s.Single.Mean[j]})
	}
	return best, single
}

// level makes a line of a single point.
func level(points plotter.XYs) plotter.XYs {
	if len(points) == 1 {
		return plotter.XYs{{X: 1, Y: points[0].Y}, {X: max(points[0].X, 2), Y: points[0].Y}}
	}
	return points
}

// gainPanel plots the relative gain against rounds: the ratio of mean gains as a line, the median
// dashed. The legend names the rounds from which on the mean is above the best single arm and the
// ratio at least 0.95. The axis begins at -1, or at -4 if an algorithm ends below -1.
func gainPanel(all []simulation) (*picture.Panel, error) {
	p := picture.NewPanel("relative gain: 0 best single arm, 1 optimum", "rounds",
		"gain: ratio of means, median dashed")
	roundsAxis(p, all[0])
	floor, some := -1.0, false
	for _, s := range all {
		if v := s.Gain.Ratio[len(s.At)-1]; v < -1 {
			floor = -4
		}
	}
	for i, s := range all {
		c := show.Colours[i%len(show.Colours)]
		for k, values := range []scenario.Series{s.Gain.Ratio, s.Gain.Median} {
			var points plotter.XYs
			for j, v := range values {
				if v != v {
					continue // not defined
				}
				points = append(points, plotter.XY{X: float64(s.At[j]), Y: min(max(v, floor-farAway), 1.1)})
			}
			if len(points) == 0 {
				continue
			}
			l, err := picture.Line(level(points), c, k == 1)
			if err != nil {
				return nil, err
			}
			p.Add(l)
			some = true
			if k == 0 {
				p.Legend.Add(crossings(s), l)
			}
		}
	}
	if !some {
		p.Title.Text = "relative gain: not defined, no single arm to compare with"
	}
	p.Y.Min, p.Y.Max = floor, 1.1
	return p, nil
}

// crossings writes an algorithm's name with its crossing points.
func crossings(s simulation) string {
	from := func(round int) string {
		if round == 0 {
			return "never"
		}
		return "from " + strconv.Itoa(round)
	}
	return fmt.Sprintf("%s: above 0 %s, 0.95 %s", s.Algorithm, from(s.Crossing.Single), from(s.Crossing.Optimum))
}

// mixturePanel plots the mixture of one simulation against rounds: the arms with the largest shares
// at the end, and all others together.
func mixturePanel(s simulation) (*picture.Panel, error) {
	p := picture.NewPanel("the mixture of "+s.Algorithm+" ("+s.Mixture.Of+")", "rounds", "share")
	roundsAxis(p, s)
	order := make([]int, len(s.Mixture.Arms))
	for k := range order {
		order[k] = k
	}
	end := s.Mixture.Share[len(s.Mixture.Share)-1]
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(end[b], end[a]) })
	shown := order[:min(mostShares, len(order))]
	if len(order) == mostShares+1 {
		shown = order
	}
	for len(shown) < len(order) && len(shown) > 1 && end[shown[len(shown)-1]] < leastShare {
		shown = shown[:len(shown)-1]
	}
	others := make(plotter.XYs, len(s.At))
	for j, t := range s.At {
		others[j] = plotter.XY{X: float64(t), Y: 1}
	}
	for i, k := range shown {
		var points plotter.XYs
		for j, t := range s.At {
			points = append(points, plotter.XY{X: float64(t), Y: s.Mixture.Share[j][k]})
			others[j].Y -= s.Mixture.Share[j][k]
		}
		l, err := picture.Line(level(points), show.Colours[i%len(show.Colours)], i >= len(show.Colours))
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add(s.Mixture.Arms[k], l)
	}
	if len(shown) < len(order) {
		l, err := picture.Line(level(others), color.Gray{130}, true)
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add(fmt.Sprintf("%d others", len(order)-len(shown)), l)
	}
	p.Y.Min, p.Y.Max = 0, 1
	return p, nil
}

// plotSimulations draws the objective, the relative gain and the mixture of the first algorithm, a
// panel each.
func plotSimulations(path string, all []simulation) error {
	objective, err := objectivePanel(all)
	if err != nil {
		return err
	}
	gain, err := gainPanel(all)
	if err != nil {
		return err
	}
	mixture, err := mixturePanel(all[0])
	if err != nil {
		return err
	}
	return show.Picture(path, objective, gain, mixture)
}
