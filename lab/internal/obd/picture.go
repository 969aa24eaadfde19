package obd

import (
	"image/color"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
)

// plotTrials draws a panel for each trial: each estimator's value with its interval at one look,
// and the mean of the policy's own log with 1.96 standard errors as a grey band.
func plotTrials(path string, all []*trial) error {
	var panels []*picture.Panel
	for _, t := range all {
		p, err := panel(t)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	return show.Picture(path, panels...)
}

// panel draws one trial.
func panel(t *trial) (*picture.Panel, error) {
	p := picture.NewPanel(t.name, "clicks per thousand", "")
	methods := offpolicy.Methods()
	low, high := 1000*(t.truth-normal95*t.truthError), 1000*(t.truth+normal95*t.truthError)
	n := float64(len(methods))
	truth, err := plotter.NewPolygon(plotter.XYs{{X: low, Y: -1}, {X: high, Y: -1}, {X: high, Y: n}, {X: low, Y: n}})
	if err != nil {
		return nil, err
	}
	truth.Color, truth.LineStyle.Width = color.Gray{215}, 0
	p.Add(truth)
	var names []string
	most := high
	for i, v := range t.estimates {
		y := n - 1 - float64(i)
		names = append([]string{string(v.Method)}, names...)
		for k, ends := range [][2]float64{
			{v.OneLook.Low, v.OneLook.High},
			{v.Value - normal95*v.StandardError, v.Value + normal95*v.StandardError},
		} {
			line, err := picture.Line(plotter.XYs{{X: 1000 * ends[0], Y: y}, {X: 1000 * ends[1], Y: y}},
				picture.Cool[0], false)
			if err != nil {
				return nil, err
			}
			line.Width = vg.Points(1)
			if k == 1 {
				line.Width = vg.Points(4)
				most = max(most, 1000*ends[1])
			}
			p.Add(line)
		}
		dots, err := plotter.NewScatter(plotter.XYs{{X: 1000 * v.Value, Y: y}})
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: picture.Warm[0], Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
		p.Add(dots)
	}
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.7, n-0.3
	p.X.Min, p.X.Max = -2, 2*most
	return p, nil
}
