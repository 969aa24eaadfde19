package definition

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/policy"
)

const valuesText = `
name: values
arms: [{name: a, value: 1}, {name: b, value: 2}]
control: {arm: a, share: .1}
metrics:
  - {name: free}
  - {name: rated, range: [-1, 3]}
  - {name: capped, cap: 50}
  - {name: clicks, kind: count}
  - {name: views, kind: count, range: [0, 10]}
  - {name: each, kind: ratio, numerator: rated, denominator: views}
  - {name: open, kind: ratio, numerator: rated, denominator: clicks}
objective: {goals: [{metric: capped}]}
guardrails:
  - {metric: each, max: 2}
  - {metric: rated, min_change: -.1}
  - {metric: free, max_change: .1}
  - {metric: rated, max_change: .1}
`

// TestValueIntervals checks the interval of one observation by its kind, range and cap.
func TestValueIntervals(t *testing.T) {
	d, err := Parse("values.yaml", []byte(valuesText))
	if err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	for _, c := range []struct {
		metric            string
		limit             float64
		low, high, width  float64
		spanLow, spanHigh float64
	}{
		{metric: "free", low: -inf, high: inf, width: inf, spanLow: -inf, spanHigh: inf},
		{metric: "rated", limit: 7, low: -1, high: 3, width: 4, spanLow: -1, spanHigh: 3},
		{metric: "capped", low: -50, high: 50, width: 100, spanLow: -50, spanHigh: 50},
		{metric: "clicks", low: 0, high: inf, width: inf, spanLow: 0, spanHigh: inf},
	} {
		m := d.MetricIndex(c.metric)
		if low, high := d.Lowest(m), d.Highest(m); low != c.low || high != c.high {
			t.Errorf("%s: [%v, %v], want [%v, %v]", c.metric, low, high, c.low, c.high)
		}
		if width := d.Width(m); width != c.width {
			t.Errorf("%s: width %v, want %v", c.metric, width, c.width)
		}
		if least, most := d.Span(m, c.limit); least != c.spanLow || most != c.spanHigh {
			t.Errorf("%s: span [%v, %v], want [%v, %v]", c.metric, least, most, c.spanLow, c.spanHigh)
		}
	}
	for _, c := range []struct {
		metric            string
		limit, least, max float64
	}{
		{"each", 2, -1 - 20, 3},
		{"each", -2, -1, 3 + 20},
		{"each", 0, -1, 3},
		{"open", 2, -inf, 3},
		{"open", 0, -1, 3},
	} {
		m := d.MetricIndex(c.metric)
		if least, most := d.Span(m, c.limit); least != c.least || most != c.max {
			t.Errorf("%s with limit %v: [%v, %v], want [%v, %v]", c.metric, c.limit, least, most, c.least, c.max)
		}
		if w := d.Width(m); w != inf {
			t.Errorf("%s: width %v, want +Inf", c.metric, w)
		}
	}
}

// TestJudgedMetrics checks which metrics are judged and compared, in the order of the metrics and
// each once.
func TestJudgedMetrics(t *testing.T) {
	d, err := Parse("values.yaml", []byte(valuesText))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.JudgedMetrics(), []int{0, 1, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("judged %v, want %v", got, want)
	}
	if got := d.ComparedMetrics(); !slices.Equal(got, d.JudgedMetrics()) {
		t.Errorf("compared %v, want the judged ones", got)
	}
	d.Control = nil
	if got := d.ComparedMetrics(); got != nil {
		t.Errorf("compared %v without a control, want none", got)
	}
}

func TestCheckValue(t *testing.T) {
	d, err := Parse("values.yaml", []byte(valuesText))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		metric string
		value  float64
		want   string // in the error; "" for none
	}{
		{"rated", 3, ""},
		{"capped", 1e6, ""}, // counts as 50
		{"clicks", 4, ""},
		{"rated", 3.5, "want a number in [-1, 3]"},
		{"free", math.NaN(), "want a number"},
		{"clicks", .5, "whole number"},
		{"clicks", -1, "want a number in [0"},
		{"each", 1, "report its parts rated and views"},
		{"sales", 1, "want one of free, rated, capped, clicks, views"},
	} {
		err := d.CheckValue(c.metric, c.value)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %v: %v, want %q", c.metric, c.value, err, c.want)
		}
	}
}

func TestGrace(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, time.Minute: 5 * time.Second, 10 * time.Minute: 30 * time.Second,
		24 * time.Hour: time.Minute,
	} {
		d := Definition{AttributionWindow: policy.Duration(window)}
		if got := d.Grace(); got != want {
			t.Errorf("%v after a window of %v, want %v", got, window, want)
		}
	}
}
