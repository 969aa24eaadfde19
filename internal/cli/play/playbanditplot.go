package play

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/play"
)

// plotBandits draws the mean regret of every algorithm with its band of 95 %, its bound as a dashed
// line of the same colour, and the lower bound as a dotted line. Both axes are logarithmic. What is
// not above 0 does not show.
func plotBandits(path string, results []play.BanditResult) error {
	first := &results[0]
	p := picture.NewPanel(banditTitle(first), "rounds", "mean regret with 95 % band; bounds dashed")
	p.Height *= 1.5
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	least, top := math.Inf(1), 0.0
	for i := range results {
		for _, q := range results[i].Curve {
			if q.Regret.Mean > 0 {
				least, top = min(least, q.Regret.Mean), max(top, q.Regret.Mean)
			}
		}
	}
	if top == 0 {
		least, top = 0.1, 1
	}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, picture.Decades{}
	p.Y.Min, p.Y.Max = max(least/1.5, top*1e-5), top*20
	for i := range results {
		if err := addBandit(p, &results[i], show.Colours[i%len(show.Colours)]); err != nil {
			return err
		}
	}
	if first.LowerBound > 0 {
		var points plotter.XYs
		slope := first.LowerBound / math.Log(float64(first.Rounds))
		for _, q := range first.Curve {
			if v := slope * math.Log(float64(q.Round)); v > p.Y.Min {
				points = append(points, plotter.XY{X: float64(q.Round), Y: min(v, p.Y.Max)})
			}
		}
		if len(points) > 1 {
			l, err := picture.Line(points, color.Black, true)
			if err != nil {
				return err
			}
			l.Dashes = []vg.Length{vg.Points(1), vg.Points(2)}
			p.Add(l)
			p.Legend.Add("lower bound of Lai and Robbins", l)
		}
	}
	p.X.Min, p.X.Max = 1, max(2, float64(first.Rounds))
	return show.Picture(path, p)
}

// addBandit adds the lines of one algorithm. They are cut off at the lower end of the axis, and
// bounds at the upper end.
func addBandit(p *picture.Panel, r *play.BanditResult, c color.Color) error {
	var mean, low, high, bound plotter.XYs
	for _, q := range r.Curve {
		x := float64(q.Round)
		if q.Regret.Mean > p.Y.Min {
			from, to := band(q.Regret)
			mean = append(mean, plotter.XY{X: x, Y: q.Regret.Mean})
			if to-to == 0 {
				low = append(low, plotter.XY{X: x, Y: max(from, p.Y.Min)})
				high = append(high, plotter.XY{X: x, Y: to})
			}
		}
		if q.Theory > p.Y.Min && q.Theory < p.Y.Max {
			bound = append(bound, plotter.XY{X: x, Y: q.Theory})
		}
	}
	if len(low) > 1 {
		ring := append(plotter.XYs{}, high...)
		for i := len(low) - 1; i >= 0; i-- {
			ring = append(ring, low[i])
		}
		poly, err := plotter.NewPolygon(ring)
		if err != nil {
			return err
		}
		red, green, blue, _ := c.RGBA()
		poly.Color = color.NRGBA{uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8), 60}
		poly.LineStyle.Width = 0
		p.Add(poly)
	}
	for k, points := range []plotter.XYs{bound, mean} {
		if len(points) < 2 {
			continue
		}
		l, err := picture.Line(points, c, k == 0)
		if err != nil {
			return err
		}
		p.Add(l)
		if k == 1 {
			p.Legend.Add(r.Learner, l)
		}
	}
	return nil
}
