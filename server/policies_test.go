package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// escapes has names and values with every character that JSON encoders write in more than one way.
const escapes = `name: hostile
arms:
  - {name: a, value: "<b>x</b> & y"}
  - {name: b, value: {"<k>&": "\u2028\u2029\u0000\u001f\\\"/é😀", n: [1e3, 0.1, -0, null, true]}}
salt: "<salt>&\\\"/é😀"
metrics: [{name: x, range: [0, 1e15]}]
policy: {kind: fixed, split: {a: .5, b: .5}}
`

// TestPolicyBytes checks that the service sends exactly the bytes whose digest the policy states.
// Clients then decide as the service does, whatever characters the policy contains.
func TestPolicyBytes(t *testing.T) {
	w := newWorld(t)
	w.apply(escapes)
	status, b := w.do("GET", "/v1/experiments/hostile/policy", "")
	if status != 200 {
		t.Fatalf("status %d: %s", status, b)
	}
	p, err := policy.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bytes.Replace(b, []byte(p.Digest), nil, 1))
	if hex.EncodeToString(sum[:]) != p.Digest {
		t.Errorf("the digest %s is not that of the other bytes", p.Digest)
	}
	var units []string
	for i := range 40 {
		units = append(units, fmt.Sprint("unit-", i))
	}
	for _, d := range w.decide("hostile", units...) {
		if got := p.Decide(d.Unit); got.Name != d.Arm || got.Propensity != d.Propensity || got.Version != d.Version ||
			!bytes.Equal(got.Value, d.Value) {
			t.Errorf("%s: the client decides %s %s, the service %s %s", d.Unit, got.Name, got.Value, d.Arm, d.Value)
		}
	}
	w.get(304, nil, "GET", "/v1/experiments/hostile/policy", "", "If-None-Match", `"`+p.Digest+`"`)
}

// TestPublishIsLocal checks that a renewed policy costs the table the same beside few and beside
// many experiments. Before, the whole table was made anew: 1,000 times the entries, 1,000 times the
// cost.
func TestPublishIsLocal(t *testing.T) {
	cost := func(others int) float64 {
		state := experiment.NewState()
		table := newPolicyTable(newMetrics())
		for i := range others {
			text := fmt.Sprintf("name: e%d\narms: [{name: a, value: 1}]\nmetrics: [{name: x}]\npolicy: {kind: fixed, "+
				"split: {a: 1}}", i)
			d, err := definition.Parse("d", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			events, err := state.Plan(d, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if _, _, err := state.Step(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := table.publish(state, slices.Values(state.Names())); err != nil {
			t.Fatal(err)
		}
		if len(table.all()) != others || table.get("e1") == nil || table.get("none") != nil {
			t.Fatalf("%d entries of %d", len(table.all()), others)
		}
		one := slices.Values([]string{"e1"})
		return testing.AllocsPerRun(10, func() {
			table.entries.Delete("e1")
			if err := table.publish(state, one); err != nil || table.get("e1") == nil {
				t.Fatal(err)
			}
		})
	}
	few, many := cost(5), cost(1000)
	if many > 2*few {
		t.Errorf("%v allocations beside 5 experiments, %v beside 1000", few, many)
	}
}
