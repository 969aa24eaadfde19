package experiment

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/policy"
)

// reported returns the report of the experiment g.
func (s *scenario) reported() *api.Report {
	s.t.Helper()
	r, err := s.state.Report("g")
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// send sends feedback of n units that are decided now.
func (s *scenario) send(r *random.Source, n int, x, y float64) {
	p := join.Units{Experiment: "g"}
	for range n {
		d := s.state.Policy("g").Decide(itoa(int(r.Uint64() >> 2)))
		p.Items = append(p.Items, join.UnitOf(policy.Token{
			Experiment: "g", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: time.Unix(0, s.now),
		}, nil))
	}
	s.event(KindExposures, p)
	for i := range p.Items {
		p.Items[i].Metrics = map[string]float64{"x": x + 0.01*stat.Normal(r), "y": y + 0.1*stat.Normal(r)}
	}
	s.event(KindFeedback, p)
}

// alike reports whether two values are known and the same but for rounding, or both unknown.
func alike(a, b *float64) bool {
	return (a == nil) == (b == nil) && (a == nil || math.Abs(*a-*b) < 1e-9)
}

// TestGuardHistory checks that the history has each version's guardrails as the report had them
// just before the version ended, also before a breach that ended it, with the limits of that time,
// and that a restored state has the same. A state of a version of noregret that recorded nothing,
// or in another form, opens without.
func TestGuardHistory(t *testing.T) {
	t.Parallel()
	s, r := newScenario(t), random.New(7, "history")
	const definition = "apply\nname: g\narms: [{name: c, value: 0}, {name: a, value: 1}]\ncontrol: {arm: c, " +
		"share: 0.5}\nmetrics: [{name: x, range: [0, 1]}, {name: y}]\nobjective: {goals: [{metric: y}]}\n" +
		"guardrails: [{metric: x, min: 0.6, hard: false, action: rollback}, "
	const end = "]\nround: {length: 1m, min_units: 10}\nattribution_window: 3h"
	s.run(definition + "{metric: y, max_change: 0.5, hard: false}" + end)
	want := map[uint64][]api.GuardrailPoint{}
	check := func(when string) {
		t.Helper()
		got := s.reported()
		want[got.Version] = pointsNow(got.Guardrails)
		if len(got.History) != len(want) {
			t.Fatalf("%s: %d versions, want %d", when, len(got.History), len(want))
		}
		for _, h := range got.History {
			if len(h.Guardrails) != len(want[h.Version]) {
				t.Fatalf("%s: version %d has %+v, want %+v", when, h.Version, h.Guardrails, want[h.Version])
			}
			for i, p := range h.Guardrails {
				q := want[h.Version][i]
				if p.Metric != q.Metric || p.Kind != q.Kind || p.Limit != q.Limit || !alike(p.Estimate, q.Estimate) ||
					!alike(p.Low, q.Low) || !alike(p.High, q.High) || !alike(p.Served.Estimate, q.Served.Estimate) ||
					!alike(p.Served.Low, q.Served.Low) || !alike(p.Served.High, q.Served.High) {
					t.Errorf("%s: version %d has %s, want %s", when, h.Version, text(p), text(q))
				}
			}
		}
	}
	check("at the beginning")
	for i := range 4 {
		s.send(r, 300, 0.9-0.01*float64(i), 1+0.1*float64(i))
		check("in a round")
		s.now += int64(time.Minute)
		s.run("due")
		check("after a round")
	}
	if p := want[3][1]; p.Estimate == nil || p.Served.High == nil || p.Kind != "max_change" || p.Limit != 0.5 {
		t.Errorf("too little is known of version 3: %s", text(p))
	}
	s.run(definition + "{metric: y, max_change: 0.25, hard: false}, {metric: y, max: 9, hard: false}" + end)
	check("after a change of the guardrails")
	version := s.state.Policy("g").Version
	if len(want[version-1]) != 2 || len(want[version]) != 3 || want[version][1].Limit != 0.25 {
		t.Fatalf("%+v", want)
	}
	s.send(r, 3000, 0.05, 1)
	got := s.reported()
	if acted := got.Guardrails[0].Acted; got.State != policy.RolledBack || acted == nil || acted.Version != version {
		t.Fatalf("version %d is %s: %+v", got.Version, got.State, acted)
	}
	for _, h := range got.History {
		if h.Version < version {
			continue
		}
		want[h.Version] = h.Guardrails
		if p := h.Guardrails[0]; h.Version == version && (p.High == nil || *p.High >= p.Limit) {
			t.Errorf("the version that was breached ended with %s", text(p))
		}
	}
	check("after the breach")
	digest, err := s.state.Digest()
	if err != nil {
		t.Fatal(err)
	}
	recorded := func(points guard.Points) []byte {
		return alteredParts(t, s.state, func(p *persistedParts) {
			for i, v := range p.Versions {
				other := *v
				other.Guards = points
				p.Versions[i] = &other
			}
		})
	}
	for _, damage := range []guard.Points{
		{8, 0, 0, 0, 0, 0, 0, 0}, {-1, 0, 0, 0, 0, 0, 0, 0}, {0.5, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0},
	} {
		if err := s.state.UnmarshalBinary(recorded(damage)); err == nil {
			t.Errorf("points %v were accepted", damage)
		}
	}
	b, err := s.state.MarshalBinary()
	if err == nil {
		err = s.state.UnmarshalBinary(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	check("restored")
	if err := s.state.UnmarshalBinary(recorded(nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.state.Digest(); err != nil || got != digest {
		t.Errorf("the digest depends on the history: %v", err)
	}
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
