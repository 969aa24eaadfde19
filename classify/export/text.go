package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/strictjson"
)

// writeLIBLINEAR writes a model file of LIBLINEAR, whose labels are whole numbers: those of the
// model if all are, else 1 for the positive label and 0 for a negative prediction, or the places of
// the classes among the model's labels, from 0. Feature i, from 0, is LIBLINEAR's i+1. The solver
// is named as a support vector machine, so that LIBLINEAR offers no probabilities.
func writeLIBLINEAR(w io.Writer, m *classify.Model) error {
	l := linearOf(m)
	labels, whole := slices.Clone(l.classes), true
	for _, c := range l.classes {
		n, err := strconv.ParseInt(c, 10, 32)
		whole = whole && err == nil && strconv.FormatInt(n, 10) == c
	}
	for k := range labels {
		if !whole {
			labels[k] = strconv.Itoa(k)
		}
	}
	if m.Task == classify.Binary { // the class of scores above 0 comes first
		slices.Reverse(labels)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "solver_type L2R_L2LOSS_SVC\nnr_class %d\nlabel", len(labels))
	for _, x := range labels {
		fmt.Fprintf(b, " %s", x)
	}
	fmt.Fprintf(b, "\nnr_feature %d\nbias 1\nw\n", m.Dim())
	for i := range m.Dim() + 1 {
		for k := range l.coefficients {
			v := l.intercepts[k]
			if i < m.Dim() {
				v = l.coefficients[k][i]
			}
			fmt.Fprintf(b, "%s ", strconv.FormatFloat(v, 'g', 17, 64))
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// writeSklearn writes {"classes", "coef", "intercept", "features"}: the attributes of a linear
// model of scikit-learn, and the names of the features where they have names. Of a model with a
// Transform there is also "transform", which makes from the features those that coef is for.
func writeSklearn(w io.Writer, m *classify.Model) error {
	l := linearOf(m)
	names := m.Schema.Features
	if names == nil {
		names = []string{}
	}
	raw, err := strictjson.Encode(struct {
		Classes   []string    `json:"classes"`
		Coef      [][]float64 `json:"coef"`
		Intercept []float64   `json:"intercept"`
		Features  []string    `json:"features"`

		Transform *sklearnTransform `json:"transform,omitempty"`
	}{l.classes, l.coefficients, l.intercepts, names, transformOf(m)})
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}
