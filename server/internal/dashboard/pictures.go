package dashboard

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/server/internal/web"
)

// frame is the theme and the format of a picture.
type frame struct {
	picture.Theme
	narrow   bool // for a phone: text is twice as large relative to the width
	versions bool // the axis has policy versions, not times
}

// size returns the picture's size, in inches of 72 pixels.
func (f frame) size() (width, height vg.Length) {
	if f.narrow {
		return 3 * vg.Inch, 3.2 * vg.Inch
	}
	return 5 * vg.Inch, 3.5 * vg.Inch
}

// textScale is the size of text relative to the width, compared with the wide format.
func (f frame) textScale() float64 {
	if f.narrow {
		return 1.9
	}
	return 1
}

// pictureOf is a picture on an experiment's page.
type pictureOf struct {
	Name, Title, Text               string
	Light, Dark, Narrow, NarrowDark string // drawn
	JSON, CSV, PNG                  string
}

// picturesOf returns the pictures of an experiment. The address of a picture changes with its data.
func picturesOf(path, axis string, d *definition.Definition, r *api.Report) []pictureOf {
	matured := 0
	for _, h := range r.History {
		if h.Units > 0 {
			matured++
		}
	}
	of := func(name, title, text string) pictureOf {
		at := func(format string) string {
			return fmt.Sprintf("%s/pictures/%s.%s?at=%d-%d&axis=%s", path, name, format, r.Version, matured, axis)
		}
		const light, dark, narrow = "&theme=light", "&theme=dark", "&width=narrow"
		return pictureOf{
			Name: name, Title: title, Text: text, Light: at("svg") + light, Dark: at("svg") + dark,
			Narrow: at("svg") + light + narrow, NarrowDark: at("svg") + dark + narrow,
			JSON: at("json"), CSV: at("csv"), PNG: at("png"),
		}
	}
	out := []pictureOf{of("mixture", "the mixture",
		"The mixture over time: the share of each arm. The arms table has the current numbers.")}
	if hasLift(d, r) {
		out = append(out, of("lift", "the lift",
			"Lift over time: by how much what was served, and what would have been deployed, was better than the "+
				"control arm in the objective, by the estimates of the time, with intervals. The lift table has the "+
				"current numbers."))
	}
	if hasObjective(r) {
		out = append(out, of("objective", "the objective",
			"The objective over time: what each version's mixture was worth by the estimates of the time, beside "+
				"the best single arm and the best mixture by the current estimates."),
			of("regret", "the regret",
				"Regret over time: by how much a unit would have been better off with the best single arm, on average "+
					"over all units so far, by the current estimates. Below zero the mixture has gained."))
	}
	for i, g := range r.Guardrails {
		out = append(out, of("guardrail-"+strconv.Itoa(i), "the guardrail on "+g.Metric,
			fmt.Sprintf("Guardrail on %s over time: the mean of the units of each version, the value of its mixture "+
				"with its interval by the estimates of the time, the limit, and the current interval. The guardrails "+
				"table has the numbers.", g.Metric)))
	}
	return out
}

// pictureParams are the parameters of a picture.
type pictureParams struct {
	// mixture, lift, objective, regret, guardrail-0, ... with .svg or .png, or .json or .csv for
	// the values.
	Picture string `path:"picture"`
	Theme   string `query:"theme" enum:"light,dark" default:"light"`
	Width   string `query:"width" enum:"wide,narrow" default:"wide"`
	Axis    string `query:"axis" enum:"time,version" default:"time"`
	// Not looked at; it makes addresses differ.
	At string `query:"at"`
}

// frameOf reads the parameters of a picture.
func frameOf(r *http.Request) (frame, error) {
	var p pictureParams
	err := web.ReadQuery(r, &p)
	f := frame{Theme: picture.Light, narrow: p.Width == "narrow", versions: p.Axis == axisVersions}
	if p.Theme == "dark" {
		f.Theme = picture.Dark
	}
	return f, err
}

// picture serves one of an experiment's pictures: drawn (svg, png), or its values (json, csv).
func (d *Dashboard) picture(w http.ResponseWriter, r *http.Request) error {
	f, err := frameOf(r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	report, err := d.Source.Report(name)
	if err != nil {
		return err
	}
	def, err := d.Source.Definition(name)
	if err != nil {
		return err
	}
	format := path.Ext(r.PathValue("picture"))
	which := strings.TrimSuffix(r.PathValue("picture"), format)
	most := mostArms
	if format == ".csv" {
		most = math.MaxInt - 1
	}
	c, err := d.chartOf(which, def, report, most)
	if err != nil {
		return err
	}
	if format == ".csv" || format == ".png" {
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name+"-"+which+format))
	}
	switch format {
	case ".svg", ".png":
		return f.write(w, format[1:], c, report)
	case ".json":
		return web.WriteJSON(w, http.StatusOK, f.series(c, report))
	case ".csv":
		return web.WriteBytes(w, http.StatusOK, "text/csv; charset=utf-8", table(c))
	}
	return web.WithStatus(http.StatusNotFound, noregret.NotFound, "path", "no such picture")
}

// write answers with a picture, drawn.
func (f frame) write(w http.ResponseWriter, format string, c *chart, report *api.Report) error {
	p, err := f.draw(c, report)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	width, height := f.size()
	if err := picture.Write(&b, format, p, width, height); err != nil {
		return err
	}
	if format == "png" {
		return web.WriteBytes(w, http.StatusOK, "image/png", b.Bytes())
	}
	// Opened alone, the picture may use the styles inside it and nothing else.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	return web.WriteBytes(w, http.StatusOK, "image/svg+xml", b.Bytes())
}

// fit shortens a text that is longer than there is room for.
func (f frame) fit(text string, wide, narrow int) string {
	most := wide
	if f.narrow {
		most = narrow
	}
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// level draws a horizontal line.
func level(p *plot.Plot, name string, v float64, c color.Color) error {
	l, err := picture.Line(plotter.XYs{{X: p.X.Min, Y: v}, {X: p.X.Max, Y: v}}, c, true)
	if err != nil {
		return err
	}
	p.Add(l)
	p.Legend.Add(name, l)
	return nil
}

// headroom extends the axis beyond the values that the chart shows.
func headroom(p *plot.Plot, c *chart) {
	if low, high, ok := c.bounds(); ok {
		p.Y.Min, p.Y.Max = low, high
	}
	if !(p.Y.Max > p.Y.Min) {
		p.Y.Min, p.Y.Max = p.Y.Min-0.5, p.Y.Max+0.5
	}
	span := p.Y.Max - p.Y.Min
	p.Y.Min -= float64(0.06 * span)
	p.Y.Max += float64(0.06 * span)
}
