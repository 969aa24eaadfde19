package reproduce

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/lab/papers"
)

// logLog returns an empty panel with two logarithmic axes.
func logLog(title, x, y string) *picture.Panel {
	p := picture.NewPanel(title, x, y)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	return p
}

// addLine adds a line of positive points with a name, "" for none in the legend.
func addLine(p *picture.Panel, points plotter.XYs, c color.Color, dashed bool, name string) error {
	var shown plotter.XYs
	for _, v := range points {
		if v.X > 0 && v.Y > 0 && !math.IsInf(v.Y, 1) {
			shown = append(shown, v)
		}
	}
	if len(shown) == 0 {
		return nil
	}
	l, err := picture.Line(shown, c, dashed)
	if err != nil {
		return err
	}
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}

// aroundDecades extends the vertical axis a little, and gives an axis without an extent one.
func aroundDecades(p *picture.Panel) {
	if !(p.Y.Min > 0) || math.IsInf(p.Y.Max, 0) {
		p.Y.Min, p.Y.Max = 0.1, 10
	}
	p.Y.Min, p.Y.Max = p.Y.Min/1.5, p.Y.Max*1.5
	if !(p.X.Min > 0) || p.X.Max <= p.X.Min {
		p.X.Min, p.X.Max = max(p.X.Min, 2)/2, max(p.X.Max, 2)*2
	}
}

// plotDriftFits draws regret against rounds with the fitted power dashed: a panel for each setting
// and pattern, and a line for each noise.
func plotDriftFits(path string, settings ...[]papers.DriftResult) error {
	var panels []*picture.Panel
	for _, results := range settings {
		var p *picture.Panel
		line := 0
		for i, r := range results {
			if i == 0 || r.Pattern != results[i-1].Pattern {
				p = logLog(fmt.Sprintf("%s feedback, %v, %s", r.Setting, r.Pattern, r.Policy), "rounds",
					"dynamic regret, fit dashed")
				panels, line = append(panels, p), 0
			}
			var points, fit plotter.XYs
			for _, h := range r.Horizons {
				x := float64(h.Rounds)
				points = append(points, plotter.XY{X: x, Y: h.Regret})
				fit = append(fit, plotter.XY{X: x, Y: r.C * portable.Pow(x, 1-r.Alpha)})
			}
			c := show.Colours[line%len(show.Colours)]
			name := fmt.Sprintf("noise %v: T^%.2f", r.Noise, 1-r.Alpha)
			if err := addLine(p, points, c, false, name); err != nil {
				return err
			}
			if err := addLine(p, fit, c, true, ""); err != nil {
				return err
			}
			line++
		}
	}
	for _, p := range panels {
		aroundDecades(p)
	}
	return show.Picture(path, panels...)
}

// plotDriftRates draws regret, bound and floor against rounds and against the variation, two panels
// for each setting.
func plotDriftRates(path string, rates []papers.DriftRate) error {
	var panels []*picture.Panel
	for _, r := range rates {
		for k, list := range [][]papers.DriftPoint{r.Horizons, r.Variations} {
			slope, x := r.InRounds, "rounds"
			if k == 1 {
				slope, x = r.InVariation, "variation"
			}
			p := logLog(r.Setting+" in "+r.Game, x, "dynamic regret")
			var regrets, bounds, floors plotter.XYs
			for _, v := range list {
				at := float64(v.Variation)
				if k == 0 {
					at = float64(v.Rounds)
				}
				regrets = append(regrets, plotter.XY{X: at, Y: float64(v.Regret)})
				bounds = append(bounds, plotter.XY{X: at, Y: float64(v.Bound)})
				floors = append(floors, plotter.XY{X: at, Y: float64(v.Floor)})
			}
			for i, l := range []struct {
				points plotter.XYs
				name   string
			}{
				{bounds, "upper bound"},
				{regrets, fmt.Sprintf("regret: slope %.3f, theory %.3f", float64(slope.Value), float64(slope.Theory))},
				{floors, "lower bound"},
			} {
				if err := addLine(p, l.points, show.Colours[i], i != 1, l.name); err != nil {
					return err
				}
			}
			aroundDecades(p)
			panels = append(panels, p)
		}
	}
	return show.Picture(path, panels...)
}
