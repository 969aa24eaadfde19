package auto

import (
	"fmt"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/lab/internal/study"
)

// line is a measure on a set.
type line struct {
	set, measure      string
	auto, best, usual classify.Cell
}

// table gathers the lines.
type table struct {
	lines   []line
	covered study.Table
}

// add adds the cells of a measure on a set.
func (t *table) add(set, measure, usual string, c *classify.Comparison) {
	l := line{set: set, measure: measure}
	named := func(a string) bool { return a != classify.Auto }
	if best := c.Best(measure, named); best != nil {
		l.best = *best
	}
	for _, x := range c.Cells {
		switch x.Algorithm {
		case classify.Auto:
			l.auto = x
		case usual:
			l.usual = x
		}
	}
	t.lines = append(t.lines, l)
}

// behind is by how many spreads of the best algorithm auto is behind it.
func (l *line) behind() float64 { return (l.best.Mean - l.auto.Mean) / max(l.best.SD, 1e-9) }

// report has the lines and how often auto is no more than a spread behind.
func (t *table) report() *study.Report {
	out := study.Table{
		Title: "auto beside each algorithm by name",
		Columns: []string{
			"set", "measure", "auto", "best by name", "its name", "usual", "behind, in spreads",
			"time, in trainings", "seconds",
		},
	}
	within, ahead := 0, 0
	lead, time := 0.0, 0.0
	for i := range t.lines {
		l := &t.lines[i]
		ratio := l.auto.Seconds / l.usual.Seconds
		out.Add(l.set, l.measure, cellOf(l.auto), cellOf(l.best), l.best.Algorithm, cellOf(l.usual),
			study.Number("%.2f", l.behind()), study.Number("%.1f", ratio), study.Number("%.2f", l.auto.Seconds))
		if l.behind() <= 1 {
			within++
		}
		if l.auto.Mean >= l.best.Mean {
			ahead++
		}
		lead += l.auto.Mean - l.best.Mean
		time += ratio
	}
	if len(t.lines) == 0 {
		t.covered.Title = "intervals of 95 %"
		t.covered.Columns = []string{
			"set", "algorithm", "trained for", "figure", "holds the value", "figure less value", "width",
		}
		return &study.Report{Tables: []study.Table{t.covered}}
	}
	n := float64(len(t.lines))
	out.Notes = fmt.Sprintf("Auto is at most one spread behind the best single algorithm in %d of %d lines, and at "+
		"least as good in %d; its mean lead is %+.3f. It takes %.1f trainings of the usual algorithm in the mean.\n",
		within, len(t.lines), ahead, lead/n, time/n)
	return &study.Report{Tables: []study.Table{out}}
}

// cellOf is a mean with its spread.
func cellOf(c classify.Cell) study.Cell {
	return study.Estimate{Mean: c.Mean, Error: c.SD}.Cell("%.3f")
}
