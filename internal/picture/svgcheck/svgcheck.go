// Package svgcheck finds faults of the pictures that package picture writes as SVG, for tests:
//
//	for _, fault := range svgcheck.Faults(svg) {
//		t.Error(fault)
//	}
package svgcheck

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// Slack is what a text may be wider in a reader's face than in the one that is measured here.
const slack = 1.08

// The least contrast of texts, and of lines, by the Web Content Accessibility Guidelines 2.1,
// 1.4.3 and 1.4.11.
const (
	textContrast = 4.5
	lineContrast = 3
)

// Faults returns the faults of a picture, none for a good one:
//
//   - a text whose family does not end in a generic one,
//   - a text that reaches beyond the view box, or into another text,
//   - a line or an area of the data that runs through a text,
//   - no opaque paper below all, or a colour without a dark form,
//   - a text or a line with too little contrast to the paper, light or dark.
//
// Widths of texts are those of Liberation Sans and eight hundredths more.
func Faults(svg []byte) []string {
	p, err := parse(svg)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	report := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for i, t := range p.texts {
		if !generic.MatchString(t.style["font-family"]) {
			report("text %q: font-family:%s names no generic family", t.text, t.style["font-family"])
		}
		b := t.box
		if b.left < 0 || b.low < 0 || b.right > p.width || b.high > p.height {
			report("text %q: %v is not in the picture of %g by %g", t.text, b, p.width, p.height)
		}
		for _, other := range p.texts[:i] {
			if b.meets(other.box) {
				report("text %q covers %q", t.text, other.text)
			}
		}
		for _, s := range p.shapes {
			if s.data() && s.touches(b) {
				report("text %q lies on a curve or an area (%s)", t.text, s.paint())
				break
			}
		}
	}
	return append(faults, p.colours()...)
}

var generic = regexp.MustCompile(`,\s*(sans-serif|serif|monospace)$`)

// box is a rectangle; its ordinates grow downwards.
type box struct{ left, low, right, high float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.low < o.high && o.low < b.high
}

// matrix is an affine map: x' = ax + cy + e, y' = bx + dy + f.
type matrix struct{ a, b, c, d, e, f float64 }

func (m matrix) of(x, y float64) (float64, float64) {
	return float64(m.a*x) + float64(m.c*y) + m.e, float64(m.b*x) + float64(m.d*y) + m.f
}

func (m matrix) after(n matrix) matrix {
	a, b := m.of(n.a, n.b)
	c, d := m.of(n.c, n.d)
	e, f := m.of(n.e, n.f)
	return matrix{a - m.e, b - m.f, c - m.e, d - m.f, e, f}
}

type text struct {
	text  string
	style map[string]string
	box   box
}

// shape is a path with straight lines between its points; arcs are replaced by their chords.
type shape struct {
	style map[string]string
	paths [][][2]float64
}

// data reports whether a shape is a curve or an area of the data, not an axis, a grid or the paper.
func (s *shape) data() bool {
	if s.filled() {
		return s.style["paper"] == ""
	}
	width, _ := strconv.ParseFloat(s.style["stroke-width"], 64)
	return s.style["stroke-width"] == "" || width >= 1
}

func (s *shape) filled() bool { return s.style["fill"] != "none" }

func (s *shape) paint() string {
	if s.filled() {
		return "fill:" + s.style["fill"]
	}
	return "stroke:" + s.style["stroke"]
}

// touches reports whether the shape has a point in a box.
func (s *shape) touches(b box) bool {
	for _, path := range s.paths {
		for i := range path {
			j := i + 1
			if j == len(path) {
				if !s.filled() {
					break
				}
				j = 0
			}
			if crosses(path[i], path[j], b) {
				return true
			}
		}
		if s.filled() && inside(path, (b.left+b.right)/2, (b.low+b.high)/2) {
			return true
		}
	}
	return false
}

// crosses reports whether the line from p to q has a point in a box (Liang and Barsky 1984).
func crosses(p, q [2]float64, b box) bool {
	from, to := 0.0, 1.0
	for k, ends := range [2][2]float64{{b.left, b.right}, {b.low, b.high}} {
		d := q[k] - p[k]
		if d == 0 {
			if p[k] <= ends[0] || p[k] >= ends[1] {
				return false
			}
			continue
		}
		s, t := (ends[0]-p[k])/d, (ends[1]-p[k])/d
		from, to = max(from, min(s, t)), min(to, max(s, t))
	}
	return from < to
}

// inside reports whether a polygon contains a point.
func inside(path [][2]float64, x, y float64) bool {
	in := false
	for i, p := range path {
		q := path[(i+1)%len(path)]
		if (p[1] > y) == (q[1] > y) {
			continue
		}
		part := (y - p[1]) / (q[1] - p[1])
		if across := float64(part * (q[0] - p[0])); x < p[0]+across {
			in = !in
		}
	}
	return in
}

// picture is a parsed SVG.
type picture struct {
	width, height float64
	texts         []text
	shapes        []shape
	sheet         string
}

// parse reads an SVG.
func parse(svg []byte) (*picture, error) {
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	p := &picture{}
	stack := []matrix{{a: 1, d: 1}}
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.StartElement:
			at := map[string]string{}
			for _, a := range t.Attr {
				at[a.Name.Local] = a.Value
			}
			m := stack[len(stack)-1].after(transform(at["transform"]))
			stack = append(stack, m)
			switch t.Name.Local {
			case "svg":
				if _, err := fmt.Sscanf(at["viewBox"], "0 0 %g %g", &p.width, &p.height); err != nil {
					return nil, fmt.Errorf("viewBox %q: %w", at["viewBox"], err)
				}
			case "style":
				if err := d.DecodeElement(&p.sheet, &t); err != nil {
					return nil, err
				}
				stack = stack[:len(stack)-1]
			case "text":
				var s string
				if err := d.DecodeElement(&s, &t); err != nil {
					return nil, err
				}
				stack = stack[:len(stack)-1]
				p.texts = append(p.texts, textOf(s, at, m))
			case "path":
				p.shapes = append(p.shapes, shapeOf(at, m))
			}
		}
	}
	if len(p.shapes) > 0 {
		if s := &p.shapes[0]; s.style["fill-opacity"] == "" && s.filled() && p.covered(s) {
			s.style["paper"] = s.style["fill"]
		}
	}
	return p, nil
}

// covered reports whether a shape covers the picture.
func (p *picture) covered(s *shape) bool {
	for _, x := range []float64{0.01, p.width - 0.01} {
		for _, y := range []float64{0.01, p.height - 0.01} {
			if !inside(s.paths[0], x, y) {
				return false
			}
		}
	}
	return true
}

func styles(s string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(s, ";") {
		if k, v, ok := strings.Cut(part, ":"); ok {
			out[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return out
}

var step = regexp.MustCompile(`(translate|scale|rotate)\(([^)]*)\)`)

// transform reads an attribute of that name.
func transform(s string) matrix {
	m := matrix{a: 1, d: 1}
	for _, f := range step.FindAllStringSubmatch(s, -1) {
		var v [2]float64
		for i, n := range strings.FieldsFunc(f[2], func(r rune) bool { return r == ',' || r == ' ' }) {
			if i < len(v) {
				v[i], _ = strconv.ParseFloat(n, 64)
			}
		}
		switch f[1] {
		case "translate":
			m = m.after(matrix{1, 0, 0, 1, v[0], v[1]})
		case "scale":
			m = m.after(matrix{a: v[0], d: v[1]})
		case "rotate":
			sin, cos := math.Sincos(v[0] * math.Pi / 180)
			m = m.after(matrix{cos, sin, -sin, cos, 0, 0})
		}
	}
	return m
}

// textOf returns a text with the box that it needs.
func textOf(s string, at map[string]string, m matrix) text {
	t := text{text: s, style: styles(at["style"])}
	size, _ := strconv.ParseFloat(strings.TrimSuffix(t.style["font-size"], "px"), 64)
	x, _ := strconv.ParseFloat(at["x"], 64)
	y, _ := strconv.ParseFloat(at["y"], 64)
	face := plot.DefaultTextHandler.Cache().Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(size))
	width := float64(face.Width(s)) * slack
	// Letters reach from a fifth below the line to seven tenths above it, except in rare ones.
	t.box = box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, corner := range [][2]float64{{0, 0.2}, {width, 0.2}, {0, -0.7}, {width, -0.7}} {
		u, v := m.of(x+corner[0], y+float64(corner[1]*size))
		t.box = box{min(t.box.left, u), min(t.box.low, v), max(t.box.right, u), max(t.box.high, v)}
	}
	return t
}

var command = regexp.MustCompile(`([MLAZ])([^MLAZ]*)`)

// shapeOf reads a path of moves, lines and arcs.
func shapeOf(at map[string]string, m matrix) shape {
	s := shape{style: styles(at["style"])}
	for _, c := range command.FindAllStringSubmatch(at["d"], -1) {
		n := strings.FieldsFunc(c[2], func(r rune) bool { return r == ',' || r == ' ' })
		if c[1] == "M" {
			s.paths = append(s.paths, nil)
		}
		if len(n) < 2 {
			continue
		}
		x, _ := strconv.ParseFloat(n[len(n)-2], 64)
		y, _ := strconv.ParseFloat(n[len(n)-1], 64)
		u, v := m.of(x, y)
		last := len(s.paths) - 1
		s.paths[last] = append(s.paths[last], [2]float64{u, v})
	}
	return s
}

var rule = regexp.MustCompile(`\[style\*="((?:fill|stroke):#[0-9A-F]{6})"\]\{(?:fill|stroke):(#[0-9A-F]{6})!important\}`)

// colours returns the faults of a picture's colours.
func (p *picture) colours() (faults []string) {
	if !strings.Contains(p.sheet, "@media (prefers-color-scheme:dark)") {
		return []string{"no style for dark pages"}
	}
	dark := map[string]string{}
	for _, m := range rule.FindAllStringSubmatch(p.sheet, -1) {
		dark[m[1]] = m[2]
	}
	paper := ""
	if len(p.shapes) > 0 {
		paper = p.shapes[0].style["paper"]
	}
	if paper == "" || dark["fill:"+paper] == "" {
		return []string{"no opaque paper, light and dark, below the picture"}
	}
	seen := map[string]bool{}
	check := func(of, light string, least float64) {
		if seen[of+light] {
			return
		}
		seen[of+light] = true
		d := dark[of+":"+light]
		if d == "" {
			faults = append(faults, fmt.Sprintf("%s:%s has no dark form", of, light))
			return
		}
		for _, pair := range [][2]string{{light, paper}, {d, dark["fill:"+paper]}} {
			if c := contrast(pair[0], pair[1]); c < least {
				faults = append(faults,
					fmt.Sprintf("%s:%s on %s has contrast %.2f, want %g", of, pair[0], pair[1], c, least))
			}
		}
	}
	for _, t := range p.texts {
		if t.style["fill"] != "" { // else black, which the sheet replaces
			check("fill", t.style["fill"], textContrast)
		}
	}
	for i := range p.shapes {
		s := &p.shapes[i]
		switch {
		case s.filled() && s.style["fill"] != "":
			check("fill", s.style["fill"], 0)
		case !s.filled() && s.data():
			check("stroke", s.style["stroke"], lineContrast)
		case !s.filled():
			check("stroke", s.style["stroke"], 0)
		}
	}
	return faults
}

// contrast is that of WCAG 2.1 between two colours.
func contrast(a, b string) float64 {
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return max(x, y) / min(x, y)
}

// luminance is the relative luminance of WCAG 2.1.
func luminance(hex string) float64 {
	var c [3]uint8
	_, _ = fmt.Sscanf(hex, "#%02X%02X%02X", &c[0], &c[1], &c[2])
	sum := 0.0
	for i, w := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += float64(w * v)
	}
	return sum
}
