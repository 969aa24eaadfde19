package demo

import (
	"image/color"

	"gonum.org/v1/plot/plotter"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/picture"
)

// draw plots the truth about the mixtures by version: recall beside that of the best single setting
// and of the best mixture, documentary recall beside its limit, and the shares of the arms that
// ever reached a tenth.
func (d *demonstration) draw(path string) error {
	end := float64(len(d.report.History))
	single, _ := d.world.Single()
	panel := func(title, y string) *picture.Panel { return picture.NewPanel(title, "policy version", y) }
	add := func(p *picture.Panel, name string, points plotter.XYs, c color.Color, dashed bool) error {
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
	recall, guardrail, mixture := panel("recall", "true recall at 20"), panel("guardrail", "true documentary recall"),
		panel("the mixture", "share")
	for _, l := range []struct {
		p      *picture.Panel
		name   string
		points plotter.XYs
		c      color.Color
		dashed bool
	}{
		{recall, "mixture that was served", over(d.world.Value), show.Colours[0], false},
		{recall, "best mixture that holds the guardrail", level(d.world.Value(d.world.Best())), color.Black, true},
		{recall, "best single setting that does", level(d.world.Value(single)), color.Gray{130}, true},
		{guardrail, "mixture that was served", over(d.world.Guard), show.Colours[0], false},
		{guardrail, "limit", level(d.world.Limit()), color.Black, true},
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
		if err := add(mixture, name, shares, show.Colours[k%len(show.Colours)], k >= len(show.Colours)); err != nil {
			return err
		}
	}
	mixture.Y.Min, mixture.Y.Max = 0, 1
	return show.Picture(path, recall, guardrail, mixture)
}
