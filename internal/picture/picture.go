package picture

import (
	"image/color"
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

// Distinguishable colours, warm and cool.
var (
	Warm = []color.Color{color.RGBA{200, 30, 30, 255}, color.RGBA{230, 110, 0, 255}, color.RGBA{170, 0, 110, 255}}
	Cool = []color.Color{
		color.RGBA{20, 90, 170, 255},
		color.RGBA{0, 130, 130, 255},
		color.RGBA{90, 90, 90, 255},
		color.RGBA{70, 120, 40, 255},
		color.RGBA{50, 150, 210, 255},
		color.RGBA{120, 100, 190, 255},
		color.RGBA{150, 130, 90, 255},
	}
)

// margin is around the plot that [Write] draws.
const margin = vg.Length(6)

// pngDPI is the number of pixels of an inch, twice that of vgimg: sharp on today's screens.
const pngDPI = 192

// Write draws a plot as "svg" or "png". Its legend is between the title and the plotting area,
// where it covers no data.
func Write(w io.Writer, format string, p *plot.Plot, width, height vg.Length) error {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if format == "svg" {
		canvas = vgsvg.New(width, height)
	} else {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))}
	}
	all := draw.New(canvas)
	all.SetColor(p.BackgroundColor)
	all.Fill(all.Rectangle.Path())
	at := draw.Crop(all, margin, -margin, margin, -margin)
	bare := *p
	bare.BackgroundColor, bare.Legend = nil, plot.NewLegend()
	below := draw.Crop(at, 0, 0, 0, -p.Title.TextStyle.Rectangle(p.Title.Text).Size().Y-p.Title.Padding)
	if legend := p.Legend.Rectangle(below).Size().Y; legend > 0 {
		bare.Title.Padding += legend + p.Legend.TextStyle.FontExtents().Descent + p.Title.Padding
	}
	bare.Draw(at)
	p.Legend.Draw(below)
	if format != "svg" {
		_, err := canvas.WriteTo(w)
		return err
	}
	var b strings.Builder
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, fallbackFonts(b.String()))
	return err
}

// Line returns a line through points; a dashed line is thinner. Points that are not finite are an
// error.
func Line(points plotter.XYs, c color.Color, dashed bool) (*plotter.Line, error) {
	l, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = c, vg.Points(1.5)
	if dashed {
		l.Dashes, l.Width = []vg.Length{vg.Points(5), vg.Points(3)}, vg.Points(1)
	}
	return l, nil
}

// Theme holds the colours of a plot on a page.
type Theme struct {
	// Ink is for text and axes, Faint for grids, Paper behind the plot.
	Ink, Faint, Paper color.Color
	// Lines are the colours of the data, in this order.
	Lines []color.Color
}

// Light and Dark are the themes of the pages; their backgrounds are those of the style sheet.
var (
	Light = Theme{
		Ink: color.RGBA{28, 32, 38, 255}, Faint: color.RGBA{222, 226, 231, 255}, Paper: color.RGBA{255, 255, 255, 255},
		Lines: append(append([]color.Color{}, Cool[0], Warm[1]), Cool[1], Warm[2], Cool[3], Cool[4], Cool[5], Cool[6],
			Warm[0], Cool[2]),
	}
	Dark = Theme{
		Ink: color.RGBA{226, 230, 235, 255}, Faint: color.RGBA{58, 64, 73, 255}, Paper: color.RGBA{27, 31, 37, 255},
		Lines: []color.Color{
			color.RGBA{110, 176, 255, 255},
			color.RGBA{255, 166, 77, 255},
			color.RGBA{77, 208, 200, 255},
			color.RGBA{255, 128, 200, 255},
			color.RGBA{154, 214, 110, 255},
			color.RGBA{150, 210, 255, 255},
			color.RGBA{190, 170, 255, 255},
			color.RGBA{214, 196, 150, 255},
			color.RGBA{255, 120, 120, 255},
			color.RGBA{170, 176, 184, 255},
		},
	}
)

// Line returns the i-th colour of the theme's lines, repeating them cyclically.
func (t Theme) Line(i int) color.Color { return t.Lines[i%len(t.Lines)] }

// New returns an empty plot in the theme: a sans-serif face, a grid, and the legend at the top.
func (t Theme) New(title, x, y string) *plot.Plot {
	p := t.styled(title, x, y)
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = t.Faint, t.Faint
	p.Add(g)
	return p
}

// styled returns a plot in the theme without a grid.
func (t Theme) styled(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.BackgroundColor = t.Paper
	style := func(s *draw.TextStyle, size vg.Length) {
		s.Color = t.Ink
		s.Font = sans(size)
	}
	style(&p.Title.TextStyle, vg.Points(13))
	style(&p.Legend.TextStyle, vg.Points(10))
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		style(&a.Label.TextStyle, vg.Points(11))
		style(&a.Tick.Label, vg.Points(10))
		a.LineStyle.Color, a.Tick.LineStyle.Color = t.Ink, t.Ink
		a.Tick.Marker = Ticks{}
	}
	p.Title.Padding = vg.Points(6)
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2.5)
	return p
}

// sans is the face of all text.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}
