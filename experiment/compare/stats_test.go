package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
)

// shop has a plain metric, the two parts of a ratio, and the ratio.
const shop = `
name: shop
arms: [{name: a, value: 1}, {name: b, value: 2}]
metrics: [{name: x}, {name: y, kind: count}, {name: z}, {name: r, kind: ratio, numerator: x, denominator: y}]
objective: {goals: [{metric: z, weight: 1}]}
`

func parseDefinition(t *testing.T, text string) *definition.Definition {
	t.Helper()
	d, err := definition.Parse("shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// statsOf returns the sums of some units, by their values of x, y and z.
func statsOf(t *testing.T, d *definition.Definition, units [][3]float64) Stats {
	t.Helper()
	s := NewStats(d)
	for _, u := range units {
		s.Units++
		for m, v := range u {
			if err := s.Metrics[m].Add(v); err != nil {
				t.Fatal(err)
			}
		}
		s.Pairs[0].Add(u[0], u[1])
	}
	return s
}

func someUnits(n int) (out [][3]float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		out = append(out, [3]float64{r.NormFloat64(), float64(1 + r.IntN(4)), 5 * r.Float64()})
	}
	return out
}

// TestStatsMerge checks that the sums of two parts of the units, merged, are those of all.
func TestStatsMerge(t *testing.T) {
	d, units := parseDefinition(t, shop), someUnits(50)
	all := statsOf(t, d, units)
	merged, rest := statsOf(t, d, units[:17]), statsOf(t, d, units[17:])
	merged.Merge(&rest)
	if merged.Units != 50 {
		t.Errorf("%d units, want 50", merged.Units)
	}
	for m := range 4 {
		n, mean := merged.Mean(d, m)
		wantN, want := all.Mean(d, m)
		if n != wantN {
			t.Errorf("metric %d: %d units, want %d", m, n, wantN)
		}
		near(t, "mean", mean, want, 1e-12)
		a, b := merged.Observations(d, m, .3), all.Observations(d, m, .3)
		if a.N != b.N {
			t.Errorf("metric %d: %d observations, want %d", m, a.N, b.N)
		}
		near(t, "mean of observations", a.Mean, b.Mean, 1e-12)
		near(t, "their sum of squares", a.M2, b.M2, 1e-9)
	}
}

// TestStatsObservations checks the observations of a ratio against those counted one by one, and
// that each of them is in the definition's span.
func TestStatsObservations(t *testing.T) {
	const bounded = `
name: shop
arms: [{name: a, value: 1}, {name: b, value: 2}]
metrics:
  - {name: x, range: [-3, 3]}
  - {name: y, kind: count, range: [0, 4]}
  - {name: z}
  - {name: r, kind: ratio, numerator: x, denominator: y}
objective: {goals: [{metric: z}]}
`
	d, units := parseDefinition(t, bounded), someUnits(30)
	s := statsOf(t, d, units)
	for _, limit := range []float64{-2, 0, .7} {
		least, most := d.Span(3, limit)
		sum := 0.0
		for _, u := range units {
			v := u[0] - limit*u[1]
			sum += v
			if v < least || v > most {
				t.Errorf("limit %v: %v is not in [%v, %v]", limit, v, least, most)
			}
		}
		if o := s.Observations(d, 3, limit); o.N != 30 || !(math.Abs(o.Mean-sum/30) <= 1e-12) {
			t.Errorf("limit %v: %d observations of mean %v, want 30 of %v", limit, o.N, o.Mean, sum/30)
		}
	}
}

// TestStatsMean checks the mean of a ratio: that of its sums, and none where the denominator is 0.
func TestStatsMean(t *testing.T) {
	d := parseDefinition(t, shop)
	s := statsOf(t, d, [][3]float64{{1, 1, 0}, {2, 3, 0}})
	if n, mean := s.Mean(d, 3); n != 2 || !(math.Abs(mean-.75) <= 1e-15) {
		t.Errorf("%v of %d units, want .75 of 2", mean, n)
	}
	s = statsOf(t, d, [][3]float64{{1, 0, 0}})
	if n, mean := s.Mean(d, 3); n != 0 || math.IsNaN(mean) {
		t.Errorf("%v of %d units, want none", mean, n)
	}
}

func TestStatsCopy(t *testing.T) {
	d := parseDefinition(t, shop)
	list := []Stats{statsOf(t, d, someUnits(3))}
	before := list[0].Metrics[0]
	c := CopyStats(list)
	c[0].Merge(&list[0])
	if list[0].Units != 3 || list[0].Metrics[0] != before || c[0].Units != 6 {
		t.Errorf("%d and %d units, want 3 and 6", list[0].Units, c[0].Units)
	}
	const one = `
name: one
arms: [{name: a, value: 1}, {name: b, value: 2}]
metrics: [{name: x}]
objective: {goals: [{metric: x}]}
`
	if !c[0].Fits(d) || c[0].Fits(parseDefinition(t, one)) {
		t.Error("fits the wrong definition, or not its own")
	}
}
