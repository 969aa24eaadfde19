package train

import (
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
)

// plotPrequential draws the windows of every form over the rows, one panel a measure, atomically.
func plotPrequential(path string, r *classify.PrequentialResult, measures []measure.Measure) error {
	panels := make([]*picture.Panel, len(measures))
	for i, m := range measures {
		p, err := prequentialPanel(r, m, i == 0)
		if err != nil {
			return err
		}
		panels[i] = p
	}
	return show.Picture(path, panels...)
}

// prequentialPanel is the panel of a measure. Windows where it is undefined are left out.
func prequentialPanel(r *classify.PrequentialResult, m measure.Measure, legend bool) (*picture.Panel, error) {
	p := picture.NewPanel(m.Name()+" by windows", "row at the end of the window", "")
	for i := range r.Forms {
		f := &r.Forms[i]
		if f.Name == classify.MajorityForm {
			continue // mostly at 0, or undefined
		}
		var points plotter.XYs
		for _, q := range f.Curve {
			if v := m.Value(q.Confusion); !math.IsNaN(v) {
				points = append(points, plotter.XY{X: float64(q.Row), Y: v})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = show.Colours[i%len(show.Colours)], vg.Points(1.2)
		if i >= len(show.Colours) {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line)
		if legend {
			p.Legend.Add(formName(f), line)
		}
	}
	p.X.Min, p.X.Max = 0, max(1, float64(r.Info.Rows))
	p.Y.Min, p.Y.Max = 0, 1
	return p, nil
}
