package export

import (
	"io"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
)

// format is a way to write a model.
type format struct {
	name  string
	about string
	// decides reports whether the format holds the decision, and so needs rows with one label.
	decides bool
	write   func(w io.Writer, m *classify.Model) error
}

var formats = []format{
	{"onnx", "a graph of one LinearClassifier (ai.onnx.ml 3)", true, writeONNX},
	{"liblinear", "a model file of LIBLINEAR", true, writeLIBLINEAR},
	{"vw", "a model file of Vowpal Wabbit, for two classes", true, writeVW},
	{"sklearn", "JSON with classes, coef and intercept, for scikit-learn", true, writeSklearn},
	{"card", "a model card in Markdown", false, writeCard},
}

// Formats lists the names of the formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// About says in a few words what a format is.
func About(name string) string {
	for _, f := range formats {
		if f.name == name {
			return f.about
		}
	}
	return ""
}

// mostCoefficients bounds the dense coefficients that formats other than the card hold.
const mostCoefficients = 1 << 27

// Write writes a valid model in a format of [Formats]. Models of rows with several labels, and
// those with a Transform, have no other format than the card. An error is of code usage for another
// format or such a model, or that of w. O(C·d).
func Write(w io.Writer, name string, m *classify.Model) error {
	for _, f := range formats {
		switch {
		case f.name != name:
			continue
		case f.decides && m.Task == classify.Multilabel:
			return noregret.Errorf(noregret.Usage, "format",
				"%s holds one decision a row, the model is of rows with several "+
					"labels", name)
		case f.decides && m.Transform != nil:
			return noregret.Errorf(noregret.Usage, "format",
				"%s holds weights of raw values, the model is of logarithms, "+
					"ranks or products that training chose: train a named algorithm", name)
		case f.decides && len(m.Models)*m.Dim() > mostCoefficients:
			return noregret.Errorf(noregret.Usage, "format",
				"%s lists all coefficients, and %d models of %d features have "+
					"more than %d", name, len(m.Models), m.Dim(), mostCoefficients)
		}
		return f.write(w, m)
	}
	return noregret.Errorf(noregret.Usage, "format", "%q, want %s", name, strings.Join(Formats(), ", "))
}

// linear is a decision for the class with the largest score, the first of equal ones, or with one
// row of coefficients for the second class where its score exceeds 0.
type linear struct {
	classes      []string
	coefficients [][]float64 // dense
	intercepts   []float64
}

// linearOf returns the decision of a model of rows with one label.
func linearOf(m *classify.Model) linear {
	l := linear{classes: m.Labels}
	if m.Task == classify.Binary {
		l.classes = []string{m.NegativeName(), m.Positive()}
	}
	for _, x := range m.Models {
		dense := make([]float64, m.Dim())
		for j, i := range x.Weights.Index {
			dense[i] = x.Weights.Value[j]
		}
		l.coefficients = append(l.coefficients, dense)
		l.intercepts = append(l.intercepts, x.Intercept-x.Threshold)
	}
	return l
}
