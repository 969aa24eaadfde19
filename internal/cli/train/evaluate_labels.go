package train

import (
	"fmt"
	"io"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/cli/show"
)

// oneLabel holds the results for a class or label against all others.
type oneLabel struct {
	label                 string
	confusion             measure.Confusion
	recall, precision, f1 show.Number
}

func (e *evaluation) labels() []oneLabel {
	out := make([]oneLabel, len(e.model.Labels))
	confusions := []measure.Confusion(e.confusion.Labels)
	if e.model.Task == classify.Multiclass {
		confusions = e.confusion.Classes.OneVsRest(nil)
	}
	for k, l := range e.model.Labels {
		c := confusions[k]
		out[k] = oneLabel{
			l, c, show.Number(measure.TPR().Value(c)), show.Number(measure.Precision{}.Value(c)),
			show.Number(measure.FBeta{B: 1}.Value(c)),
		}
	}
	return out
}

// classJSON and labelJSON are a class and a label in the output of --json.
type classJSON struct {
	Label     string      `json:"label"`
	Weight    float64     `json:"weight"`
	Predicted float64     `json:"predicted"`
	Recall    show.Number `json:"recall"`
	Precision show.Number `json:"precision"`
	F1        show.Number `json:"f1"`
}

type labelJSON struct {
	Label string `json:"label"`
	measure.Confusion
	Recall    show.Number `json:"recall"`
	Precision show.Number `json:"precision"`
	F1        show.Number `json:"f1"`
}

func (e *evaluation) classesJSON() (list []classJSON) {
	for _, l := range e.labels() {
		c := l.confusion
		list = append(list, classJSON{l.label, c.Positives(), c.TP + c.FP, l.recall, l.precision, l.f1})
	}
	return list
}

func (e *evaluation) labelsJSON() (list []labelJSON) {
	for _, l := range e.labels() {
		list = append(list, labelJSON{l.label, l.confusion, l.recall, l.precision, l.f1})
	}
	return list
}

// matrix is the confusion matrix: a row for each true class.
func (e *evaluation) matrix() [][]float64 {
	c := e.confusion.Classes
	out := make([][]float64, c.Classes())
	for k := range out {
		for j := range c.Classes() {
			out[k] = append(out[k], c.Count(k, j))
		}
	}
	return out
}

// widestMatrix is the largest number of classes whose confusion matrix is printed as a table.
const widestMatrix = 30

// writeLabels prints the confusion matrix and a line for each class or label.
func (e *evaluation) writeLabels(w io.Writer) error {
	rows := show.Count(int(e.info.Rows), "row", "rows")
	t := show.Table{}
	if e.model.Task == classify.Multilabel {
		t.Add(rows+", label", "has it", "predicted", "recall", "precision", "f1")
	} else {
		if len(e.model.Labels) <= widestMatrix {
			matrix := show.Table{}
			head := []string{fmt.Sprintf("%s, labelled", rows)}
			for _, l := range e.model.Labels {
				head = append(head, "as "+l)
			}
			matrix.Add(head...)
			for k, counts := range e.matrix() {
				line := []string{e.model.Labels[k]}
				for _, v := range counts {
					line = append(line, show.Whole(v))
				}
				matrix.Add(line...)
			}
			if err := matrix.Write(w); err != nil {
				return err
			}
			t.Add("")
		}
		t.Add("class", "rows", "predicted", "recall", "precision", "f1")
	}
	for _, l := range e.labels() {
		c := l.confusion
		t.Add(l.label, show.Whole(c.Positives()), show.Whole(c.TP+c.FP), l.recall.String(), l.precision.String(),
			l.f1.String())
	}
	return t.Write(w)
}
