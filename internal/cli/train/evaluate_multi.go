package train

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/show"
)

// evaluatedClasses and evaluatedLabels are the measures that evaluate reports for several classes
// and for several labels, in the order of its output.
var (
	evaluatedClasses = []string{
		"accuracy", "macro_f1", "macro_precision", "macro_recall", "min", "hmean", "qmean", "gmean",
	}
	evaluatedLabels = []string{
		"macro_f1", "micro_f1", "macro_precision", "micro_precision", "macro_recall", "micro_recall",
	}
)

// multiEvaluation holds the results of a model of several classes or labels on data.
type multiEvaluation struct {
	model     *classify.MultiModel
	info      dataset.Info
	confusion *classify.MultiConfusion
}

// runMulti evaluates a model of several classes or labels.
func (o *evaluateOptions) runMulti(ctx context.Context, r *modelReader, inputs []string) error {
	m := r.multi
	if o.newLabels == "negative" && m.Task == classify.Multiclass {
		return noregret.Errorf(noregret.Usage, "--new-labels", "a model of several classes has no negative class")
	}
	counter, err := classify.NewCounter(&r.joint)
	if err != nil {
		return err
	}
	targets := targetMap{model: m, others: o.newLabels == "negative"}
	info, err := r.each(ctx, inputs, func(s *dataset.Stream, b *dataset.Block) error {
		if err := targets.extend(s); err != nil {
			return err
		}
		for i := range b.Len() {
			index, value := b.Row(i)
			counter.Add(index, value, targets.of(b, i), b.RowWeight(i))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if info.Rows == 0 {
		return noregret.BadInputf(strings.Join(inputs, ", "), "no examples")
	}
	if len(targets.unknown) > 0 {
		r.app.Note("labels that training did not have are left out: %s", show.Listed(targets.unknown))
	}
	e := &multiEvaluation{model: m, info: info, confusion: counter.Confusion()}
	if missing := e.missing(); len(missing) > 0 {
		r.app.Note("warning: no example has the class %s, so that measures of the recalls are undefined",
			show.Listed(missing))
	}
	if o.json {
		return e.writeJSON(r.app.Stdout)
	}
	return e.write(r.app.Stdout)
}

// missing names the classes without examples.
func (e *multiEvaluation) missing() []string {
	if e.model.Task == classify.Multilabel {
		return nil
	}
	var names []string
	for k, r := range e.confusion.Classes.Recalls(nil) {
		if r != r {
			names = append(names, e.model.Labels[k])
		}
	}
	return names
}

// values returns the measures in order, and adds the model's own if it is missing.
func (e *multiEvaluation) values() (names []string, values []show.Number, err error) {
	labels := e.model.Task == classify.Multilabel
	list := evaluatedClasses
	if labels {
		list = evaluatedLabels
	}
	trained, found := e.model.Measure, false
	for _, name := range list {
		m, err := measure.ParseMulti(name, labels)
		if err != nil {
			return nil, nil, err
		}
		found = found || m.Name() == trained
		names, values = append(names, name), append(values, show.Number(e.confusion.Value(m)))
	}
	if !found {
		m, err := e.model.ParsedMeasure()
		if err != nil {
			return nil, nil, err
		}
		names, values = append(names, trained), append(values, show.Number(e.confusion.Value(m)))
	}
	if labels {
		c := e.confusion
		pooled := c.Labels.Pooled()
		wrong := (pooled.FN + pooled.FP) / (pooled.Positives() + pooled.Negatives())
		names = append(names, "subset_accuracy", "hamming_loss")
		values = append(values, show.Number(c.Exact/c.Weight), show.Number(wrong))
	}
	return names, values, nil
}

// oneLabel holds the results for a class or label against all others.
type oneLabel struct {
	label     string
	confusion measure.Confusion
}

func (e *multiEvaluation) labels() []oneLabel {
	out := make([]oneLabel, len(e.model.Labels))
	for k, l := range e.model.Labels {
		out[k].label = l
		if e.confusion.Labels != nil {
			out[k].confusion = e.confusion.Labels[k]
		} else {
			out[k].confusion = e.confusion.Classes.OneVsRest(k)
		}
	}
	return out
}

// rates returns recall, precision and F₁.
func (l oneLabel) rates() (recall, precision, f1 show.Number) {
	return show.Number(measure.TPR().Value(l.confusion)), show.Number(measure.Precision{}.Value(l.confusion)),
		show.Number(measure.FBeta{B: 1}.Value(l.confusion))
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

func (e *multiEvaluation) writeJSON(w io.Writer) error {
	names, values, err := e.values()
	if err != nil {
		return err
	}
	var pairs []any
	for i := range names {
		pairs = append(pairs, names[i], values[i])
	}
	pairs = append(pairs, "n", e.info.Rows, "labels", e.model.Labels)
	if e.confusion.Labels != nil {
		var list []labelJSON
		for _, l := range e.labels() {
			r, p, f := l.rates()
			list = append(list, labelJSON{l.label, l.confusion, r, p, f})
		}
		pairs = append(pairs, "per_label", list)
	} else {
		var list []classJSON
		for _, l := range e.labels() {
			r, p, f := l.rates()
			list = append(list, classJSON{l.label, l.confusion.Positives(), l.confusion.TP + l.confusion.FP, r, p, f})
		}
		pairs = append(pairs, "confusion", e.matrix(), "classes", list)
	}
	pairs = append(pairs, "ignored_features", e.info.IgnoredFeatures, "bad_lines", e.info.BadLines,
		"task", e.model.Task.String(), "measure", e.model.Measure, "algorithm", e.model.Algorithm)
	return writeOrdered(w, pairs...)
}

// matrix is the confusion matrix: a row for each true class.
func (e *multiEvaluation) matrix() [][]float64 {
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

func (e *multiEvaluation) write(w io.Writer) error {
	if err := e.writeCounts(w); err != nil {
		return err
	}
	t := show.Table{}
	t.Add("")
	names, values, err := e.values()
	if err != nil {
		return err
	}
	for i, name := range names {
		mark := ""
		if m, err := measure.ParseMulti(name, e.confusion.Labels != nil); err == nil && m.Name() == e.model.Measure {
			mark = "trained for"
		}
		t.Add(name, values[i].String(), mark)
	}
	return t.Write(w)
}

// writeCounts prints the confusion matrix and a line for each class or label.
func (e *multiEvaluation) writeCounts(w io.Writer) error {
	rows := show.Count(int(e.info.Rows), "row", "rows")
	t := show.Table{}
	if e.confusion.Labels != nil {
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
		r, p, f := l.rates()
		t.Add(l.label, show.Whole(l.confusion.Positives()), show.Whole(l.confusion.TP+l.confusion.FP), r.String(),
			p.String(),
			f.String())
	}
	return t.Write(w)
}
