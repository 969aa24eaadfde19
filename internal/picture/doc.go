// Package picture is what the command's pictures and the dashboard's share: a page of plots written
// as SVG or PNG, lines, and a few colours that can be told apart.
//
//	p := plot.New()
//	p.Add(line)
//	err := picture.Write(w, "svg", [][]*plot.Plot{{p}}, 6*vg.Inch, 4*vg.Inch)
//
// Plots that a page shows beside its text are drawn in a [Theme], light or dark; the others look as
// gonum/plot makes them. Text is escaped, whatever it holds.
package picture
