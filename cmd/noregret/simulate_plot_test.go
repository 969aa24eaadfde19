package main

import (
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/noregret/noregret/internal/picture"
)

// The legend is above the data of a panel, inside its frame, with no ticks beside it.
func TestLegendRoom(t *testing.T) {
	for _, lines := range []int{1, 5, 9} {
		p := plot.New()
		for range lines {
			l, err := picture.Line(plotter.XYs{{X: 0, Y: -1}, {X: 1, Y: 1}}, playColours[0], false)
			if err != nil {
				t.Fatal(err)
			}
			p.Add(l)
			p.Legend.Add("optimum over mixtures", l)
		}
		p.Y.Min, p.Y.Max = -1, 1
		legendRoom(p, lines)
		c := draw.New(vgimg.New(300, 360)) // a panel of five inches
		data := p.DataCanvas(c)
		_, transform := p.Transforms(&data)
		legend := p.Legend.Rectangle(c)
		if top := transform(1); legend.Min.Y < top {
			t.Errorf("%d lines: the legend begins at %v, the data end at %v", lines, legend.Min.Y, top)
		}
		for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if tick.Value > 1 {
				t.Errorf("%d lines: a tick at %v", lines, tick.Value)
			}
		}
	}
}
