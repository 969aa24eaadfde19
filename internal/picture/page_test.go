package picture

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noregret/noregret/internal/picture/svgcheck"
)

// Every picture of the documentation is legible on light and dark pages, with any fonts, and no
// text lies on the data.
func TestPicturesOfTheDocs(t *testing.T) {
	paths, err := filepath.Glob("../../docs/*.svg")
	studies, _ := filepath.Glob("../../lab/docs/*.svg")
	paths = append(paths, studies...)
	if err != nil || len(paths) < 17 {
		t.Fatalf("%q, %v", paths, err)
	}
	for _, path := range paths {
		svg, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range svgcheck.Faults(svg) {
			t.Errorf("%s: %s", filepath.Base(path), fault)
		}
	}
}

// crowded returns panels whose lines fill the plotting area, with hostile and long names.
func crowded(t *testing.T, lines int) []*Panel {
	t.Helper()
	long := strings.Repeat("mean regret with 95 % bands, bounds dashed; ", 4)
	var out []*Panel
	for range 3 {
		p := NewPanel(long, "rounds", long)
		for i := range lines {
			for k := range 2 {
				y := float64(i) / float64(lines)
				l, err := Line(plotter.XYs{{X: 0, Y: y}, {X: 1e6, Y: 1 - y}}, Light.Line(i), k == 1)
				if err != nil {
					t.Fatal(err)
				}
				p.Add(l)
				p.Legend.Add([]string{
					"ucb", strings.Repeat("w", 300), `</text><script>"font-family:x;"`, long,
				}[(i+k)%4], l)
			}
		}
		out = append(out, p)
	}
	return out
}

func TestPage(t *testing.T) {
	for _, lines := range []int{1, 5, 20} {
		var b bytes.Buffer
		if err := WritePage(&b, "svg", crowded(t, lines)); err != nil {
			t.Fatal(err)
		}
		for _, fault := range svgcheck.Faults(b.Bytes()) {
			t.Errorf("%d lines: %s", lines, fault)
		}
		if err := xml.Unmarshal(b.Bytes(), new(struct{})); err != nil || strings.Contains(b.String(), "<script") {
			t.Errorf("%d lines: not well-formed, or a name is markup: %v", lines, err)
		}
		var again bytes.Buffer
		if err := WritePage(&again, "svg", crowded(t, lines)); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%d lines: the same panels give another picture, %v", lines, err)
		}
	}
	var bitmap bytes.Buffer
	if err := WritePage(&bitmap, "png", crowded(t, 1)[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(&bitmap); err != nil {
		t.Error(err)
	}
}

// Legends are above the plotting areas, panels do not meet, and all plotting areas have the same
// left and right ends, whatever the widths of their numbers.
func TestLayout(t *testing.T) {
	panels := crowded(t, 7)
	panels[1].Y.Max = 123456789
	height := pageHeight(panels)
	top, left, right := height, 0.0, 0.0
	for i, l := range layout(panels, height) {
		for _, s := range l.texts {
			if s.at.Y < l.plot.Max.Y || s.at.Y+s.size > top {
				t.Errorf("panel %d: %q at %v is not between %v and %v", i, s.text, s.at.Y, l.plot.Max.Y, top)
			}
		}
		for _, s := range l.thumbs {
			if s.in.Min.Y < l.plot.Max.Y || s.in.Max.Y > top {
				t.Errorf("panel %d: a thumbnail in %v is not between %v and %v", i, s.in, l.plot.Max.Y, top)
			}
		}
		data := l.bare().DataCanvas(draw.Canvas{Rectangle: l.plot})
		if i == 0 {
			left, right = float64(data.Min.X), float64(data.Max.X)
		}
		if d := float64(data.Min.X) - left; d > 0.5 || d < -0.5 {
			t.Errorf("panel %d begins at %v, the first at %v", i, data.Min.X, left)
		}
		if d := float64(data.Max.X) - right; d > 0.5 || d < -0.5 {
			t.Errorf("panel %d ends at %v, the first at %v", i, data.Max.X, right)
		}
		top = l.plot.Min.Y
	}
	if top < 0 {
		t.Errorf("the last panel ends at %v", top)
	}
}
