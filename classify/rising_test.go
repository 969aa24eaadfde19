package classify

import (
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/random"
)

// Times and counters are found, also where rows are late or many are alike. Hours, days of a month,
// constants, and columns that are mostly zero are not.
func TestRising(t *testing.T) {
	noise := func(r *random.Source) float32 { return float32(r.NormFloat64()) }
	columns := []struct {
		name  string
		value func(i int, r *random.Source) float32
		rises bool
	}{
		{"time", func(i int, r *random.Source) float32 { return 1.7e9 + float32(i*600) + 100*noise(r) }, true},
		{"time, some late", func(i int, _ *random.Source) float32 { return float32(i - i%20/19*300 + 400) }, true},
		{"time, in pairs", func(i int, _ *random.Source) float32 { return float32(i ^ 1) }, true},
		{"time, blocks shuffled", func(i int, r *random.Source) float32 {
			return float32(i/1500*1500) + 1 + 1500*float32(r.Float64())
		}, true},
		{"days of 950 rows", func(i int, _ *random.Source) float32 { return float32(i/950 + 1) }, true},
		{"days of 1024 rows", func(i int, _ *random.Source) float32 { return float32(i/1024 + 1) }, true},
		{"days of 2000 rows", func(i int, _ *random.Source) float32 { return float32(i/2000 + 1) }, true},
		{"countdown", func(i int, _ *random.Source) float32 { return float32(100_000 - i) }, true},
		{"day of the month", func(i int, _ *random.Source) float32 { return float32(i/90%30 + 1) }, false},
		{"hour", func(i int, _ *random.Source) float32 { return float32(i%288)/12 + 1 }, false},
		{"week", func(i int, _ *random.Source) float32 { return float32(i/40%52 + 1) }, false},
		{"constant", func(int, *random.Source) float32 { return 1 }, false},
		{"noise", func(_ int, r *random.Source) float32 { return noise(r) }, false},
		{"noise that rises", func(i int, r *random.Source) float32 { return float32(i)/2500 + noise(r) }, false},
		{"rare counter", func(i int, _ *random.Source) float32 { return float32(max(0, i-4000)) }, false},
		{"turns", func(i int, _ *random.Source) float32 { return float32(max(i, 20_000-i)) }, false},
		{"flag that is set", func(i int, _ *random.Source) float32 { return float32(1 + i/10_000) }, false},
	}
	for _, rows := range []int{99, 900, 1000, 1001, 20_000} {
		var r rising
		rng := random.New(1, "rising")
		var want []uint32
		for i := range rows {
			var index []uint32
			var value []float32
			for k, c := range columns {
				index, value = append(index, uint32(k)), append(value, c.value(i, rng))
			}
			r.observe(index, value)
		}
		for k, c := range columns {
			turns := c.name == "turns" || c.name == "week" || c.name == "day of the month"
			moves := rows > 2000 || !strings.HasPrefix(c.name, "days") && c.name != "time, blocks shuffled"
			if rows >= 100 && moves && (c.rises || turns && rows < 2000) {
				want = append(want, uint32(k))
			}
		}
		if got := r.found(); !slices.Equal(got, want) {
			t.Errorf("%d rows: found %v, want %v", rows, got, want)
		}
	}
}

// A stream with a counter says so in its model.
func TestStreamWithACounter(t *testing.T) {
	xs := stream(5, 1500)
	opt := StreamOptions{Fit: Options{Measure: measure.GMean{}, Algorithm: "spade"}}
	says := func() bool {
		m, err := FitStream(t.Context(), streamOf(t, xs, "1", "0"), opt)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.HasPrefix(w, "feature 14 ") })
	}
	if says() {
		t.Error("a warning of a feature without a trend")
	}
	for i := range xs {
		xs[i].Index, xs[i].Value = append(xs[i].Index, 13), append(xs[i].Value, float32(i+1))
	}
	if !says() {
		t.Error("no warning of a counter")
	}
}
