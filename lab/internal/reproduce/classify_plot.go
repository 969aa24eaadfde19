package reproduce

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/lab/papers"
)

// classifyMethods are the methods in the order of their colours and markers.
var classifyMethods = []string{
	papers.CurveSPADE, papers.CurveSTAMP, papers.CurvePlugIn, papers.CurveLogistic, papers.CurveStruct,
	papers.CurveOnePass,
}

// plotClassify draws a panel for each figure and set: the measure on test rows against the time of
// training on a logarithmic axis.
func plotClassify(path string, results []classifyResult) error {
	var panels []*picture.Panel
	for k := range results {
		x := &results[k]
		p := picture.NewPanel(fmt.Sprintf("Figure %d, %s", x.Figure, x.Set), "seconds of training", x.Measure)
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, picture.Decades{}
		for style, method := range classifyMethods {
			c := x.curve(method)
			if c == nil {
				continue
			}
			var points plotter.XYs
			for _, v := range c.Points {
				points = append(points, plotter.XY{X: max(v.Seconds, 1e-5), Y: v.Value})
			}
			line, err := picture.Line(points, picture.Light.Line(style), false)
			if err != nil {
				return err
			}
			dots, err := plotter.NewScatter(points)
			if err != nil {
				return err
			}
			dots.GlyphStyle = draw.GlyphStyle{
				Color: picture.Light.Line(style), Radius: vg.Points(2.5), Shape: markers[style%len(markers)],
			}
			p.Add(line, dots)
			p.Legend.Add(method, line, dots)
		}
		panels = append(panels, p)
	}
	return show.Picture(path, panels...)
}
