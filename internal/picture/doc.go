// Package picture holds what the pictures of the command and of the dashboard share: a page of
// plots written as SVG or PNG, lines, and a few distinguishable colours.
//
//	p := plot.New()
//	p.Add(line)
//	err := picture.Write(w, "svg", [][]*plot.Plot{{p}}, 6*vg.Inch, 4*vg.Inch)
//
// Plots for pages with text are drawn in a [Theme], light or dark; others have the style of
// gonum/plot. Any text is escaped.
package picture
