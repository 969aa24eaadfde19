package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/noregret/noregret/policy"
)

// tamper changes a character of a token's signature.
func tamper(token string) string {
	b := []byte(token)
	if i := len(b) - 5; b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}

// TestRefusedSumsComeAgain checks that a report whose sums were all refused does not use up its
// sequence number.
func TestRefusedSumsComeAgain(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	send := func(units, sequence int) (f policy.FeedbackResult) {
		w.get(200, &f, "POST", "/v1/aggregates",
			fmt.Sprintf(
				`{"experiment": "toy", "source": "s", "sequence": %d, "items": [{"version": 1, "arm": "gain", `+
					`"units": %d}]}`, sequence, units))
		return f
	}
	if f := send(-2, 1); f.Rejected != 1 {
		t.Errorf("%+v", f)
	}
	if f := send(2, 1); f.Accepted != 1 {
		t.Errorf("corrected: %+v", f)
	}
	if f := send(2, 1); f.Duplicate != 1 {
		t.Errorf("again: %+v", f)
	}
}

// TestHostileItems checks that items of feedback are judged one by one, with the results that
// docs/service.md states.
func TestHostileItems(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	good := w.decide("toy", "ann")[0].Token
	page, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	other,
		err := policy.NewSigner(policy.Keys{
		Current: 1,
		Secrets: map[byte][]byte{1: []byte("somebody else's secret")},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Append(nil, policy.Token{Experiment: "toy", Version: 1, Propensity: 1, Time: w.now})
	if err != nil {
		t.Fatal(err)
	}
	stranger := string(b)
	for _, c := range []struct {
		name, token string
		metrics     map[string]float64
		status      policy.ItemStatus
		text        string
	}{
		{"a genuine token", good, map[string]float64{"x": 1}, "accepted", ""},
		{"a token that is replayed", good, map[string]float64{"x": 1}, "duplicate", ""},
		{
			"a forged signature", tamper(good),
			map[string]float64{"x": 1},
			"rejected",
			"the token cannot be read or was changed",
		},
		{
			"a token of another key", stranger,
			map[string]float64{"x": 1},
			"rejected",
			"the token cannot be read or was changed",
		},
		{"no token", "", map[string]float64{"x": 1}, "rejected", "the token cannot be read or was changed"},
		{
			"a token of 2000 characters", strings.Repeat("A", 2000),
			map[string]float64{"x": 1},
			"rejected",
			"the token cannot be read or was changed",
		},
		{
			"an unknown metric", good,
			map[string]float64{"z": 1},
			"rejected",
			"metrics.z: not a metric: want one of x, y",
		},
		{
			"a value out of its range", good,
			map[string]float64{"y": 11},
			"rejected",
			"metrics.y: 11: want a number in [-10, 10]",
		},
		{"no metrics", good, nil, "rejected", "metrics: none: at least one of x, y is required"},
	} {
		f := w.post("/v1/feedback", item{c.token, c.metrics})
		if len(f.Items) != 1 || f.Items[0].Status != c.status || f.Items[0].Error != c.text {
			t.Errorf("%s: %+v", c.name, f)
		}
		if row := fmt.Sprintf("| %s | 200 | %s", c.name, c.status); !strings.Contains(string(page), row) {
			t.Errorf("docs/service.md lacks the row %s", row)
		}
	}
}
