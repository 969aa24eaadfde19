package train

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// newMeasuresCommand makes "noregret measures".
func newMeasuresCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "measures",
		Short: "List the measures",
		Long: `List the measures by name, with the family of each and the algorithm that trains for it by
default where auto does not choose. Replace a parameter in a name by a number: fbeta:B becomes
fbeta:1.5. A measure without an algorithm is largest for a useless model, such as one that always
predicts the same: it can be evaluated but not trained for. In the names of --task multiclass and
multilabel, M is the name of any measure of two classes: macro_jaccard is the mean of jaccard over
the classes or labels, and micro_jaccard is jaccard of their summed counts. With --json the output
is a list of {name, family, algorithm}.`,
		Example: "  noregret measures\n  noregret measures --task multilabel",
		Args:    command.NoArgs,
	}, &taskOptions{task: taskNames[0], list: listMeasures})
}

// exampleParameters turn a pattern of [measure.Names] into a name that can be parsed.
var exampleParameters = map[string]string{
	"fbeta:B": "fbeta:1.5", "gower-legendre:SIGMA": "gower-legendre:3",
	"tversky:S,T": "tversky:0.3,0.7", "recalls:C1,C2": "recalls:0.9,0.1",
	"costs:MISSED,ALARM": "costs:10,1",
}

// listMeasures lists the measures of a task.
func listMeasures(task classify.Task) (any, *show.Table, error) {
	type entry struct {
		Name      string `json:"name"`
		Family    string `json:"family"`
		Algorithm string `json:"algorithm"`
	}
	var list []entry
	t := show.Table{Left: map[int]bool{1: true, 2: true}}
	t.Add("measure", "family", "default algorithm")
	if task != classify.Binary {
		for _, name := range measure.MultiNames(task == classify.Multilabel) {
			e := entry{Name: name}
			m, err := measure.ParseMulti(strings.Replace(name, "_M", "_f1", 1), task == classify.Multilabel)
			if err != nil {
				return nil, nil, err
			}
			if _, ok := m.Concave(); ok {
				e.Family = "concave"
			} else if _, ok := m.Averaged(); ok {
				e.Family = "average"
			}
			e.Algorithm = classify.DefaultAlgorithm(task, m)
			list = append(list, e)
			t.Add(e.Name, orDash(e.Family), e.Algorithm)
		}
		return list, &t, nil
	}
	for _, name := range measure.Names() {
		e := entry{Name: name}
		concrete := name
		if p, ok := exampleParameters[name]; ok {
			concrete = p
		}
		m, err := measure.Parse(concrete)
		if err != nil {
			return nil, nil, err
		}
		switch m.(type) {
		case measure.Concave:
			e.Family = "concave"
		case measure.Ratio:
			e.Family = "pseudo-linear"
		}
		if measure.Trainable(m) == nil {
			e.Algorithm = classify.DefaultAlgorithm(classify.Binary, m)
		}
		list = append(list, e)
		t.Add(e.Name, orDash(e.Family), orDash(e.Algorithm))
	}
	return list, &t, nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
