package train

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/classify/scored"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
)

// plot draws the curves of a model of two classes into the files.
func (e *evaluation) plot(paths []string) error {
	curve, ok := scored.NewCurve(e.scores)
	if !ok {
		return noregret.BadInputf("--plot", "the curves need rows of both classes, with finite scores, and at most %d",
			mostScores)
	}
	builders := []func(*scored.Curve) (*picture.Panel, error){e.precisionRecall, e.roc, e.thresholds}
	if e.model.Calibration != nil {
		builders = slices.Insert(builders, 2, e.reliability)
	}
	var panels []*picture.Panel
	for _, build := range builders {
		p, err := build(&curve)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	for _, path := range paths {
		if err := show.Picture(path, panels...); err != nil {
			return err
		}
	}
	return nil
}

// square returns a panel for two shares.
func square(title, x, y string) *picture.Panel {
	p := picture.NewPanel(title, x, y)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	return p
}

// addLine adds a line with its name.
func addLine(p *picture.Panel, name string, points plotter.XYs, colour int, dashed bool) error {
	line, err := picture.Line(points, picture.Light.Line(colour), dashed)
	if err != nil {
		return err
	}
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}

// addPoint marks the model's threshold.
func addPoint(p *picture.Panel, at plotter.XY) error {
	if at.X-at.X != 0 || at.Y-at.Y != 0 {
		return nil // undefined
	}
	s, err := plotter.NewScatter(plotter.XYs{at})
	if err != nil {
		return err
	}
	s.Shape, s.Color, s.Radius = draw.CircleGlyph{}, picture.Light.Line(1), vg.Points(3.5)
	p.Add(s)
	p.Legend.Add("the model's threshold", s)
	return nil
}

// precisionRecall is the panel of precision over recall.
func (e *evaluation) precisionRecall(c *scored.Curve) (*picture.Panel, error) {
	last := len(c.Score) - 1
	share := c.Positives[last] / (c.Positives[last] + float64(c.Ratio*c.Negatives[last]))
	p := square("precision over recall", "recall", "precision")
	var points plotter.XYs
	for i, k := range c.Positives {
		if all := k + float64(c.Ratio*c.Negatives[i]); all > 0 {
			points = append(points, plotter.XY{X: k / c.Positives[last], Y: k / all})
		}
	}
	at := plotter.XY{
		X: measure.TPR().Value(e.confusion.Two), Y: measure.Precision{}.Value(e.confusion.Two),
	}
	return p, cmp.Or(
		addLine(p, "thresholds", points, 0, false),
		addLine(p, "share of positives", plotter.XYs{{X: 0, Y: share}, {X: 1, Y: share}}, 9, true),
		addPoint(p, at),
	)
}

// roc is the panel of recall over the share of false alarms.
func (e *evaluation) roc(c *scored.Curve) (*picture.Panel, error) {
	last := len(c.Score) - 1
	p := square("ROC", "share of negatives predicted positive", "recall")
	points := make(plotter.XYs, len(c.Score))
	for i := range points {
		points[i] = plotter.XY{X: c.Negatives[i] / c.Negatives[last], Y: c.Positives[i] / c.Positives[last]}
	}
	two := e.confusion.Two
	return p, cmp.Or(
		addLine(p, "thresholds", points, 0, false),
		addLine(p, "by chance", plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, 9, true),
		addPoint(p, plotter.XY{X: 1 - measure.TNR().Value(two), Y: measure.TPR().Value(two)}),
	)
}

// thresholds is the panel of measures over the threshold, between the scores that nearly no and
// that nearly all rows exceed.
func (e *evaluation) thresholds(c *scored.Curve) (*picture.Panel, error) {
	last := len(c.Score) - 1
	p := picture.NewPanel("by threshold", "threshold", "")
	p.Y.Min, p.Y.Max = 0, 1
	var names []string
	var measures []measure.Measure
	for _, name := range []string{"tpr", "precision", e.model.Measure} {
		m, err := measure.Parse(name)
		if name == "" || err != nil || slices.Contains(names, m.Name()) {
			continue // a private model has no measure
		}
		names, measures = append(names, m.Name()), append(measures, m)
	}
	const least = 0.0005 // share of the rows beyond the ends of the axis
	negatives := float64(c.Ratio * c.Negatives[last])
	all := c.Positives[last] + negatives
	for k, m := range measures {
		var points plotter.XYs
		for i, s := range c.Score {
			tp, fp := c.Positives[i], float64(c.Ratio*c.Negatives[i])
			v := m.Value(measure.Confusion{TP: tp, FP: fp, FN: c.Positives[last] - tp, TN: negatives - fp})
			if share := (tp + fp) / all; v == v && share >= least && share <= 1-least {
				points = append(points, plotter.XY{X: s, Y: v})
			}
		}
		if len(points) < 2 {
			continue
		}
		name := names[k]
		if name == "tpr" {
			name = "recall"
		}
		if err := addLine(p, name, points, k, false); err != nil {
			return nil, err
		}
	}
	t := e.model.Models[0].Threshold
	return p, addLine(p, "the model's threshold", plotter.XYs{{X: t, Y: 0}, {X: t, Y: 1}}, 9, true)
}

// reliabilityBins is the number of bins of equal numbers of rows.
const reliabilityBins = 10

// reliability is the panel of the share of positives over the probability that was predicted.
func (e *evaluation) reliability(*scored.Curve) (*picture.Panel, error) {
	p := square("calibration", "probability predicted, mean of a tenth of the rows", "share of positives")
	rows := e.probabilities()
	slices.SortStableFunc(rows, func(a, b classify.Scored) int { return cmp.Compare(a.Score, b.Score) })
	var points plotter.XYs
	for k := range reliabilityBins {
		bin := rows[k*len(rows)/reliabilityBins : (k+1)*len(rows)/reliabilityBins]
		var sum, weight, squares, positive float64
		for _, x := range bin {
			sum += float64(x.Weight * x.Score)
			weight += x.Weight
			squares += float64(x.Weight * x.Weight)
			if x.Positive {
				positive += x.Weight
			}
		}
		if weight == 0 {
			continue
		}
		at, scale := sum/weight, weight/squares
		points = append(points, plotter.XY{X: at, Y: positive / weight})
		low, high := scored.Share{Of: float64(positive * scale), All: float64(weight * scale)}.Interval(0.95)
		bar, err := picture.Line(plotter.XYs{{X: at, Y: low}, {X: at, Y: high}}, picture.Light.Line(0), false)
		if err != nil {
			return nil, err
		}
		p.Add(bar)
		if k == 0 {
			p.Legend.Add("interval of 95 %", bar)
		}
	}
	s, err := plotter.NewScatter(points)
	if err != nil {
		return nil, err
	}
	s.Shape, s.Color, s.Radius = draw.CircleGlyph{}, picture.Light.Line(0), vg.Points(3)
	p.Add(s)
	p.Legend.Add("share of positives", s)
	// The axes end where the probabilities do, so that rare positives are seen.
	most := 0.0
	for _, x := range points {
		most = max(most, x.X, x.Y)
	}
	most = math.Min(1, math.Ceil(most*12)/10)
	p.X.Max, p.Y.Max = most, most
	return p, addLine(p, "calibrated", plotter.XYs{{X: 0, Y: 0}, {X: most, Y: most}}, 9, true)
}
