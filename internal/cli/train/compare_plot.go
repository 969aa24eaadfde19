package train

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
)

// glyph is the mark of an algorithm. The project's own algorithms have filled marks in warm
// colours, the baselines hollow ones in cool colours.
func glyph(algorithm string) draw.GlyphStyle {
	g := draw.GlyphStyle{Radius: vg.Points(4)}
	names := classify.AlgorithmNames(classify.Binary)
	// The algorithm is for several classes only, where it takes the place of AMP.
	if !slices.Contains(names, algorithm) {
		algorithm = names[2]
	}
	for i, name := range names {
		if name != algorithm {
			continue
		}
		if i < len(picture.Warm) {
			g.Color, g.Shape = picture.Warm[i], []draw.GlyphDrawer{
				draw.CircleGlyph{},
				draw.BoxGlyph{},
				draw.PyramidGlyph{},
			}[i]
			return g
		}
		i -= len(picture.Warm)
		g.Color = picture.Cool[i%len(picture.Cool)]
		g.Shape = []draw.GlyphDrawer{
			draw.RingGlyph{},
			draw.SquareGlyph{},
			draw.TriangleGlyph{},
			draw.CrossGlyph{},
			draw.PlusGlyph{},
		}[i%5]
	}
	return g
}

// point is one algorithm's place in a picture, with its spread as the error.
type comparePoint struct {
	x, y, sd float64
}

func (p comparePoint) Len() int                      { return 1 }
func (p comparePoint) XY(int) (float64, float64)     { return p.x, p.y }
func (p comparePoint) YError(int) (float64, float64) { return p.sd, p.sd }
func (p comparePoint) valid() bool                   { return p.x > 0 && !math.IsNaN(p.y) }
func seconds(cell classify.Cell) (p comparePoint) {
	return comparePoint{cell.Seconds, cell.Mean, cell.SD}
}

// comparisonPanel is measure against training time for one measure.
func comparisonPanel(c *classify.Comparison, m string) (*picture.Panel, error) {
	p := picture.NewPanel(m, "seconds of training (logarithmic)", m+" on the test parts, mean ± spread")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 3}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, cell := range c.Cells {
		pt := seconds(cell)
		if cell.Measure != m || !pt.valid() {
			continue
		}
		lo, hi = min(lo, pt.x), max(hi, pt.x)
		style := glyph(cell.Algorithm)
		s, err := plotter.NewScatter(pt)
		if err != nil {
			return nil, err
		}
		s.GlyphStyle = style
		bars, err := plotter.NewYErrorBars(pt)
		if err != nil {
			return nil, err
		}
		bars.Color = style.Color
		p.Add(bars, s)
		p.Legend.Add(cell.Algorithm, s)
	}
	if math.IsInf(lo, 1) {
		return nil, noregret.Errorf(noregret.Internal, "--plot", "no algorithm has a training time and a value for %s",
			m)
	}
	p.X.Min, p.X.Max = lo/1.5, hi*1.5
	return p, nil
}

// plotComparison writes a picture with one panel a measure, atomically.
func plotComparison(path string, c *classify.Comparison, measures []string) error {
	var panels []*picture.Panel
	for _, m := range measures {
		p, err := comparisonPanel(c, m)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	return show.Picture(path, panels...)
}
