package measure

import (
	"sort"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
)

func usage(format string, args ...any) error {
	return noregret.Errorf(noregret.Usage, "", format, args...)
}

// fixed is the table of measures without parameters, by name and alias.
var fixed = map[string]Measure{
	"min": Min{}, "min_tpr_tnr": Min{},
	"hmean": HMean{}, "qmean": QMean{}, "gmean": GMean{},
	"balanced_accuracy": BalancedAccuracy(), "am": BalancedAccuracy(),
	"youden": Youden(), "informedness": Youden(),
	"tpr": TPR(), "recall": TPR(), "tnr": TNR(), "specificity": TNR(),
	"f1": FBeta{B: 1}, "dice": FBeta{B: 1}, "f2": FBeta{B: 2}, "f0.5": FBeta{B: 0.5},
	"jaccard": Jaccard(), "csi": Jaccard(), "threat-score": Jaccard(),
	"accuracy": Accuracy(), "simple-matching": Accuracy(),
	"rogers-tanimoto": GowerLegendre{Sigma: 2, name: "rogers-tanimoto"},
	"sokal-sneath":    GowerLegendre{Sigma: 0.5, name: "sokal-sneath"},
	"kappa":           Kappa{},
	"precision":       Precision{}, "npv": NPV{},
	"mcc": MCC{}, "fowlkes-mallows": FowlkesMallows{},
}

// parametric is the table of measures with parameters: their number, their form and the
// constructor.
var parametric = map[string]struct {
	params int
	usage  string
	make   func(p []float64) (Measure, error)
}{
	"fbeta": {1, "fbeta:B", func(p []float64) (Measure, error) { return checked(NewFBeta(p[0])) }},
	"gower-legendre": {1, "gower-legendre:SIGMA", func(p []float64) (Measure, error) {
		return checked(NewGowerLegendre(p[0]))
	}},
	"costs": {2, "costs:MISSED,ALARM", func(p []float64) (Measure, error) {
		return checked(NewCosts(p[0], p[1]))
	}},
	"tversky": {2, "tversky:S,T", func(p []float64) (Measure, error) { return checked(NewTversky(p[0], p[1])) }},
	"recalls": {2, "recalls:C1,C2", func(p []float64) (Measure, error) {
		return checked(NewWeightedRecall(p[0], p[1]))
	}},
}

func checked[M Measure](m M, err error) (Measure, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// unavailable explains names of common measures that are not functions of one confusion matrix.
var unavailable = map[string]string{
	"auc": "the area under the ROC curve is a function of the ranking, not of one classifier's confusion " +
		"matrix; train for gmean or balanced_accuracy",
	"roc-auc": "the area under the ROC curve is a function of the ranking, not of one classifier's confusion " +
		"matrix; train for gmean or balanced_accuracy",
	"log-loss": "log loss is a function of probabilities, not of one classifier's confusion matrix; use --algorithm " +
		"logistic",
	"p@k": "precision at k is a function of the ranking, not of one classifier's confusion matrix; train for f0.5",
}

// Names lists the primary names of all measures, sorted; parametric ones as "fbeta:B".
func Names() []string {
	seen := map[string]bool{}
	for _, m := range fixed {
		seen[m.Name()] = true
	}
	for _, p := range parametric {
		seen[p.usage] = true
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Parse returns the measure of the given name: one of [Names] or an alias (am, dice, csi,
// threat-score, recall, specificity, informedness, min_tpr_tnr, simple-matching). Parameters follow
// a colon: fbeta:1.5, gower-legendre:3, tversky:0.3,0.7, recalls:0.9,0.1,
// costs:10,1.
func Parse(name string) (Measure, error) {
	if m, ok := fixed[name]; ok {
		return m, nil
	}
	if why, ok := unavailable[name]; ok {
		return nil, usage("measure %q cannot be used: %s", name, why)
	}
	kind, args, _ := strings.Cut(name, ":")
	p, ok := parametric[kind]
	if !ok {
		return nil, usage("no measure is named %q; %sthere are %s", name, named.DidYouMean(name, Names()),
			strings.Join(Names(), ", "))
	}
	fields := strings.Split(args, ",")
	if len(fields) != p.params {
		return nil, usage("measure %q needs %d parameter(s), written %s", name, p.params, p.usage)
	}
	values := make([]float64, len(fields))
	for i, f := range fields {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, usage("parameter %q of measure %q is not a number, want %s", f, name, p.usage)
		}
		values[i] = v
	}
	return p.make(values)
}

// valid checks the parameters of a measure, which may have been made without its constructor.
func valid(m Measure) (err error) {
	switch m := m.(type) {
	case FBeta:
		_, err = NewFBeta(m.B)
	case Costs:
		_, err = NewCosts(m.Missed, m.Alarm)
	case Tversky:
		_, err = NewTversky(m.S, m.T)
	case GowerLegendre:
		_, err = NewGowerLegendre(m.Sigma)
	case WeightedRecall:
		_, err = NewWeightedRecall(m.C1, m.C2)
	}
	return err
}

// Trainable returns nil if m can be an objective, and otherwise an error with the reason and an
// alternative.
func Trainable(m Measure) error {
	if err := valid(m); err != nil {
		return err
	}
	switch m := m.(type) {
	case Concave:
		if r, ok := m.(WeightedRecall); ok && (r.C1 == 0 || r.C2 == 0) {
			return usage("%s alone has a degenerate maximiser (predict one class) and cannot be an objective; train "+
				"for balanced_accuracy or recalls:C1,C2", m.Name())
		}
		return nil
	case Ratio:
		if m.Degenerate() {
			return usage("%s has a degenerate maximiser (predict one class, or one example) and cannot be an "+
				"objective unless degenerate ones are allowed; train for f0.5 or f2", m.Name())
		}
		return nil
	}
	return nil
}
