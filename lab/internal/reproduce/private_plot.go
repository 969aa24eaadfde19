package reproduce

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/lab/privacy"
)

// markers are the glyphs of columns, in their order.
var markers = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	draw.CrossGlyph{},
	draw.PlusGlyph{},
	draw.SquareGlyph{},
	draw.TriangleGlyph{},
	draw.PyramidGlyph{},
	draw.BoxGlyph{},
}

// plotPrivateCells draws the suboptimality of all columns by cell, a panel for each norm one above
// the other: means with one standard deviation on a logarithmic axis, and the published numbers as
// black bars.
func plotPrivateCells(path string, cells []privateCell, runs int) error {
	var panels []*picture.Panel
	for from := 0; from < len(cells); {
		to := from + 1
		for to < len(cells) && cells[to].P == cells[from].P {
			to++
		}
		p, err := privatePanel(cells[from:to], runs)
		if err != nil {
			return err
		}
		panels = append(panels, p)
		from = to
	}
	return show.Picture(path, panels...)
}

// privatePanel draws the cells of one norm.
func privatePanel(cells []privateCell, runs int) (*picture.Panel, error) {
	title := fmt.Sprintf("p = %s, %s", normName(cells[0].P), show.Count(runs, "run", "runs"))
	p := picture.NewPanel(title, "dimension and rounds", "suboptimality, mean ± sd")
	p.Height *= 1.4
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, picture.Decades{}
	ticks := make(plot.ConstantTicks, len(cells))
	low, high := math.Inf(1), 1.0
	see := func(v float64) {
		if v > 0 && !math.IsInf(v, 1) {
			low, high = min(low, v), max(high, v)
		}
	}
	for i := range cells {
		c := &cells[i]
		ticks[i] = plot.Tick{
			Value: float64(i),
			Label: "d=" + strconv.Itoa(c.Dim) + "\n" + show.Short(float64(c.Rounds)),
		}
		see(float64(c.Published))
		for _, v := range c.Columns {
			see(v.Mean)
		}
	}
	if math.IsInf(low, 1) {
		low = 0.1
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = -0.6, float64(len(cells))-0.4, ticks
	p.X.Tick.Label.Font.Size = vg.Points(min(10, 60/float64(len(cells))+3))
	for k := range cells[0].Columns {
		if err := addPrivateColumn(p, cells, k, low/2); err != nil {
			return nil, err
		}
	}
	if err := addPublished(p, cells); err != nil {
		return nil, err
	}
	p.Y.Min, p.Y.Max = low/2, 1.5*high
	return p, nil
}

// addPrivateColumn adds the means of column k and its bars, which end at the floor of the axis.
func addPrivateColumn(p *picture.Panel, cells []privateCell, k int, floor float64) error {
	name := cells[0].Columns[k].Name
	// A column keeps its colour and marker, whichever are shown.
	style := 0
	for i, known := range privacy.RegressionColumns() {
		if known == name {
			style = i
		}
	}
	colour := picture.Light.Line(style)
	var points errorPoints
	for i := range cells {
		c := &cells[i].Columns[k]
		// The printed norm has no finite noise in 2 dimensions.
		if !(c.Mean > 0) || math.IsInf(c.Mean, 1) {
			continue
		}
		x := float64(i) + float64(0.75*((float64(k)+0.5)/float64(len(cells[i].Columns))-0.5))
		points.XYs = append(points.XYs, plotter.XY{X: x, Y: c.Mean})
		points.YErrors = append(points.YErrors, struct{ Low, High float64 }{
			c.Mean - max(c.Mean-c.SD, floor), c.SD,
		})
	}
	if len(points.XYs) == 0 {
		return nil
	}
	bars, err := plotter.NewYErrorBars(points)
	if err != nil {
		return err
	}
	bars.Color, bars.CapWidth = colour, 0
	dots, err := plotter.NewScatter(points.XYs)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: vg.Points(3), Shape: markers[style%len(markers)]}
	p.Add(bars, dots)
	p.Legend.Add(name, dots)
	return nil
}

// errorPoints are points with bars.
type errorPoints struct {
	plotter.XYs
	plotter.YErrors
}

// addPublished adds the published numbers, each as a bar across its cell.
func addPublished(p *picture.Panel, cells []privateCell) error {
	named := false
	for i := range cells {
		v := float64(cells[i].Published)
		if !(v > 0) {
			continue
		}
		x := float64(i)
		l, err := picture.Line(plotter.XYs{{X: x - 0.45, Y: v}, {X: x + 0.45, Y: v}}, color.Black, false)
		if err != nil {
			return err
		}
		p.Add(l)
		if !named {
			p.Legend.Add("published", l)
			named = true
		}
	}
	return nil
}
