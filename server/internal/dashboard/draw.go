package dashboard

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/picture"
)

// The colours of data are those of the style sheet: eight, and the same mixed with text or paper.
const (
	hues   = 8
	shades = 3
)

// colour returns the colour of a line. An arm has the same one in all pictures and on all pages.
func (f frame) colour(i int) color.Color {
	switch i {
	case inkColour:
		return f.Ink
	case faintColour:
		return f.Faint
	}
	// The next shades begin with another hue, so that arms whose places differ by 8 look different.
	hue := f.Line((i + 3*(i/hues)) % hues)
	switch i / hues % shades {
	case 1:
		return mix(hue, f.Ink)
	case 2:
		return mix(hue, f.Paper)
	}
	return hue
}

// mix returns a colour with six parts of a and four of b.
func mix(a, b color.Color) color.Color {
	of := func(x, y uint32) uint8 { return uint8((6*(x>>8) + 4*(y>>8) + 5) / 10) }
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	return color.RGBA{of(ar, br), of(ag, bg), of(ab, bb), 255}
}

// draw draws a chart.
func (f frame) draw(c *chart, r *api.Report) (*plot.Plot, error) {
	p := f.New(f.fit(c.Title, 44, 26), f.label(), f.fit(c.Unit, 30, 20))
	end := f.axis(p, r)
	if f.narrow && c.Brief != "" {
		p.Title.Text = c.Brief
	}
	if c.Stacked {
		return p, f.stack(p, c, end)
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Level != nil {
			if err := level(p, l.Name, *l.Level, f.colour(l.Colour)); err != nil {
				return nil, err
			}
			continue
		}
		if err := f.line(p, c, l, end); err != nil {
			return nil, err
		}
	}
	for _, q := range c.Now {
		x := end - float64(0.01*(end-p.X.Min))
		l, err := picture.Line(plotter.XYs{{X: x, Y: q.Low}, {X: x, Y: q.High}}, f.colour(q.Colour), false)
		if err != nil {
			return nil, err
		}
		l.Width = vg.Points(4)
		p.Add(l)
		p.Legend.Add(q.Name, l)
	}
	headroom(p, c)
	return p, nil
}

// line draws a line with its band.
func (f frame) line(p *plot.Plot, c *chart, l *chartLine, end float64) error {
	values := f.steps(c, l.Values, end)
	if len(values) == 0 {
		return nil
	}
	drawn, err := picture.Line(values, f.colour(l.Colour), false)
	if err != nil {
		return err
	}
	if l.Low == nil {
		p.Add(drawn)
		p.Legend.Add(l.Name, drawn)
		return nil
	}
	low, band := f.steps(c, l.Low, end), f.steps(c, l.High, end)
	slices.Reverse(low)
	area, err := plotter.NewPolygon(append(band, low...))
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = translucent(f.colour(l.Colour)), 0
	p.Add(area, drawn)
	p.Legend.Add(l.Name, drawn, area)
	return nil
}

// steps makes a line that keeps each value until the next known one.
func (f frame) steps(c *chart, values []*float64, end float64) (out plotter.XYs) {
	for i := range values {
		if values[i] == nil {
			continue
		}
		x := f.at(&c.History[i])
		if n := len(out); n > 0 {
			out = append(out, plotter.XY{X: x, Y: out[n-1].Y})
		}
		out = append(out, plotter.XY{X: x, Y: *values[i]})
	}
	if n := len(out); n > 0 {
		out = append(out, plotter.XY{X: end, Y: out[n-1].Y})
	}
	return out
}

// stack draws shares from the top down: each area reaches down to 0, and the next one covers it.
func (f frame) stack(p *plot.Plot, c *chart, end float64) error {
	p.Y.Min, p.Y.Max = 0, 1
	legend := &sideLegend{at: end, style: p.Legend.TextStyle}
	longest := 0
	for i := len(c.Lines) - 1; i >= 0; i-- {
		sums := make([]*float64, len(c.History))
		for k := range c.History {
			sum := 0.0
			for j := range i + 1 {
				sum += *c.Lines[j].Values[k]
			}
			sum = min(sum, 1)
			if i == len(c.Lines)-1 {
				sum = 1
			}
			sums[k] = &sum
		}
		top := f.steps(c, sums, end)
		area, err := plotter.NewPolygon(append(top, plotter.XY{X: end, Y: 0}, plotter.XY{X: top[0].X, Y: 0}))
		if err != nil {
			return err
		}
		area.LineStyle.Width, area.LineStyle.Color = vg.Points(0.7), f.Paper
		area.Color = f.colour(c.Lines[i].Colour)
		p.Add(area)
		name := f.fit(c.Lines[i].Name, 20, 12)
		longest = max(longest, len([]rune(name)))
		legend.names, legend.colours = append(legend.names, name), append(legend.colours, area.Color)
	}
	slices.Reverse(legend.names)
	slices.Reverse(legend.colours)
	p.Add(legend)
	// room for the legend beside the areas
	p.X.Max = end + float64(f.textScale()*(0.12+float64(0.022*float64(longest)))*(end-p.X.Min))
	inner := p.X.Tick.Marker
	p.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		return slices.DeleteFunc(inner.Ticks(low, high), func(t plot.Tick) bool { return t.Value > end })
	})
	return nil
}

// sideLegend is a legend to the right of a position on the axis. Names begin beside their colours,
// so that a browser with a wider face than the one measured here covers no colour.
type sideLegend struct {
	at      float64
	names   []string
	colours []color.Color
	style   draw.TextStyle
}

// Plot implements [plot.Plotter].
func (l *sideLegend) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	size := l.style.Font.Size
	x, y := toX(l.at)+vg.Length(size/2), c.Max.Y
	style := l.style
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	for i, name := range l.names {
		middle := y - vg.Length(size*0.7)
		c.FillPolygon(l.colours[i], []vg.Point{
			{X: x, Y: middle - vg.Length(size*0.4)},
			{X: x + size, Y: middle - vg.Length(size*0.4)},
			{X: x + size, Y: middle + vg.Length(size*0.4)},
			{X: x, Y: middle + vg.Length(size*0.4)},
		})
		c.FillText(style, vg.Point{X: x + vg.Length(size*1.4), Y: middle}, name)
		y -= vg.Length(size * 1.4)
	}
}
