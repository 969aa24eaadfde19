package measure

import (
	"math"
	"slices"
	"strings"
)

// Averaged is a two-class measure averaged over classes or labels. The macro average is the mean of
// the measure over the one-versus-rest confusions, and the micro average is the measure of their
// sum. Macro averages count an undefined value (0/0), such as the F₁ of a label that neither occurs
// nor is predicted, as 0.
type Averaged struct {
	// Micro selects the micro average.
	Micro bool
	// Of is the measure that is averaged.
	Of Measure
}

// Name is the name under which [ParseMulti] finds the measure: macro_f1, micro_jaccard.
func (a Averaged) Name() string {
	if a.Micro {
		return "micro_" + a.Of.Name()
	}
	return "macro_" + a.Of.Name()
}

// Multi is a measure of a problem of several classes or several labels. It is one of
//
//   - a concave measure of the class recalls ([MulticlassConcave]): min, hmean, qmean, gmean and
//     macro_recall, for single-label problems;
//   - a two-class measure averaged over classes or labels ([Averaged]): macro_f1, micro_f1, ...;
//   - accuracy, the share of rows that get the right class, for single-label problems.
//
// It is a value without state, safe for concurrent use.
type Multi struct {
	concave  MulticlassConcave
	averaged Averaged
}

// Name is the name under which [ParseMulti] finds the measure.
func (m Multi) Name() string {
	switch {
	case m.concave != nil:
		return m.concave.Name()
	case m.averaged.Of != nil:
		return m.averaged.Name()
	default:
		return "accuracy"
	}
}

// Concave returns the measure as a function of the class recalls, if it is one.
func (m Multi) Concave() (c MulticlassConcave, ok bool) { return m.concave, m.concave != nil }

// Averaged returns the measure as an average, if it is one.
func (m Multi) Averaged() (a Averaged, ok bool) { return m.averaged, m.averaged.Of != nil }

// OfClasses is the measure of a single-label problem. Recalls of classes without examples are
// undefined and make a measure of the recalls NaN. O(C²), O(C³) for macro averages.
func (m Multi) OfClasses(c MulticlassConfusion) float64 {
	return m.ofClasses(c, func(recalls []float64) []float64 { return recalls })
}

// OfPresentClasses is OfClasses with the classes that have no examples left out of measures of the
// recalls.
func (m Multi) OfPresentClasses(c MulticlassConfusion) float64 {
	return m.ofClasses(c, func(recalls []float64) []float64 { return slices.DeleteFunc(recalls, math.IsNaN) })
}

func (m Multi) ofClasses(c MulticlassConfusion, keep func(recalls []float64) []float64) float64 {
	switch {
	case m.concave != nil:
		recalls := keep(c.Recalls(nil))
		if len(recalls) == 0 {
			return math.NaN()
		}
		return m.concave.Of(recalls)
	case m.averaged.Of != nil:
		return c.Macro(m.averaged.Of, UndefinedIsZero)
	default:
		return c.Accuracy()
	}
}

// OfLabels is the measure of a multi-label problem; NaN for measures of single-label problems.
func (m Multi) OfLabels(c MultilabelConfusion) float64 {
	switch {
	case m.averaged.Of == nil:
		return math.NaN()
	case m.averaged.Micro:
		return c.Micro(m.averaged.Of)
	default:
		return c.Macro(m.averaged.Of, UndefinedIsZero)
	}
}

// ParseMulti returns the measure of the given name for a single-label problem or, with labels, for
// a multi-label one. Names are those of [MultiNames]; macro_ and micro_ take the name of any
// measure that [Parse] knows.
func ParseMulti(name string, labels bool) (Multi, error) {
	average, of, found := strings.Cut(name, "_")
	averaged := found && (average == "macro" || average == "micro")
	if !labels {
		if name == "accuracy" {
			return Multi{}, nil
		}
		if c, err := ParseMulticlass(name); err == nil || !averaged || average == "micro" {
			return Multi{concave: c}, err
		}
	}
	if !averaged {
		return Multi{}, usage("no measure of several labels is named %q; there are %s", name,
			strings.Join(MultiNames(true), ", "))
	}
	m, err := Parse(of)
	if err != nil {
		return Multi{}, usage("measure %q is an average: %w", name, err)
	}
	return Multi{averaged: Averaged{Micro: average == "micro", Of: m}}, nil
}

// MultiNames lists the names of the measures of single-label or of multi-label problems; macro_f1
// and micro_f1 stand for the averages of all two-class measures.
func MultiNames(labels bool) []string {
	if labels {
		return []string{"macro_f1", "micro_f1", "macro_M", "micro_M"}
	}
	return append(MulticlassNames(), "accuracy", "macro_f1", "macro_M")
}
