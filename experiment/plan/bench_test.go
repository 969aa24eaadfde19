package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
)

// BenchmarkClosed plans in closed form by the numbers of arms and of metrics, all but one of them
// with a hard guardrail.
func BenchmarkClosed(b *testing.B) {
	for _, c := range []struct{ arms, metrics int }{{4, 3}, {12, 2}, {12, 6}, {100, 2}} {
		b.Run(fmt.Sprintf("arms=%d/metrics=%d", c.arms, c.metrics), func(b *testing.B) {
			d, err := definition.Parse("bench.yaml", []byte(manyParts(c.arms, c.metrics)))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := Closed(b.Context(), d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// manyParts returns a definition with a number of arms and of metrics.
func manyParts(arms, metrics int) string {
	var list, names, expect, guardrails []string
	for i := range arms {
		list = append(list, fmt.Sprintf("{name: a%d, value: %d}", i, i))
	}
	for i := range metrics {
		names = append(names, fmt.Sprintf("{name: m%d, kind: count, range: [0, 1]}", i))
		expect = append(expect, fmt.Sprintf("m%d: {mean: 0.05}", i))
		if i > 0 {
			guardrails = append(guardrails, fmt.Sprintf("{metric: m%d, min_change: -0.05}", i))
		}
	}
	return "name: bench\narms: [" + strings.Join(list, ", ") + "]\ncontrol: {arm: a0, share: 0.1}\nmetrics: [" +
		strings.Join(names, ", ") + "]\nobjective: {goals: [{metric: m0}]}\nguardrails: [" +
		strings.Join(guardrails, ", ") + "]\nround: {length: 6h}\nattribution_window: 6h\nplan:\n" +
		"  units_per_day: 200000\n  expect: {" + strings.Join(expect, ", ") + "}\n  improvement: 0.05\n"
}
