package classify

import (
	"encoding/csv"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// LabelWeights are weights of the labels in a training's loss: the loss of a row is multiplied by
// its own weight and by that of its label, as if the row were there so many times. The statistics
// of the features, and every count and measure of the rows, are without them. The zero value weighs
// all labels the same.
type LabelWeights struct {
	// Balanced gives all labels the same weight in all: that of a label is W/(C·W_k), where W_k is
	// the weight of its rows that are trained on, W of all these, and C the number of labels. It
	// excludes Of.
	Balanced bool
	// Of are the weights by label, from 1e-9 to 1e9; labels that are not in it weigh 1. Of
	// several negative labels of Binary data none has a weight of its own.
	Of map[string]float64
}

// wantLabelWeight says what isLabelWeight takes: a weight of 1e300 is no weight but the end of the
// other labels, and of the arithmetic.
const wantLabelWeight = "a number from 1e-9 to 1e9"

func isLabelWeight(v float64) bool { return v >= 1e-9 && v <= 1e9 }

// given reports whether labels weigh differently.
func (w LabelWeights) given() bool { return w.Balanced || len(w.Of) > 0 }

// check returns an error of code usage for weights out of range.
func (w LabelWeights) check() error {
	if w.Balanced && len(w.Of) > 0 {
		return usage("class weight: balanced excludes weights by label")
	}
	for _, name := range slices.SortedFunc(maps.Keys(w.Of), compareLabels) {
		if v := w.Of[name]; !isLabelWeight(v) || name == "" {
			return usage("class weight %v of the label %q, want %s for a label", v, name, wantLabelWeight)
		}
	}
	return nil
}

// refuse returns an error of code usage if there are weights, for trainings that do not have them.
func (w LabelWeights) refuse(why string) error {
	if !w.given() {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "class-weight", "%s: give rows weights of their own", why)
}

// by returns the weights in the order of a part's labels, of data d; nil if all are the same.
func (w LabelWeights) by(d Data, part Part) ([]float64, error) {
	if !w.given() {
		return nil, nil
	}
	out, total := make([]float64, len(part.Labels)), 0.0
	for k, l := range part.Labels {
		out[k] = 1
		total += l.Weight
	}
	if w.Balanced {
		for k, l := range part.Labels {
			if l.Weight > 0 {
				out[k] = total / float64(float64(len(out))*l.Weight)
			}
		}
		return out, nil
	}
	names := d.names()
	if d.Task == Binary && len(names) > 2 {
		names = names[:1]
	}
	for _, name := range slices.SortedFunc(maps.Keys(w.Of), compareLabels) {
		k := slices.IndexFunc(names, func(l string) bool { return compareLabels(l, name) == 0 || sameNumber(l, name) })
		if k < 0 {
			few := slices.Clone(names)
			slices.SortFunc(few, compareLabels)
			hint := ""
			if len(names) == 1 {
				hint = ": the others are the negative class together, so weigh the positive label"
			}
			return nil, noregret.Errorf(noregret.Usage, "class-weight", "%v of the label %q: want a label among %s%s",
				w.Of[name], name, shortList(few), hint)
		}
		out[k] = w.Of[name]
	}
	return out, nil
}

// sameNumber reports whether two labels are texts of one number, such as 1 and +1.
func sameNumber(a, b string) bool {
	x, errx := strconv.ParseFloat(a, 64)
	y, erry := strconv.ParseFloat(b, 64)
	return errx == nil && erry == nil && x == y
}

// weighing returns d with the weights of its labels for learners.
func (d Data) weighing(weights []float64) Data {
	if weights == nil {
		return d
	}
	d.factors = make([]float64, len(d.Set.Info().Labels))
	for c := range d.factors {
		d.factors[c] = weights[d.labelIndex(uint16(c))]
	}
	return d
}

// weighed makes a visitor that multiplies the weights of rows by those of their labels.
func (d Data) weighed(f visitor) visitor {
	if d.factors == nil {
		return f
	}
	return func(index []uint32, value []float32, class uint16, weight float64) error {
		return f(index, value, class, float64(weight*d.factors[class]))
	}
}

// weigh gives the rows to train on the weights of their labels, after they are counted.
func (t *training) weigh() error {
	weights, err := t.opt.ClassWeights.by(t.data, t.result.Train)
	t.train = t.train.weighing(weights)
	return err
}

// meanFactor is the mean weight of the labels over the rows to train on.
func (t *training) meanFactor() float64 {
	if !t.opt.ClassWeights.given() {
		return 1
	}
	weights, err := t.opt.ClassWeights.by(t.data, t.result.Train)
	if err != nil { // weigh has found none
		return 1
	}
	var sum, total float64
	for k, l := range t.result.Train.Labels {
		sum += float64(weights[k] * l.Weight)
		total += l.Weight
	}
	return sum / total
}

// weightsFlag is [Options.ClassWeights] as commands and model files write it: none, balanced or
// LABEL=WEIGHT,..., a line of CSV: a label with a comma is quoted with its weight.
type weightsFlag struct{ value *LabelWeights }

// String implements [FlagValue].
func (f weightsFlag) String() string {
	switch {
	case f.value == nil || !f.value.given():
		return "none"
	case f.value.Balanced:
		return "balanced"
	}
	var out []string
	for _, name := range slices.SortedFunc(maps.Keys(f.value.Of), compareLabels) {
		out = append(out, name+"="+strconv.FormatFloat(f.value.Of[name], 'g', -1, 64))
	}
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write(out) // to memory
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}

// Set implements [FlagValue].
func (f weightsFlag) Set(text string) error {
	var w LabelWeights
	switch text {
	case "none":
	case "balanced":
		w.Balanced = true
	default:
		w.Of = map[string]float64{}
		const want = `want LABEL=WEIGHT,... with a label that has a comma as in "a, b=5", balanced or none`
		lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(lines) != 1 {
			return errors.New(strconv.Quote(text) + ": " + want)
		}
		for _, one := range lines[0] {
			at := strings.LastIndexByte(one, '=')
			if at < 1 {
				return errors.New(strconv.Quote(one) + ": " + want)
			}
			name := one[:at]
			v, err := strconv.ParseFloat(one[at+1:], 64)
			if err != nil || !isLabelWeight(v) {
				return errors.New("the weight of the label " + strconv.Quote(name) + " is " + one[at+1:] + ", want " +
					wantLabelWeight)
			}
			for other := range w.Of {
				if other == name || sameNumber(other, name) {
					return errors.New("the label " + strconv.Quote(name) + " has two weights, want one")
				}
			}
			w.Of[name] = v
		}
	}
	*f.value = w
	return nil
}

// Type implements [FlagValue].
func (weightsFlag) Type() string { return "none|balanced|LABEL=W,..." }

// number is 1 if labels weigh differently.
func (f weightsFlag) number() float64 {
	if f.value.given() {
		return 1
	}
	return 0
}
