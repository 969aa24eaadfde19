package server

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/policy"
)

// frame is what a picture is drawn for.
type frame struct {
	picture.Theme
	narrow bool // for a phone: letters take twice the share of the width
}

// size is the picture's, in inches of 72 pixels.
func (f frame) size() (width, height vg.Length) {
	if f.narrow {
		return 3 * vg.Inch, 2.6 * vg.Inch
	}
	return 5 * vg.Inch, 3 * vg.Inch
}

// room is by how much what letters take is larger than in the wide form.
func (f frame) room() float64 {
	if f.narrow {
		return 1.9
	}
	return 1
}

// pictureOf is a picture on an experiment's page.
type pictureOf struct{ Light, Dark, Narrow, NarrowDark, Text string }

// picturesOf are the pictures of an experiment. Their addresses change when what they show does.
func picturesOf(path string, d *experiment.Definition, r *policy.Report) []pictureOf {
	matured := 0
	for _, h := range r.History {
		if h.Units > 0 {
			matured++
		}
	}
	of := func(name, text string) pictureOf {
		at := fmt.Sprintf("%s/pictures/%s.svg?at=%d-%d&theme=", path, name, r.Version, matured)
		const narrow = "&width=narrow"
		return pictureOf{at + "light", at + "dark", at + "light" + narrow, at + "dark" + narrow, text}
	}
	out := []pictureOf{of("mixture", "The mixture over time: the share of each arm, by policy version. The arms "+
		"table has the numbers of now.")}
	if d.Objective != nil {
		out = append(out, of("objective", "The objective over time: what each version's mixture was worth by what "+
			"was known then, beside the best single arm and the best mixture by what is known now."),
			of("regret", "Regret over time: by how much a unit would have been better off with the best single arm, "+
				"on average over all units so far, by what is known now. Below zero the mixture has gained."))
	}
	for i, g := range r.Guardrails {
		out = append(out, of("guardrail-"+strconv.Itoa(i),
			fmt.Sprintf("Guardrail on %s over time: the mean of the units of each version, the limit, and the "+
				"interval of now. The guardrails table has the numbers.", g.Metric)))
	}
	return out
}

// picture draws one of an experiment's pictures.
func (s *Server) picture(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	report, err := s.Report(name)
	if err != nil {
		return err
	}
	d, err := s.Definition(name)
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
	var p *plot.Plot
	which, ok := strings.CutSuffix(r.PathValue("picture"), ".svg")
	number, numbered := strings.CutPrefix(which, "guardrail-")
	i, bad := strconv.Atoi(number)
	switch {
	case ok && which == "mixture":
		p, err = mixturePicture(theme, report)
	case ok && which == "objective" && report.Regret != nil:
		var best *float64
		if best, err = s.optima.value(s, report); err == nil {
			p, err = objectivePicture(theme, report, best)
		}
	case ok && which == "regret" && report.Regret != nil:
		p, err = regretPicture(theme, report)
	case ok && numbered && bad == nil && i >= 0 && i < len(report.Guardrails):
		p, err = guardrailPicture(theme, d, report, i)
	default:
		return withStatus(http.StatusNotFound, noregret.NotFound, "path", "there is no such picture")
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	width, height := theme.size()
	if err := picture.Write(&b, "svg", [][]*plot.Plot{{p}}, width, height); err != nil {
		return err
	}
	// Alone it may use the styles inside it, and nothing else.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	return writeBytes(w, http.StatusOK, "image/svg+xml", b.Bytes())
}

// mostArms is how many arms a picture of a mixture shows; the others are summed up.
const mostArms = 7

// steps makes a line that keeps each value until the next version.
func steps(values []policy.HistoryPoint, end float64,
	of func(h *policy.HistoryPoint) (float64, bool),
) (out plotter.XYs) {
	for i := range values {
		y, ok := of(&values[i])
		if !ok || math.IsNaN(y) || math.IsInf(y, 0) {
			continue
		}
		if n := len(out); n > 0 {
			out = append(out, plotter.XY{X: float64(values[i].Version), Y: out[n-1].Y})
		}
		out = append(out, plotter.XY{X: float64(values[i].Version), Y: y})
	}
	if n := len(out); n > 0 {
		out = append(out, plotter.XY{X: end, Y: out[n-1].Y})
	}
	return out
}

// versions puts policy versions on the axis; a version lasts until the next number.
func versions(p *plot.Plot, r *policy.Report) (end float64) {
	first := float64(r.History[0].Version)
	end = float64(r.Version) + 1
	p.X.Min, p.X.Max = first, end
	p.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		every := math.Pow(10, math.Floor(math.Log10(max(high-low, 1))))
		if (high-low)/every < 3 {
			every /= 5
		} else if (high-low)/every < 6 {
			every /= 2
		}
		every = max(math.Floor(every), 1)
		var ticks []plot.Tick
		for v := math.Ceil(low/every) * every; v <= high; v += every {
			ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
		}
		return ticks
	})
	return end
}

// short cuts a name for a legend.
func short(name string) string {
	if r := []rune(name); len(r) > 20 {
		return string(r[:19]) + "…"
	}
	return name
}

// mixturePicture is the mixture over the versions, stacked: the arms with the greatest shares now,
// and all others together.
func mixturePicture(theme frame, r *policy.Report) (*plot.Plot, error) {
	p := theme.New("Mixture", "policy version", "share")
	end := versions(p, r)
	p.Y.Min, p.Y.Max = 0, 1
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
	shown := names[:min(len(names), mostArms)]
	if len(names) == mostArms+1 {
		shown = names
	}
	// From the top of the stack down, each area down to 0 and the next one over it.
	layers := len(shown)
	if len(names) > layers {
		layers++
	}
	for i := layers - 1; i >= 0; i-- {
		top := steps(r.History, end, func(h *policy.HistoryPoint) (float64, bool) {
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
	p.X.Max = end + theme.room()*(0.25+0.026*float64(longest))*(end-p.X.Min) // room for the legend beside the areas
	inner := p.X.Tick.Marker
	p.X.Tick.Marker = plot.TickerFunc(func(low, _ float64) []plot.Tick { return inner.Ticks(low, end) })
	return p, nil
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

// headroom makes the axis fit what is drawn, with room for a legend above.
func (f frame) headroom(p *plot.Plot, entries int) {
	if !(p.Y.Max > p.Y.Min) {
		p.Y.Min, p.Y.Max = p.Y.Min-0.5, p.Y.Max+0.5
	}
	span := p.Y.Max - p.Y.Min
	p.Y.Min -= 0.06 * span
	p.Y.Max += (0.06 + (0.1+0.03*f.room())*float64(entries)) * span
}

// objectivePicture is the objective over the versions.
func objectivePicture(theme frame, r *policy.Report, best *float64) (*plot.Plot, error) {
	p := theme.New("Objective", "policy version", "objective per unit")
	end := versions(p, r)
	value := steps(r.History, end, func(h *policy.HistoryPoint) (float64, bool) {
		if h.Value == nil {
			return 0, false
		}
		return *h.Value, true
	})
	value, left := withoutBeginning(value, r.Regret.BestSingle.Value)
	entries := 0
	if len(value) > 0 {
		l, err := picture.Line(value, theme.Line(0), false)
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add("mixture, known then", l)
		entries++
		if left {
			p.Legend.Add(fmt.Sprintf("(before version %.0f: far below)", value[0].X))
			entries++
		}
	}
	if v := r.Regret.BestSingle.Value; v != nil {
		if err := level(p, "best single arm, known now", *v, theme.Line(1)); err != nil {
			return nil, err
		}
		entries++
	}
	if best != nil {
		if err := level(p, "best mixture, known now", *best, theme.Ink); err != nil {
			return nil, err
		}
		entries++
	}
	theme.headroom(p, entries)
	return p, nil
}

// regretPicture is the regret per unit against the best single arm over the versions.
func regretPicture(theme frame, r *policy.Report) (*plot.Plot, error) {
	p := theme.New("Regret against the best single arm", "policy version", "per unit so far")
	if theme.narrow {
		p.Title.Text = "Regret"
	}
	end := versions(p, r)
	course := steps(r.History, end, func(h *policy.HistoryPoint) (float64, bool) {
		if h.Regret == nil {
			return 0, false
		}
		return *h.Regret, true
	})
	entries := 0
	if len(course) > 0 {
		l, err := picture.Line(course, theme.Line(0), false)
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add("what was served", l)
		entries++
	}
	if err := level(p, "the best single arm", 0, theme.Line(1)); err != nil {
		return nil, err
	}
	theme.headroom(p, entries+1)
	return p, nil
}

// withoutBeginning leaves out the first steps of a line that are so far below the rest and the best
// single arm that they would flatten the picture, and reports whether there are any.
func withoutBeginning(value plotter.XYs, best *float64) (plotter.XYs, bool) {
	if best == nil || len(value) == 0 {
		return value, false
	}
	last, top := value[len(value)-1].Y, math.Inf(-1)
	for _, x := range value {
		top = max(top, x.Y)
	}
	span := max(math.Abs(top-*best), math.Abs(last-*best), 1e-3*math.Abs(*best), 1e-9)
	floor := min(*best, last) - 4*span
	first := 0
	for first < len(value) && value[first].Y < floor {
		first++
	}
	return value[first:], first > 0
}

// guardrailPicture is a guardrail's metric over the versions, with its limit and the interval of
// now. Of a change relative to the control arm it is the metric itself, beside what the limit is by
// the control arm's mean of now.
func guardrailPicture(theme frame, d *experiment.Definition, r *policy.Report, i int) (*plot.Plot, error) {
	g := &r.Guardrails[i]
	p := theme.New("Guardrail: "+short(g.Metric), "policy version", short(g.Metric))
	end := versions(p, r)
	scale, known := 1.0, true
	limit := g.Limit
	if strings.HasSuffix(g.Kind, "_change") {
		m := r.Arms[d.Control.Arm].Metrics[g.Metric].Mean
		if known = m != nil; known {
			scale, limit = *m, *m*(1+g.Limit)
		}
	}
	seen := steps(r.History, end, func(h *policy.HistoryPoint) (float64, bool) {
		m := h.Metrics[g.Metric]
		if m == nil {
			return 0, false
		}
		return *m, true
	})
	entries := 0
	if len(seen) > 0 {
		l, err := picture.Line(seen, theme.Line(0), false)
		if err != nil {
			return nil, err
		}
		p.Add(l)
		p.Legend.Add("mean of the version's units", l)
		entries++
	}
	if known {
		name := map[bool]string{true: "limit: at least", false: "limit: at most"}[strings.HasPrefix(g.Kind, "min")]
		if err := level(p, name+" "+figure(limit), limit, theme.Line(1)); err != nil {
			return nil, err
		}
		entries++
	}
	at := func(v float64) float64 {
		if strings.HasSuffix(g.Kind, "_change") {
			return (1 + v) * scale
		}
		return v
	}
	if known && g.Low != nil && g.High != nil {
		x := end - 0.5
		l, err := picture.Line(plotter.XYs{{X: x, Y: at(*g.Low)}, {X: x, Y: at(*g.High)}}, theme.Line(2), false)
		if err != nil {
			return nil, err
		}
		l.Width = vg.Points(4)
		p.Add(l)
		p.Legend.Add("interval of the mixture of now", l)
		entries++
	}
	theme.headroom(p, entries)
	return p, nil
}

// optima remembers the best mixtures' values, which are costly, until an experiment has a new
// version.
type optima struct {
	mu sync.Mutex
	by map[string]optimumOf
}

type optimumOf struct {
	version uint64
	created int64
	value   *float64
}

// value is the value of the best mixture by what is known, nil where none can be told.
func (o *optima) value(s *Server, r *policy.Report) (*float64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if old, ok := o.by[r.Name]; ok && old.version == r.Version && old.created == r.Created.UnixNano() {
		return old.value, nil
	}
	best, err := s.Optimum(r.Name)
	if err != nil {
		return nil, err
	}
	var v *float64
	if best != nil {
		v = &best.Value
	}
	if o.by == nil {
		o.by = map[string]optimumOf{}
	}
	o.by[r.Name] = optimumOf{r.Version, r.Created.UnixNano(), v}
	return v, nil
}
