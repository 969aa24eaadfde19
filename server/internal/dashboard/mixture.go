package dashboard

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret/policy"
)

// mostArms is the number of arms in a picture of a mixture; it shows the sum of the others.
const mostArms = 7

// armsByShare lists the arms of all versions, those with the greatest shares first. The present
// share counts four times as much as the mean share of the versions.
func armsByShare(r *policy.Report) []string {
	var names []string
	weight := map[string]float64{}
	for i := range r.History {
		for name, q := range r.History[i].Mixture {
			if _, seen := weight[name]; !seen {
				names = append(names, name)
			}
			weight[name] += q / float64(4*len(r.History))
		}
	}
	for _, name := range names {
		weight[name] += r.Mixture[name]
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b))
	})
	return names
}

// mixturePicture plots the mixture against the versions as a stack: the arms with the greatest
// shares now, and all others together.
func mixturePicture(theme frame, r *policy.Report) (*plot.Plot, error) {
	p := theme.New("Mixture", theme.label(), "share")
	end := theme.axis(p, r)
	p.Y.Min, p.Y.Max = 0, 1
	names := armsByShare(r)
	shown := names[:min(len(names), mostArms)]
	if len(names) == mostArms+1 {
		shown = names
	}
	// The stack is drawn from the top down: each area reaches down to 0, and the next one covers
	// it.
	layers := len(shown)
	if len(names) > layers {
		layers++
	}
	for i := layers - 1; i >= 0; i-- {
		top := theme.steps(r.History, end, func(h *policy.HistoryPoint) (float64, bool) {
			if i >= len(shown) {
				return 1, true
			}
			sum := 0.0
			for _, name := range shown[:i+1] {
				sum += h.Mixture[name]
			}
			return min(sum, 1), true
		})
		area := append(slices.Clone(top), plotter.XY{X: end, Y: 0}, plotter.XY{X: top[0].X, Y: 0})
		poly, err := plotter.NewPolygon(area)
		if err != nil {
			return nil, err
		}
		poly.LineStyle.Width, poly.LineStyle.Color = vg.Points(0.7), theme.Paper
		poly.Color = theme.Faint
		if i < len(shown) {
			poly.Color = theme.Line(i)
		}
		p.Add(poly)
		defer func(i int) {
			if i < len(shown) {
				p.Legend.Add(short(shown[i]), poly)
			} else {
				p.Legend.Add(fmt.Sprintf("%d others", len(names)-len(shown)), poly)
			}
		}(i)
	}
	p.Legend.Left, p.Legend.Top, p.Legend.YOffs = false, true, 0
	longest := 0
	for _, name := range shown {
		longest = max(longest, len([]rune(short(name))))
	}
	// room for the legend beside the areas
	p.X.Max = end + theme.textScale()*(0.25+0.026*float64(longest))*(end-p.X.Min)
	inner := p.X.Tick.Marker
	p.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		return slices.DeleteFunc(inner.Ticks(low, high), func(t plot.Tick) bool { return t.Value > end })
	})
	return p, nil
}
