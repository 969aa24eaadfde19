// Package picture holds what the pictures of the command and of the dashboard share: a page of
// plots written as SVG or PNG, lines, and a few distinguishable colours.
//
//	p := picture.NewPanel("regret", "rounds", "mean over 10 runs")
//	p.Add(line)
//	p.Legend.Add("ucb", line)
//	err := picture.WritePage(w, "svg", []*picture.Panel{p})
//
// A page is a file of its own: its panels stand one below the other, legends outside of the
// plotting areas, and an SVG has a light and a dark form. The dashboard places single plots on its
// pages with [Write], each in a [Theme], light or dark. Any text is escaped. Texts name a generic
// family behind the face in which they were measured.
package picture
