package main

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
)

// newAlgorithmsCommand makes "noregret algorithms".
func newAlgorithmsCommand(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "algorithms",
		Short: "List the algorithms",
		Long: `List the algorithms that train and compare know, the project's own first: the name, whether the
threshold is tuned by default, and what it does. With --json the output is a list of {name,
tunes_threshold, description}.`,
		Example: "  noregret algorithms",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.algorithms(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", asJSON, "print JSON")
	return cmd
}

func (a *app) algorithms(asJSON bool) error {
	type entry struct {
		Name           string `json:"name"`
		TunesThreshold bool   `json:"tunes_threshold"`
		Description    string `json:"description"`
	}
	var list []entry
	g := grid{left: map[int]bool{1: true, 2: true}}
	g.add("algorithm", "threshold", "what it does")
	for _, x := range classify.Algorithms() {
		list = append(list, entry{x.Name, x.TunesThreshold, x.Description})
		rule := "zero"
		if x.TunesThreshold {
			rule = "tuned"
		}
		g.add(x.Name, rule, x.Description)
	}
	if asJSON {
		return writeJSON(a.stdout, list)
	}
	return g.write(a.stdout)
}

// newMeasuresCommand makes "noregret measures".
func newMeasuresCommand(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "measures",
		Short: "List the measures",
		Long: `List the measures by name: to which family each belongs and which algorithm trains for it by
default. Names with parameters, as fbeta:B, are used with numbers: fbeta:1.5. A measure without an
algorithm can be evaluated and not trained for. With --json the output is a list of {name, family,
algorithm}.`,
		Example: "  noregret measures",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.measures(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", asJSON, "print JSON")
	return cmd
}

// exampleParameters turn a pattern of [measure.Names] into a name that can be parsed.
var exampleParameters = map[string]string{
	"fbeta:B": "fbeta:1.5", "gower-legendre:SIGMA": "gower-legendre:3",
	"tversky:S,T": "tversky:0.3,0.7", "recalls:C1,C2": "recalls:0.9,0.1",
}

func (a *app) measures(asJSON bool) error {
	type entry struct {
		Name      string `json:"name"`
		Family    string `json:"family"`
		Algorithm string `json:"algorithm"`
	}
	var list []entry
	g := grid{left: map[int]bool{1: true, 2: true}}
	g.add("measure", "family", "default algorithm")
	for _, name := range measure.Names() {
		e := entry{Name: name}
		concrete := name
		if p, ok := exampleParameters[name]; ok {
			concrete = p
		}
		m, err := measure.Parse(concrete)
		if err != nil {
			return err
		}
		switch m.(type) {
		case measure.Concave:
			e.Family = "concave"
		case measure.Ratio:
			e.Family = "pseudo-linear"
		}
		if measure.Trainable(m) == nil {
			e.Algorithm = classify.DefaultAlgorithm(m)
		}
		list = append(list, e)
		g.add(e.Name, orDash(e.Family), orDash(e.Algorithm))
	}
	if asJSON {
		return writeJSON(a.stdout, list)
	}
	return g.write(a.stdout)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
