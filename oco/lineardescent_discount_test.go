package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// With weights γ^(−k), directions times γ^(−k/2) and a discount now and then, the average and the
// adaptive steps are those of sums that are multiplied by γ in every step.
func TestDiscount(t *testing.T) {
	const d, steps, gamma, rate = 4, 300, .9, .3
	l, err := NewLinearDescent(d, 1, math.Inf(1))
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "discount")
	var w, squares, average [d + 1]float64
	total := 0.0
	for step := range steps {
		k := step % 25
		if k == 0 && step > 0 {
			l.Discount(math.Pow(gamma, 25), math.Pow(gamma, 25))
		}
		gain := math.Pow(gamma, -float64(k))
		l.Accumulate(gain)
		total = gamma*total + 1
		for i := range w {
			average[i] = gamma*average[i] + w[i]
		}
		index, value := []uint32{0, uint32(1 + step%3)}, []float32{float32(r.NormFloat64()), float32(r.NormFloat64())}
		c := r.NormFloat64()
		l.AdaptiveStep(index, value, c*math.Sqrt(gain), rate)
		x := [d + 1]float64{d: 1}
		for j, i := range index {
			x[i] = float64(value[j])
		}
		for i := range w {
			g := c * x[i]
			squares[i] = gamma*squares[i] + g*g
			if g != 0 {
				w[i] += rate * g / math.Sqrt(squares[i])
			}
		}
	}
	got, bias := l.Average()
	for i, v := range append(got, bias) {
		if want := average[i] / total; math.Abs(v-want) > 1e-9 {
			t.Errorf("average of coordinate %d: %v, want %v", i, v, want)
		}
	}
	for i := range d {
		if math.Abs(l.Weight(i)-w[i]) > 1e-9 {
			t.Errorf("coordinate %d: %v, want %v", i, l.Weight(i), w[i])
		}
	}
	if math.Abs(l.Bias()-w[d]) > 1e-9 {
		t.Errorf("bias: %v, want %v", l.Bias(), w[d])
	}
	// The score of the average stays that of the average.
	index, value := []uint32{0, 1, 2, 3}, []float32{1, -2, .5, 3}
	before := l.AverageScore(index, value)
	l.Discount(.25, 0)
	if after := l.AverageScore(index, value); math.Abs(after-before) > 1e-9 {
		t.Errorf("a discount changes the score of the average from %v to %v", before, after)
	}
}
