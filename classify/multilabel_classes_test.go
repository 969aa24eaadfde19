package classify

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
)

// One against the rest with thresholds gives a better macro-F₁ than with threshold 0, and equals L
// independent learners by construction.
func TestOneVsRest(t *testing.T) {
	t.Parallel()
	s, err := NewMultilabel(MultilabelConfig{
		STAMPConfig: STAMPConfig{Measure: measure.FBeta{B: 1}}, Labels: 3, Shares: threeShares, Exclusive: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for pass := range 3 {
		for _, x := range threeClasses(30+uint64(pass), 10_000) {
			if err := s.Observe(x); err != nil {
				t.Fatal(err)
			}
		}
		s.NextPass()
	}
	test := threeClasses(40, 20_000)
	tuned, _, err := s.Choose(threeClasses(41, 10_000))
	if err != nil {
		t.Fatal(err)
	}
	plain := s.Model()
	var f [2]float64
	for i, m := range []Classifier{plain, tuned} {
		c, err := ofClasses(&m, test)
		if err != nil {
			t.Fatal(err)
		}
		f[i] = c.Macro(measure.FBeta{B: 1}, measure.UndefinedIsZero)
	}
	t.Logf("macro-F₁: last checkpoints %.4f, chosen with thresholds %.4f", f[0], f[1])
	if f[1] < f[0]-0.005 || f[1] < 0.5 {
		t.Errorf("macro-F₁ is %.4f with chosen thresholds, %.4f without", f[1], f[0])
	}
	if err := s.Observe(LabelsExample{Labels: []int{3}, Weight: 1}); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("class 3: %v", err)
	}
	if _, err := NewMultilabel(MultilabelConfig{Labels: 1, Exclusive: true}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("one class: %v", err)
	}
	for _, bad := range [][]LabelsExample{
		nil,
		{{Labels: []int{-1}}},
		{{Labels: []int{0, 1}}},
		{{Labels: []int{0}, Index: []uint32{0}, Value: []float32{float32(math.NaN())}}},
	} {
		if _, _, err := s.Choose(bad); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
