package picture

import (
	"fmt"
	"image/color"
	"regexp"
	"slices"
	"strings"
)

var (
	// families finds the faces that texts name. A quote in a text itself is escaped.
	families = regexp.MustCompile(`style="font-family:([^;"]*);`)
	// painted finds the colours of shapes and texts.
	painted = regexp.MustCompile(`style="(?:[^"]*;)?((?:fill|stroke):#[0-9A-F]{6})[;"]`)
)

// fallbackFonts adds to the one face that a text names those of the same width, and the generic
// family.
func fallbackFonts(svg string) string {
	return families.ReplaceAllStringFunc(svg, func(s string) string {
		name := families.FindStringSubmatch(s)[1]
		others := ",Arimo,Arial,Helvetica,sans-serif"
		switch {
		case strings.Contains(name, "Mono"):
			others = ",Cousine,Courier New,monospace"
		case strings.Contains(name, "Serif"):
			others = ",Tinos,Times New Roman,serif"
		}
		return `style="font-family:` + name + others + ";"
	})
}

// darkStyle adds a style sheet with the dark form of each colour. Viewers that know no style sheets
// show the light form.
func darkStyle(svg string) string {
	var seen []string
	for _, m := range painted.FindAllStringSubmatch(svg, -1) {
		seen = append(seen, m[1])
	}
	slices.Sort(seen)
	var b strings.Builder
	// What names no colour is black.
	fmt.Fprintf(&b, "<style>@media (prefers-color-scheme:dark){text,path{fill:%s}\n", hex(Dark.Ink))
	for _, of := range slices.Compact(seen) {
		property, light, _ := strings.Cut(of, ":")
		var c color.RGBA
		if _, err := fmt.Sscanf(light, "#%02X%02X%02X", &c.R, &c.G, &c.B); err != nil {
			continue // the pattern above has six digits
		}
		fmt.Fprintf(&b, "[style*=\"%s\"]{%s:%s!important}\n", of, property, hex(dark(c)))
	}
	b.WriteString("}</style>\n")
	const open = "xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n"
	return strings.Replace(svg, open, open+b.String(), 1)
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02X%02X%02X", r>>8, g>>8, b>>8)
}

// dark returns the form of a colour on dark paper: that of the dark theme for a colour of the light
// one; a grey as far from the paper as it was; and half way to white for any other.
func dark(c color.RGBA) color.Color {
	c.A = 255
	from := append([]color.Color{Light.Ink, Light.Faint, Light.Paper}, Light.Lines...)
	to := append([]color.Color{Dark.Ink, Dark.Faint, Dark.Paper}, Dark.Lines...)
	for i := range from {
		if near(rgba(from[i]), c) {
			return to[i]
		}
	}
	low, high, t := color.RGBA{255, 255, 255, 255}, c, 0.5
	if c.R == c.G && c.G == c.B {
		low, high, t = rgba(Dark.Paper), rgba(Dark.Ink), 1-float64(c.R)/255
	}
	mix := func(a, b uint8) uint8 { return uint8(float64(a) + float64(t*(float64(b)-float64(a))) + 0.5) }
	return color.RGBA{mix(low.R, high.R), mix(low.G, high.G), mix(low.B, high.B), 255}
}

// near reports whether two colours are the same, except for what a translucent one loses when it is
// multiplied by its opacity and divided again.
func near(a, b color.RGBA) bool {
	return max(a.R, b.R)-min(a.R, b.R) <= 2 && max(a.G, b.G)-min(a.G, b.G) <= 2 && max(a.B, b.B)-min(a.B, b.B) <= 2
}

func rgba(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
}
