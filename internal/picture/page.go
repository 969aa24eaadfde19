package picture

import (
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The measures of a page. Its width is about that of a phone's screen in pixels, so that text is
// legible there; on wider screens the page keeps its width.
const (
	pageWidth   = 5.2 * vg.Inch
	pageMargin  = 10.0
	panelGap    = 18.0
	panelHeight = 2.2 * vg.Inch
	titleSize   = 13.0
	textSize    = 10.0
	thumbWidth  = 18.0
	thumbGap    = 5.0
	columnGap   = 14.0
)

// slack is what a text may be wider in another face than in the one that is measured here.
const slack = 1.1

// Panel is a plot of a page. Its title, the label of its vertical axis and its legend are drawn
// above the plotting area, one below the other and broken to the width of the page: nothing of them
// covers the data.
type Panel struct {
	*plot.Plot
	// Legend takes the place of the plot's own legend, which is drawn over the data.
	Legend Legend
	// Height is that of the plotting area with the horizontal axis.
	Height vg.Length
}

// NewPanel returns a panel in the light theme, with a grid.
func NewPanel(title, x, y string) *Panel {
	p := Light.styled(title, x, y)
	p.BackgroundColor = nil
	p.X.Label.TextStyle.Font.Size, p.X.Label.Padding = textSize, 3
	g := plotter.NewGrid()
	for _, line := range []*draw.LineStyle{&g.Vertical, &g.Horizontal} {
		line.Color, line.Width = Light.Faint, 0.7
	}
	p.Add(g)
	return &Panel{Plot: p, Height: panelHeight}
}

// Legend is the names of a panel's lines and marks, in the order in which they were added.
type Legend struct {
	entries []entry
}

type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

// Add adds a name; its thumbnail has all the given ones, the last on top.
func (l *Legend) Add(name string, thumbs ...plot.Thumbnailer) {
	l.entries = append(l.entries, entry{name, thumbs})
}

// WritePage draws panels one below the other as "svg" or "png". An SVG has a dark form beside the
// light one, which viewers choose by the reader's preference; a PNG is light.
func WritePage(w io.Writer, format string, panels []*Panel) error {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	height := pageHeight(panels)
	if format == "svg" {
		canvas = vgsvg.New(pageWidth, height)
	} else {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(pageWidth, height), vgimg.UseDPI(pngDPI))}
	}
	c := draw.New(canvas)
	c.SetColor(Light.Paper)
	c.Fill(c.Rectangle.Path())
	for _, l := range layout(panels, height) {
		l.draw(c)
	}
	if format != "svg" {
		_, err := canvas.WriteTo(w)
		return err
	}
	var b strings.Builder
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, darkStyle(fallbackFonts(b.String())))
	return err
}

// placed is a panel with its place on the page: lines of text with their baselines, the legend's
// entries, and the rectangle of the plotting area with its axes.
type placed struct {
	panel  *Panel
	texts  []line
	thumbs []thumb
	plot   vg.Rectangle
}

type line struct {
	text string
	size vg.Length
	at   vg.Point
}

type thumb struct {
	thumbs []plot.Thumbnailer
	in     vg.Rectangle
}

// layout places panels from the top of a page down. All plotting areas begin and end at the same
// abscissae.
func layout(panels []*Panel, height vg.Length) []placed {
	out := make([]placed, len(panels))
	y := height - pageMargin
	for i, p := range panels {
		out[i] = p.place(y)
		y = out[i].plot.Min.Y - panelGap
	}
	var left, right vg.Length
	margins := make([][2]vg.Length, len(panels))
	for i, l := range out {
		data := l.bare().DataCanvas(draw.Canvas{Rectangle: l.plot})
		margins[i] = [2]vg.Length{data.Min.X - l.plot.Min.X, l.plot.Max.X - data.Max.X}
		left, right = max(left, margins[i][0]), max(right, margins[i][1])
	}
	for i := range out {
		out[i].plot.Min.X += left - margins[i][0]
		out[i].plot.Max.X -= right - margins[i][1]
	}
	return out
}

// pageHeight is the height that panels need.
func pageHeight(panels []*Panel) vg.Length {
	l := layout(panels, 0)
	return pageMargin - l[len(l)-1].plot.Min.Y
}

// place places a panel whose top is at y.
func (p *Panel) place(y vg.Length) placed {
	out := placed{panel: p}
	const width = pageWidth - 2*pageMargin
	write := func(text string, size vg.Length) {
		for _, t := range wrap(text, size, width) {
			y -= vg.Length(size * 1.25)
			out.texts = append(out.texts, line{t, size, vg.Point{X: pageMargin, Y: y + vg.Length(size*0.25)}})
		}
	}
	write(p.Title.Text, titleSize)
	write(p.Y.Label.Text, textSize)
	y -= 4
	names := make([][]string, len(p.Legend.entries))
	for i, e := range p.Legend.entries {
		names[i] = wrap(e.name, textSize, width-thumbWidth-thumbGap)
	}
	starts := columnsOf(names, width)
	columns := len(starts)
	for i := 0; i < len(names); i += columns {
		lines := 0
		for j, name := range names[i:min(i+columns, len(names))] {
			x := pageMargin + starts[j]
			out.thumbs = append(out.thumbs, thumb{p.Legend.entries[i+j].thumbs, vg.Rectangle{
				Min: vg.Point{X: x, Y: y - textSize*1.2},
				Max: vg.Point{X: x + thumbWidth, Y: y - textSize*0.1},
			}})
			for k, t := range name {
				at := vg.Point{X: x + thumbWidth + thumbGap, Y: y - textSize - vg.Length(textSize*1.3*vg.Length(k))}
				out.texts = append(out.texts, line{t, textSize, at})
			}
			lines = max(lines, len(name))
		}
		y -= vg.Length(textSize * 1.3 * vg.Length(lines))
	}
	y -= 8
	out.plot = vg.Rectangle{
		Min: vg.Point{X: pageMargin, Y: y - p.Height},
		Max: vg.Point{X: pageWidth - pageMargin, Y: y},
	}
	return out
}

// columnsOf returns where the columns of a legend begin whose names have these lines. There are as
// many columns as the width has room for, at least one.
func columnsOf(names [][]string, width vg.Length) []vg.Length {
	for columns := len(names); columns > 1; columns-- {
		widths := make([]vg.Length, columns)
		for i, name := range names {
			for _, t := range name {
				widths[i%columns] = max(widths[i%columns], thumbWidth+thumbGap+vg.Length(textWidth(t, textSize)*slack))
			}
		}
		x, starts := vg.Length(0), make([]vg.Length, columns)
		for j, w := range widths {
			starts[j] = x
			x += w + columnGap
		}
		if x-columnGap <= width {
			return starts
		}
	}
	return []vg.Length{0}
}

// bare returns the plot without what is drawn above it.
func (l *placed) bare() *plot.Plot {
	p := *l.panel.Plot
	p.Title.Text, p.Y.Label.Text, p.Legend = "", "", plot.NewLegend()
	return &p
}

// draw draws a panel at its place.
func (l *placed) draw(c draw.Canvas) {
	l.bare().Draw(draw.Canvas{Canvas: c.Canvas, Rectangle: l.plot})
	for _, t := range l.thumbs {
		for _, of := range t.thumbs {
			of.Thumbnail(&draw.Canvas{Canvas: c.Canvas, Rectangle: t.in})
		}
	}
	c.SetColor(Light.Ink)
	for _, t := range l.texts {
		c.FillString(face(t.size), t.at, t.text)
	}
}

// face is the face of all text in a size.
func face(size vg.Length) font.Face {
	return plot.DefaultTextHandler.Cache().Lookup(sans(size), size)
}

// textWidth is the width of a text in the face measured here.
func textWidth(text string, size vg.Length) vg.Length {
	f := face(size)
	return f.Width(text)
}

// wrap breaks a text into lines of a width, with room for wider faces. A word that is wider than a
// line is cut. An empty text has no lines.
func wrap(text string, size, width vg.Length) (lines []string) {
	fits := func(s string) bool { return textWidth(s, size)*slack <= width }
	current := ""
	for _, word := range strings.Fields(text) {
		if current != "" && fits(current+" "+word) {
			current += " " + word
			continue
		}
		if current != "" {
			lines = append(lines, current)
		}
		if !fits(word) {
			r := []rune(word)
			for !fits(string(r) + "…") {
				r = r[:len(r)-1]
			}
			word = string(r) + "…"
		}
		current = word
	}
	if current != "" {
		lines = append(lines, current)
	}
	return lines
}
