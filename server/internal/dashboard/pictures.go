package dashboard

import (
	"bytes"
	"fmt"
	"image/color"
	"net/http"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/policy"
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
		return 3 * vg.Inch, 2.6 * vg.Inch
	}
	return 5 * vg.Inch, 3 * vg.Inch
}

// textScale is the size of text relative to the width, compared with the wide format.
func (f frame) textScale() float64 {
	if f.narrow {
		return 1.9
	}
	return 1
}

// pictureOf is a picture on an experiment's page.
type pictureOf struct{ Light, Dark, Narrow, NarrowDark, Text string }

// picturesOf returns the pictures of an experiment. The address of a picture changes with its data.
func picturesOf(path, axis string, d *definition.Definition, r *policy.Report) []pictureOf {
	matured := 0
	for _, h := range r.History {
		if h.Units > 0 {
			matured++
		}
	}
	of := func(name, text string) pictureOf {
		at := fmt.Sprintf("%s/pictures/%s.svg?at=%d-%d&axis=%s&theme=", path, name, r.Version, matured, axis)
		const narrow = "&width=narrow"
		return pictureOf{at + "light", at + "dark", at + "light" + narrow, at + "dark" + narrow, text}
	}
	out := []pictureOf{of("mixture", "The mixture over time: the share of each arm. The arms table has the "+
		"current numbers.")}
	if d.Objective != nil && d.Control != nil {
		out = append(out, of("lift", "Lift over time: by how much what was served, and what would have been "+
			"deployed, was better than the control arm in the objective, by the estimates of the time, with "+
			"intervals. The "+
			"lift table has the current numbers."))
	}
	if d.Objective != nil {
		out = append(out, of("objective", "The objective over time: what each version's mixture was worth by the "+
			"estimates of the time, beside the best single arm and the best mixture by the current estimates."),
			of("regret", "Regret over time: by how much a unit would have been better off with the best single arm, "+
				"on average over all units so far, by the current estimates. Below zero the mixture has gained."))
	}
	for i, g := range r.Guardrails {
		out = append(out, of("guardrail-"+strconv.Itoa(i),
			fmt.Sprintf("Guardrail on %s over time: the mean of the units of each version, the limit, and the "+
				"current interval. The guardrails table has the numbers.", g.Metric)))
	}
	return out
}

// picture serves one of an experiment's pictures.
func (d *Dashboard) picture(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	report, err := d.Source.Report(name)
	if err != nil {
		return err
	}
	def, err := d.Source.Definition(name)
	if err != nil {
		return err
	}
	theme := frame{Theme: picture.Light}
	switch t := r.URL.Query().Get("theme"); t {
	case "", "light":
	case "dark":
		theme.Theme = picture.Dark
	default:
		return noregret.BadInputf("theme", "%q: want light or dark", t)
	}
	switch t := r.URL.Query().Get("width"); t {
	case "", "wide":
	case "narrow":
		theme.narrow = true
	default:
		return noregret.BadInputf("width", "%q: want wide or narrow", t)
	}
	switch t := r.URL.Query().Get("axis"); t {
	case "", axisTime:
	case axisVersions:
		theme.versions = true
	default:
		return noregret.BadInputf("axis", "%q: want %s or %s", t, axisTime, axisVersions)
	}
	var p *plot.Plot
	which, ok := strings.CutSuffix(r.PathValue("picture"), ".svg")
	number, numbered := strings.CutPrefix(which, "guardrail-")
	i, bad := strconv.Atoi(number)
	switch {
	case ok && which == "mixture":
		p, err = mixturePicture(theme, report)
	case ok && which == "lift" && def.Objective != nil && def.Control != nil:
		p, err = liftPicture(theme, report)
	case ok && which == "objective" && report.Regret != nil:
		var best *float64
		if best, err = d.optima.value(d.Source, report); err == nil {
			p, err = objectivePicture(theme, report, best)
		}
	case ok && which == "regret" && report.Regret != nil:
		p, err = regretPicture(theme, report)
	case ok && numbered && bad == nil && i >= 0 && i < len(report.Guardrails):
		p, err = guardrailPicture(theme, def, report, i)
	default:
		return web.WithStatus(http.StatusNotFound, noregret.NotFound, "path", "no such picture")
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	width, height := theme.size()
	if err := picture.Write(&b, "svg", [][]*plot.Plot{{p}}, width, height); err != nil {
		return err
	}
	// Opened alone, the picture may use the styles inside it and nothing else.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	return web.WriteBytes(w, http.StatusOK, "image/svg+xml", b.Bytes())
}

// short shortens a name for a legend.
func short(name string) string {
	if r := []rune(name); len(r) > 20 {
		return string(r[:19]) + "…"
	}
	return name
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

// headroom extends the axis beyond the data, with space for a legend above.
func (f frame) headroom(p *plot.Plot, entries int) {
	if !(p.Y.Max > p.Y.Min) {
		p.Y.Min, p.Y.Max = p.Y.Min-0.5, p.Y.Max+0.5
	}
	span := p.Y.Max - p.Y.Min
	p.Y.Min -= 0.06 * span
	p.Y.Max += (0.06 + (0.1+0.03*f.textScale())*float64(entries)) * span
}
