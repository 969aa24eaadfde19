package measure

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/memory"
)

// MulticlassConfusion is the weighted confusion matrix of a single-label problem with C classes.
type MulticlassConfusion struct {
	classes int
	counts  []float64 // counts[k·C + j]: the weight of class k predicted as j
}

// NewMulticlassConfusion returns an empty matrix. Errors: usage unless classes ≥ 2, bad_input if
// the matrix needs more memory than 8 GiB.
func NewMulticlassConfusion(classes int) (MulticlassConfusion, error) {
	if classes < 2 {
		return MulticlassConfusion{}, usage("number of classes is %d, want at least 2", classes)
	}
	n := float64(classes)
	if err := memory.Check("", fmt.Sprintf("the confusion matrix of %d classes", classes), n*n); err != nil {
		return MulticlassConfusion{}, err
	}
	return MulticlassConfusion{classes: classes, counts: make([]float64, classes*classes)}, nil
}

// Classes is C; 0 for the zero value.
func (c MulticlassConfusion) Classes() int { return c.classes }

// Add counts one example of the given class, prediction (both in 0..C-1, else it panics) and
// weight.
func (c MulticlassConfusion) Add(class, predicted int, weight float64) {
	c.counts[:c.classes*c.classes][class*c.classes : (class+1)*c.classes][predicted] += weight
}

// Count is the weight of the examples of the class that were predicted as predicted.
func (c MulticlassConfusion) Count(class, predicted int) float64 {
	return c.counts[class*c.classes : (class+1)*c.classes][predicted]
}

// Reset empties the matrix.
func (c MulticlassConfusion) Reset() { clear(c.counts) }

// Clone returns a copy that later calls of Add do not change.
func (c MulticlassConfusion) Clone() MulticlassConfusion {
	c.counts = append([]float64(nil), c.counts...)
	return c
}

// Recalls appends the C recalls, the share of each class that was predicted right, to dst; that of
// an empty class is NaN.
func (c MulticlassConfusion) Recalls(dst []float64) []float64 {
	for k := range c.classes {
		right, wrong := c.outcomes(k)
		dst = append(dst, right/(right+wrong))
	}
	return dst
}

// outcomes are the weights of the examples of a class that were predicted right and wrong.
func (c MulticlassConfusion) outcomes(class int) (right, wrong float64) {
	for j, w := range c.counts[class*c.classes : (class+1)*c.classes] {
		if j == class {
			right = w
		} else {
			wrong += w
		}
	}
	return right, wrong
}

// Accuracy is the share of the weight that was predicted right, which equals micro-averaged F₁; NaN
// without examples.
func (c MulticlassConfusion) Accuracy() float64 {
	var right, all float64
	for k := range c.classes {
		for j := range c.classes {
			all += c.Count(k, j)
		}
		right += c.Count(k, k)
	}
	return right / all
}

// OneVsRest appends the C two-class confusions with each class as the positive one to dst. Their
// counts are sums, so that what is 0 is 0. O(C²).
func (c MulticlassConfusion) OneVsRest(dst []Confusion) []Confusion {
	from := len(dst)
	for k := range c.classes {
		right, wrong := c.outcomes(k)
		dst = append(dst, Confusion{TP: right, FN: wrong})
	}
	out := dst[from:]
	predicted := make([]float64, c.classes) // of the classes so far, by prediction
	add := func(k int) {
		for j, w := range predicted {
			if j == k {
				out[k].FP += w
			} else {
				out[k].TN += w
			}
		}
		for j := range predicted {
			predicted[j] += c.Count(k, j)
		}
	}
	for k := range out {
		add(k)
	}
	clear(predicted)
	for k := len(out) - 1; k >= 0; k-- {
		add(k)
	}
	return dst
}

// Macro is the mean of m over the C one-versus-rest confusions: macro-averaged F_B for [FBeta].
// zero is the rule for undefined values.
func (c MulticlassConfusion) Macro(m Measure, zero ZeroDivision) float64 {
	var sum float64
	for _, b := range c.OneVsRest(make([]Confusion, 0, c.classes)) {
		sum += zero.Apply(m.Value(b))
	}
	return sum / float64(c.classes)
}

// MultilabelConfusion holds the two-class confusion of each label of a multi-label problem.
type MultilabelConfusion []Confusion

// Pooled is the sum of the labels' counts: the confusion of all (example, label) pairs.
func (c MultilabelConfusion) Pooled() Confusion {
	var out Confusion
	for _, l := range c {
		out.TP += l.TP
		out.FN += l.FN
		out.TN += l.TN
		out.FP += l.FP
	}
	return out
}

// Micro is m on the pooled counts: micro-averaged F_B, (1+B²)ΣTP/((1+B²)ΣTP + B²ΣFN + ΣFP), for
// [FBeta].
func (c MultilabelConfusion) Micro(m Measure) float64 { return m.Value(c.Pooled()) }

// Macro is the mean of m over the labels: macro-averaged F_B for [FBeta]. zero is the rule for
// undefined values. It is NaN without labels.
func (c MultilabelConfusion) Macro(m Measure, zero ZeroDivision) float64 {
	if len(c) == 0 {
		return math.NaN()
	}
	var sum float64
	for _, l := range c {
		sum += zero.Apply(m.Value(l))
	}
	return sum / float64(len(c))
}
