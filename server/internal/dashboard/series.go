package dashboard

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"

	"github.com/noregret/noregret/api"
)

// series is a chart as the script gets it (charts.js).
type series struct {
	Title   string `json:"title"`
	Unit    string `json:"unit"`
	Axis    string `json:"axis" enum:"time,version"` // time, in seconds since 1970, or version
	Stacked bool   `json:"stacked"`
	// X are the beginnings of the versions and the end of the last one; the values have the same
	// length, and the last one is that of the last version.
	X        []float64      `json:"x"`
	Versions []uint64       `json:"versions"`
	Lines    []seriesLine   `json:"lines"`
	Now      []seriesBounds `json:"now"`
	// Range is the range of the axis of values, nil if no value is known.
	Range []float64 `json:"range,omitempty" minItems:"2" maxItems:"2"`
}

// seriesLine is a line of a chart. Values are null where nothing is known.
type seriesLine struct {
	Name   string     `json:"name"`
	Colour int        `json:"colour"`
	Values []*float64 `json:"values"`
	Low    []*float64 `json:"low,omitempty"`
	High   []*float64 `json:"high,omitempty"`
	// Level says that the values are one constant.
	Level bool `json:"level"`
}

// seriesBounds is an interval of the current mixture.
type seriesBounds struct {
	Name   string  `json:"name"`
	Colour int     `json:"colour"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// series returns the values of a chart on an axis. Each value is kept until the next known one.
func (f frame) series(c *chart, r *api.Report) *series {
	out := &series{
		Title: c.Title, Unit: c.Unit, Axis: axisTime, Stacked: c.Stacked, Lines: []seriesLine{}, Now: []seriesBounds{},
	}
	if f.versions {
		out.Axis = axisVersions
	}
	for i := range c.History {
		out.X, out.Versions = append(out.X, f.at(&c.History[i])), append(out.Versions, c.History[i].Version)
	}
	out.X, out.Versions = append(out.X, f.axis(plot.New(), r)), append(out.Versions, r.Version)
	for _, l := range c.Lines {
		line := seriesLine{Name: l.Name, Colour: l.Colour, Level: l.Level != nil}
		kept := func(values []*float64) (out []*float64) {
			var last *float64
			for _, v := range values {
				if v != nil {
					last = v
				}
				out = append(out, last)
			}
			return append(out, last)
		}
		switch {
		case l.Level != nil:
			for range out.X {
				line.Values = append(line.Values, l.Level)
			}
		case l.Low != nil:
			line.Low, line.High = kept(l.Low), kept(l.High)
			fallthrough
		default:
			line.Values = kept(l.Values)
		}
		out.Lines = append(out.Lines, line)
	}
	if low, high, ok := c.bounds(); ok {
		out.Range = []float64{low, high}
	}
	for _, q := range c.Now {
		out.Now = append(out.Now, seriesBounds{q.Name, q.Colour, q.Low, q.High})
	}
	return out
}

// table writes the values of a chart as CSV, a row for each version. Unknown values are empty.
func table(c *chart) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"version", "time", "cause"}
	var columns [][]*float64
	add := func(name string, values []*float64) {
		head, columns = append(head, cell(name)), append(columns, values)
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Level != nil {
			values := make([]*float64, len(c.History))
			for k := range values {
				values[k] = l.Level
			}
			add(l.Name, values)
			continue
		}
		add(l.Name, l.Values)
		if l.Low != nil {
			add(l.Name+" low", l.Low)
			add(l.Name+" high", l.High)
		}
	}
	_ = w.Write(head) // a buffer takes everything
	for i, h := range c.History {
		row := []string{strconv.FormatUint(h.Version, 10), h.Time.UTC().Format(time.RFC3339Nano), cell(h.Cause)}
		for _, values := range columns {
			text := ""
			if values[i] != nil {
				text = strconv.FormatFloat(*values[i], 'g', -1, 64)
			}
			row = append(row, text)
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.Bytes()
}

// cell returns a text for a cell. A text that a spreadsheet would take for a formula begins with an
// apostrophe instead.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
