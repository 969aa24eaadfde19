// Package dashboard serves the pages of the decision service: the list of experiments, a page for
// each with its pictures, the explanation of a decision, the forms that change an experiment, and
// the form to log in.
//
// Pages are rendered here and work without a script. With it, live.js replaces the parts of a page
// that have changed, as a stream of server-sent events brings them. A page and its stream render
// the same parts (parts.html), and all viewers of a page share one rendering.
//
// A picture is a chart of values by version. It is drawn as SVG or PNG, and written as CSV, or as
// JSON for charts.js, which replaces the drawing by an interactive chart of uPlot (pages/uplot).
//
// The package gets its data from a [Source], changes experiments by an [Editor], and knows nothing
// of the log or of the API.
package dashboard
