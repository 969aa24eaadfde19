package export

import (
	"io"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
)

// format is a way to write a model.
type format struct {
	name  string
	about string
	// decides reports whether the format holds the decision, and so needs rows with one label.
	decides bool
	// single says that other programs give it features of 32 bits.
	single bool
	// makes reports whether the format holds a Transform.
	makes bool
	write func(w io.Writer, m *classify.Model) error
}

var formats = []format{
	{"onnx", "a graph with a LinearClassifier (ai.onnx.ml 3)", true, true, true, writeONNX},
	{"liblinear", "a model file of LIBLINEAR", true, false, false, writeLIBLINEAR},
	{"vw", "a model file of Vowpal Wabbit, for two classes", true, true, false, writeVW},
	{"sklearn", "JSON with classes, coef and intercept, for scikit-learn", true, false, true, writeSklearn},
	{"card", "a model card in Markdown", false, false, false, writeCard},
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

// Write writes a valid model in a format of [Formats]. The features are the numbers of the file:
// the center of a numeric column, which reading subtracts, is in the intercept. Models of rows with
// several labels have no other format than the card, those with a Transform also onnx and sklearn,
// and onnx and vw, whose features have 32 bits, hold no column with a center. An error is of code
// usage for another format or such a model, or that of w. O(C·d).
func Write(w io.Writer, name string, m *classify.Model) error {
	for _, f := range formats {
		switch {
		case f.name != name:
			continue
		case f.decides && m.Task == classify.Multilabel:
			return noregret.Errorf(noregret.Usage, "format",
				"%s holds one decision a row, the model is of rows with several "+
					"labels", name)
		case f.decides && !f.makes && m.Transform != nil:
			return refuseTransform(name, m.Transform)
		case f.decides && len(m.Models)*m.Features() > mostCoefficients:
			return noregret.Errorf(noregret.Usage, "format",
				"%s lists all coefficients, and %d models of %d features have "+
					"more than %d", name, len(m.Models), m.Features(), mostCoefficients)
		}
		c, hashed := centered(m)
		if f.decides && hashed != "" {
			return noregret.Errorf(noregret.Usage, "format",
				"%s holds weights of the numbers of the file; from those of column %q, whose features are hashed, "+
					"training subtracts one of them: train without --bits", name, hashed)
		}
		if f.single && len(c) > 0 {
			return noregret.Errorf(noregret.Usage, "format",
				"%s takes numbers of 32 bits, which cannot tell those of column %q apart: they are near %v. "+
					"Write sklearn or liblinear, or train on the column less that number",
				name, m.FeatureName(c[0].feature), c[0].center)
		}
		return f.write(w, m)
	}
	return noregret.Errorf(noregret.Usage, "format", "%q, want %s", name, strings.Join(Formats(), ", "))
}

// center is what reading subtracts from a feature.
type center struct {
	feature uint32
	center  float64
}

// centered lists the features of numeric columns from whose numbers reading subtracts a center, in
// the order of the columns. The second result is the name of such a column whose feature has none.
func centered(m *classify.Model) (out []center, hashed string) {
	for _, c := range m.Schema.Columns {
		if c.Kind != dataset.Numeric || c.Center == 0 {
			continue
		}
		i := slices.Index(m.Schema.Features, c.Name)
		if i < 0 {
			return nil, c.Name
		}
		out = append(out, center{uint32(i), c.Center})
	}
	return out, ""
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
	centers, _ := centered(m)
	for _, x := range m.Models {
		dense := make([]float64, m.Features())
		for j, i := range x.Weights.Index {
			dense[i] = x.Weights.Value[j]
		}
		l.coefficients = append(l.coefficients, dense)
		intercept := x.Intercept - x.Threshold
		for _, c := range centers {
			if m.Transform != nil {
				break // they are subtracted before it
			}
			intercept -= float64(dense[c.feature] * c.center)
		}
		l.intercepts = append(l.intercepts, intercept)
	}
	return l
}
