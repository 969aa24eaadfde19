package classify

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// labelRows draws examples of L labels of shares .3, .15, .05, ... each shifting its own features.
func labelRows(seed uint64, n, labels int) []LabelsExample {
	r := random.New(seed, "labels")
	rows := make([]LabelsExample, n)
	for i := range rows {
		x := LabelsExample{Weight: 1}
		shift := make([]float64, labels+2)
		for k := range labels {
			if r.Float64() < .3/float64(1+k*k) {
				x.Labels = append(x.Labels, k)
				shift[k] += 2
				shift[k+1] += .5
			}
		}
		for j, s := range shift {
			if j == labels+1 && r.Float64() < .8 {
				continue // a sparse feature
			}
			x.Index = append(x.Index, uint32(j))
			x.Value = append(x.Value, float32(s+r.NormFloat64()))
		}
		rows[i] = x
	}
	return rows
}

func newLabels(t *testing.T, opt MultilabelConfig) MultilabelLearner {
	t.Helper()
	s, err := NewMultilabel(opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func observeLabels(t *testing.T, s MultilabelLearner, rows []LabelsExample) {
	t.Helper()
	for _, x := range rows {
		if err := s.Observe(x); err != nil {
			t.Fatal(err)
		}
	}
}

// bitsOf prints models so that two are equal iff all their bits are.
func bitsOf(models []Linear) string {
	var b strings.Builder
	for _, m := range models {
		for _, w := range append([]float64{m.Intercept, m.Threshold}, m.Weights...) {
			fmt.Fprintf(&b, "%x ", math.Float64bits(w))
		}
	}
	return b.String()
}

// The macro average is one independent STAMP per label, bit for bit, each with its own share and
// level.
func TestMacroIsIndependentSTAMPs(t *testing.T) {
	const labels = 3
	rows := labelRows(2, 8000, labels)
	for _, shares := range [][]float64{nil, {.3, .15, .06}} {
		s := newLabels(t, MultilabelConfig{
			STAMPConfig: STAMPConfig{Measure: measure.FBeta{B: 1}}, Labels: labels,
			Shares: shares,
		}).(*MacroSTAMP)
		observeLabels(t, s, rows)
		for k := range labels {
			one := STAMPConfig{Measure: measure.FBeta{B: 1}}
			if shares != nil {
				one.Positives = shares[k]
			}
			single, err := NewSTAMP(one)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range rows {
				if err := single.Observe(Example{x.Index, x.Value, hasLabel(x.Labels, k), x.Weight}); err != nil {
					t.Fatal(err)
				}
			}
			if bitsOf([]Linear{s.Model().Models[k]}) != bitsOf([]Linear{single.Model()}) ||
				s.Label(k).Level() != single.Level() {
				t.Errorf("label %d differs from a STAMP of its own", k)
			}
			if got, want := s.Progressive()[k], single.Progressive(); got != want {
				t.Errorf("progressive %v, want %v", got, want)
			}
		}
		if s.Label(0).Level() == s.Label(2).Level() {
			t.Error("labels share a level")
		}
	}
}

// On the micro measure, the model chosen for it beats the one trained for the macro average, and
// the value that Choose returns is that of the examples it was given.
func TestMultilabelChoose(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	const labels = 4
	train, valid, test := labelRows(5, testsize.Of(40_000, 10_000), labels), labelRows(6, 8000, labels),
		labelRows(7, testsize.Of(20_000, 8000), labels)
	f1 := measure.FBeta{B: 1}
	for _, average := range []LabelAverage{MacroAverage, MicroAverage} {
		s := newLabels(t, MultilabelConfig{STAMPConfig: STAMPConfig{Measure: f1}, Labels: labels, Average: average})
		observeLabels(t, s, train)
		m, value, err := s.Choose(valid)
		if err != nil {
			t.Fatal(err)
		}
		of := func(rows []LabelsExample) float64 {
			c, err := ofLabels(&m, rows)
			if err != nil {
				t.Fatal(err)
			}
			if average == MicroAverage {
				return c.Micro(f1)
			}
			return c.Macro(f1, measure.UndefinedIsZero)
		}
		near(t, "value of the choice", of(valid), value, 1e-12)
		t.Logf("average %d: validation %.4f, test %.4f", average, value, of(test))
		if v := of(test); v < value-0.05 || v < 0.5 {
			t.Errorf("average %d: %.4f on the test set, %.4f on the validation set", average, v, value)
		}
		for _, bad := range [][]LabelsExample{nil, {{Labels: []int{labels}}}, {{Weight: math.Inf(1)}}} {
			if _, _, err := s.Choose(bad); noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%v: %v", bad, err)
			}
		}
	}
}

func TestMultilabelRefusals(t *testing.T) {
	f1 := STAMPConfig{Measure: measure.FBeta{B: 1}}
	with := func(change func(*MultilabelConfig)) MultilabelConfig {
		c := MultilabelConfig{STAMPConfig: f1, Labels: 2}
		change(&c)
		return c
	}
	for want, opt := range map[string]MultilabelConfig{
		"not a function of the confusion counts": with(func(c *MultilabelConfig) { c.Average = InstanceAverage }),
		"average is 7":                           with(func(c *MultilabelConfig) { c.Average = 7 }),
		"number of labels is 0":                  with(func(c *MultilabelConfig) { c.Labels = 0 }),
		"needs a pseudo-linear measure":          with(func(c *MultilabelConfig) { c.Measure = nil }),
		"give the shares of all labels":          with(func(c *MultilabelConfig) { c.Positives = .5 }),
		"one for each of the 2":                  with(func(c *MultilabelConfig) { c.Shares = []float64{.5} }),
		"share of label 1 is 1":                  with(func(c *MultilabelConfig) { c.Shares = []float64{.5, 1} }),
		"give the share of positive pairs": with(func(c *MultilabelConfig) {
			c.Average, c.Shares = MicroAverage, []float64{.5, .5}
		}),
		"growth of the epochs is 0.5": with(func(c *MultilabelConfig) { c.Average, c.Growth = MicroAverage, .5 }),
	} {
		if _, err := NewMultilabel(opt); noregret.CodeOf(err) != noregret.Usage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	rows := labelRows(8, 2000, 2)
	for _, average := range []LabelAverage{MacroAverage, MicroAverage} {
		opt := with(func(c *MultilabelConfig) { c.Average = average })
		a, b := newLabels(t, opt), newLabels(t, opt)
		observeLabels(t, a, rows)
		observeLabels(t, b, rows)
		for want, x := range map[string]LabelsExample{
			"example 2001: label is 2, want one in 0..1": {Labels: []int{0, 2}, Weight: 1},
			"label 1 appears twice":                      {Labels: []int{1, 0, 1}, Weight: 1},
			"label is -1":                                {Labels: []int{-1}, Weight: 1},
			"example 2001, entry 0: value is NaN": {
				Labels: []int{0}, Index: []uint32{1},
				Value: []float32{float32(math.NaN())}, Weight: 1,
			},
			"weight is -2": {Weight: -2},
		} {
			if err := a.Observe(x); noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		}
		more := labelRows(9, 500, 2)
		observeLabels(t, a, more) // no mark may remain
		observeLabels(t, b, more)
		if bitsOf(a.Model().Models) != bitsOf(b.Model().Models) {
			t.Error("refused examples must not change the learner")
		}
	}
}

func TestMultilabelAllocations(t *testing.T) {
	rows := labelRows(10, 12_000, 3)
	for _, average := range []LabelAverage{MacroAverage, MicroAverage} {
		opt := STAMPConfig{Measure: measure.FBeta{B: 1}, FirstEpoch: 2500}
		s := newLabels(t, MultilabelConfig{STAMPConfig: opt, Labels: 3, Average: average})
		observeLabels(t, s, rows[:1500])
		for _, from := range []int{1500, 2600} { // in a model stage, in a level stage
			i := from
			if n := testing.AllocsPerRun(300, func() {
				if err := s.Observe(rows[i]); err != nil {
					t.Fatal(err)
				}
				i++
			}); n != 0 {
				t.Errorf("average %d from example %d: %v allocations", average, from, n)
			}
			observeLabels(t, s, rows[i:2600+max(0, i-2600)])
		}
	}
}

func TestMultilabelShortStream(t *testing.T) {
	for _, average := range []LabelAverage{MacroAverage, MicroAverage} {
		s := newLabels(t, MultilabelConfig{
			STAMPConfig: STAMPConfig{Measure: measure.FBeta{B: 1}}, Labels: 2,
			Average: average,
		})
		observeLabels(t, s, labelRows(11, 60, 2))
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		m := s.Model()
		if len(m.Models) != 2 || len(m.Models[0].Weights) == 0 {
			t.Errorf("average %d: model %+v", average, m)
		}
	}
}

// ofLabels counts the confusion of each label of a classifier on rows in memory.
func ofLabels(m *Classifier, rows []LabelsExample) (measure.MultilabelConfusion, error) {
	c, err := NewCounter(m)
	if err != nil {
		return nil, err
	}
	for _, x := range rows {
		c.Add(x.Index, x.Value, x.Labels, x.Weight)
	}
	return c.Confusion().Labels, nil
}
