package picture

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/plot"
)

// labels are those of the axis from low to high of a plot in a theme.
func labels(low, high float64) (out []string, ticks []plot.Tick) {
	for _, t := range Light.New("", "", "").Y.Tick.Marker.Ticks(low, high) {
		if !t.IsMinor() {
			out, ticks = append(out, t.Label), append(ticks, t)
		}
	}
	return out, ticks
}

func TestTickLabels(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{
		{0.1562, 0.1689, []string{"0.1575", "0.1625", "0.1675"}},
		{0, 1, []string{"0.0", "0.5", "1.0"}},
		{0, 0.11, []string{"0.00", "0.05", "0.10"}},
		{-0.31, 0.31, []string{"-0.3", "0.0", "0.3"}},
		{0, 50, []string{"0", "25", "50"}},
		{10, 10.011, []string{"10.000", "10.005", "10.010"}},
		{0, 2e7, []string{"0", "1e+07", "2e+07"}},
		{0, 1e-7, []string{"0", "5e-08", "1e-07"}},
	} {
		if got, _ := labels(c.low, c.high); !slices.Equal(got, c.want) {
			t.Errorf("%v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

// The label of a tick is its value, on axes of any place and width.
func TestTickLabelsTellTheirValues(t *testing.T) {
	for _, from := range []float64{-1234, -0.07, 0, 0.1562, 3.3, 98765} {
		for width := 1e-6; width < 1e9; width *= 1.7 {
			_, ticks := labels(from, from+width)
			for _, k := range ticks {
				if v, err := strconv.ParseFloat(k.Label, 64); err != nil || math.Abs(v-k.Value) > 1e-5*width {
					t.Errorf("%v to %v: the tick at %v has the label %q", from, from+width, k.Value, k.Label)
				}
			}
		}
	}
}
