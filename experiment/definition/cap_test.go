package definition

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/strictjson"
)

// TestCapQuantile checks that a quantile of past values gives the cap when a definition is read:
// the smallest value that at least that part of the values do not exceed, in any order.
func TestCapQuantile(t *testing.T) {
	read := func(limit string) (*Definition, error) {
		return Parse("d", []byte("name: x\narms: [{name: a, value: 1}]\nmetrics: [{name: m, cap: "+limit+"}]\n"+
			"objective: {goals: [{metric: m}]}"))
	}
	for limit, want := range map[string]float64{
		"7.5":                                                  7.5,
		"{quantile: 0.5, of: [4, 1, 3, 2]}":                    2,
		"{quantile: 0.51, of: [4, 1, 3, 2]}":                   3,
		"{quantile: 0.75, of: [4, 1, 3, 2]}":                   3,
		"{quantile: 0.9, of: [0, 0, 0, 0, 0, 0, 0, 0, 5, 60]}": 5,
		"{quantile: 0.999, of: [3]}":                           3,
		"{quantile: 0.001, of: [3, 9]}":                        3,
	} {
		d, err := read(limit)
		if err != nil || float64(*d.Metrics[0].Cap) != want {
			t.Errorf("cap %s: %v, %v; want %v", limit, d, err, want)
			continue
		}
		if text, err := strictjson.Encode(d); err != nil || !strings.Contains(string(text), `"cap":`) ||
			strings.Contains(string(text), "quantile") {
			t.Errorf("cap %s is written as %s, %v", limit, text, err)
		}
	}
	for limit, want := range map[string]string{
		"{quantile: 1, of: [3]}":      "d:3: metrics[0].cap.quantile: 1: want a number in (0, 1)",
		"{quantile: 0.5, of: []}":     "d:3: metrics[0].cap.of: no values",
		"{quantile: 0.5}":             "cap",
		"{quantile: 0.5, of: [1e99]}": "metrics[0].cap.of: value 1 is 1e+99: want a number of size at most",
		"{quantile: 0.5, of: [0, 0]}": "metrics[0].cap: the quantile 0.5 of the 2 values is 0: want one above 0",
		"{quantile: 0.5, from: [1]}":  "unknown field",
		`"3"`:                         "cap",
		"-3":                          "metrics[0].cap: -3: want a number above 0",
	} {
		if _, err := read(limit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cap %s: %v, want %q", limit, err, want)
		}
	}
}
