package play

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/play"
)

// plotResults draws the regret of every learner as a line and its bound as a dashed line of the
// same colour; of several runs each is drawn. Both axes are logarithmic: regrets of 0 and below do
// not show on such an axis, the line begins or ends there. Where nothing is above 0, the axis of
// regret is an ordinary one.
func plotResults(path string, results []play.Result) error {
	p := picture.NewPanel(results[0].Game, "rounds", "regret (line) and bound (dashed)")
	p.Height *= 1.5
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	top, least := 0.0, math.Inf(1) // the range of the positive values
	var regrets []float64
	for _, r := range results {
		for _, q := range r.Curve {
			if q.Regret > 0 {
				regrets = append(regrets, q.Regret)
			}
			for _, v := range []float64{q.Regret, q.Bound} {
				if v > 0 && !math.IsInf(v, 1) {
					top, least = max(top, v), min(least, v)
				}
			}
		}
	}
	logarithmic := top > 0
	shown := func(v float64) bool { return v-v == 0 && (v > 0 || !logarithmic) }
	colours := map[string]color.Color{}
	for _, r := range results {
		c, seen := colours[r.Learner]
		if !seen {
			c = show.Colours[len(colours)%len(show.Colours)]
			colours[r.Learner] = c
		}
		var regrets, bounds plotter.XYs
		for _, q := range r.Curve {
			if shown(q.Regret) {
				regrets = append(regrets, plotter.XY{X: float64(q.Round), Y: q.Regret})
			}
			if shown(q.Bound) {
				bounds = append(bounds, plotter.XY{X: float64(q.Round), Y: q.Bound})
			}
		}
		for k, points := range []plotter.XYs{bounds, regrets} {
			if len(points) == 0 {
				continue
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				return err
			}
			line.Color, line.Width = c, vg.Points(1.5)
			if k == 0 {
				line.Dashes, line.Width = []vg.Length{vg.Points(5), vg.Points(3)}, vg.Points(1)
			}
			p.Add(line)
			if !seen {
				if k == 0 && len(regrets) > 0 {
					continue // the legend shows only the line of the regret
				}
				p.Legend.Add(r.Learner, line)
			}
		}
	}
	if logarithmic {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, picture.Decades{}
		p.Y.Min = least / 1.5
		if slices.Sort(regrets); len(regrets) > 0 {
			// A few rounds with almost no regret are cut off.
			p.Y.Min = max(p.Y.Min, regrets[len(regrets)/2]*1e-6)
		}
		p.Y.Max = top * 1.5
	}
	p.X.Min, p.X.Max = 1, max(2, float64(results[0].Rounds))
	return show.Picture(path, p)
}
