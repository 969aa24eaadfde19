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
// undefined and make a measure of the recalls NaN. O(C²).
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

// Slopes are the derivatives of OfPresentClasses with respect to each count, by class and
// prediction as [MulticlassConfusion.Count] has them, by differences of the step h to both sides; 0
// where they are undefined. They are those of the two-class counts of which a count is one: every
// measure is a function of these. O(C²).
func (m Multi) Slopes(c MulticlassConfusion, h float64) []float64 {
	n := c.classes
	s := make([]multiSlopes, n)
	tn := 0.0 // the sum of those of TN
	switch {
	case m.concave != nil:
		m.slopesOfRecalls(c, s, h)
	case m.averaged.Of != nil:
		for k, b := range c.OneVsRest(nil) {
			value := func() float64 { return UndefinedIsZero.Apply(m.averaged.Of.Value(b)) / float64(n) }
			s[k] = multiSlopes{
				tp: slope(&b.TP, h, value), fn: slope(&b.FN, h, value),
				fp: slope(&b.FP, h, value), tn: slope(&b.TN, h, value),
			}
			tn += s[k].tn
		}
	default:
		right, wrong := 0.0, 0.0
		for k := range n {
			r, w := c.outcomes(k)
			right, wrong = right+r, wrong+w
		}
		value := func() float64 { return right / (right + wrong) }
		both := multiSlopes{tp: slope(&right, h, value), fn: slope(&wrong, h, value)}
		for k := range s {
			s[k] = both
		}
	}
	out := make([]float64, n*n)
	for k := range n {
		for j := range n {
			if k == j {
				out[k*n+j] = s[k].tp + (tn - s[k].tn)
			} else {
				out[k*n+j] = s[k].fn + s[j].fp + (tn - s[k].tn - s[j].tn)
			}
		}
	}
	return out
}

// multiSlopes are the derivatives with respect to the two-class counts of a class.
type multiSlopes struct{ tp, fn, fp, tn float64 }

// slopesOfRecalls are those of a measure of the recalls of the classes that have examples.
func (m Multi) slopesOfRecalls(c MulticlassConfusion, s []multiSlopes, h float64) {
	recalls := slices.DeleteFunc(c.Recalls(nil), math.IsNaN)
	present := 0
	for k := range s {
		right, wrong := c.outcomes(k)
		if right+wrong == 0 {
			continue
		}
		recall := recalls[present]
		value := func() float64 {
			recalls[present] = right / (right + wrong)
			return m.concave.Of(recalls)
		}
		s[k] = multiSlopes{tp: slope(&right, h, value), fn: slope(&wrong, h, value)}
		recalls[present] = recall
		present++
	}
}

// slope is the derivative of a value with respect to a count, by a difference of h to both sides or
// down to 0; 0 where it is undefined.
func slope(count *float64, h float64, value func() float64) float64 {
	was := *count
	high, low := was+h, max(was-h, 0)
	*count = high
	up := value()
	*count = low
	down := value()
	*count = was
	if s := (up - down) / (high - low); s-s == 0 {
		return s
	}
	return 0
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
