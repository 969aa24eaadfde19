package main

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret/internal/picture"
)

// draw plots the truth about the mixtures by version: recall beside that of the best single setting
// and of the best mixture, documentary recall beside its limit, and the shares of the arms that
// ever reached a tenth.
func (d *demonstration) draw(path string) error {
	end := float64(len(d.report.History))
	single, _ := d.world.Single()
	panel := func(title, y string) *plot.Plot {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "policy version", y
		p.Add(plotter.NewGrid())
		return p
	}
	add := func(p *plot.Plot, name string, points plotter.XYs, c color.Color, dashed bool) error {
		l, err := picture.Line(points, c, dashed)
		if err == nil {
			p.Add(l)
			p.Legend.Add(name, l)
		}
		return err
	}
	level := func(v float64) plotter.XYs { return plotter.XYs{{X: 1, Y: v}, {X: end, Y: v}} }
	over := func(of func(p []float64) float64) (out plotter.XYs) {
		for _, h := range d.report.History {
			out = append(out, plotter.XY{X: float64(h.Version), Y: of(d.world.Mixture(h.Mixture))})
		}
		return out
	}
	left, middle, right := panel("recall", "true recall at 20"), panel("guardrail", "true documentary recall"),
		panel("the mixture", "share")
	for _, l := range []struct {
		p      *plot.Plot
		name   string
		points plotter.XYs
		c      color.Color
		dashed bool
	}{
		{left, "mixture that was served", over(d.world.Value), playColours[0], false},
		{left, "best mixture that holds the guardrail", level(d.world.Value(d.world.Best())), color.Black, true},
		{left, "best single setting that does", level(d.world.Value(single)), color.Gray{130}, true},
		{middle, "mixture that was served", over(d.world.Guard), playColours[0], false},
		{middle, "limit", level(d.world.Limit()), color.Black, true},
	} {
		if err := add(l.p, l.name, l.points, l.c, l.dashed); err != nil {
			return err
		}
	}
	for k := range d.world.Arms() {
		name := d.world.Name(k)
		top := 0.0
		for _, h := range d.report.History {
			top = max(top, h.Mixture[name])
		}
		if top < 0.1 {
			continue
		}
		shares := over(func(p []float64) float64 { return p[k] })
		if err := add(right, name, shares, playColours[k%len(playColours)], k >= len(playColours)); err != nil {
			return err
		}
	}
	right.Legend.Top, right.Legend.Left = true, true
	right.Y.Min, right.Y.Max = 0, 1
	return writePlots(path, [][]*plot.Plot{{left, middle, right}}, 19*vg.Inch, 5*vg.Inch)
}
