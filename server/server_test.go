package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
)

// TestWholeLoop runs the whole loop once: definition, decision, exposure, feedback, round, report,
// explanation.
func TestWholeLoop(t *testing.T) {
	w := newWorld(t)
	var a api.Applied
	w.get(201, &a, "PUT", "/v1/experiments/toy", toy, "Content-Type", "application/yaml")
	if !a.Created || !a.Changed || a.Version != 1 {
		t.Errorf("%+v", a)
	}
	w.get(200, &a, "PUT", "/v1/experiments/toy", toy, "Content-Type", "text/yaml")
	if a.Created || a.Changed {
		t.Errorf("the same again: %+v", a)
	}
	var d definition.Definition
	w.get(200, &d, "GET", "/v1/experiments/toy", "")
	if d.Name != "toy" || d.Unit != "user" {
		t.Errorf("%+v", d)
	}
	units := []string{}
	for i := range 300 {
		units = append(units, fmt.Sprint("user-", i))
	}
	ds := w.decide("toy", units...)
	again := w.decide("toy", units...)
	for i := range ds {
		if ds[i].Arm != again[i].Arm || ds[i].Unit != units[i] {
			t.Fatalf("%+v and %+v", ds[i], again[i])
		}
	}
	var exposed, reported []item
	for _, d := range ds {
		exposed = append(exposed, item{Token: d.Token})
		x := map[string]float64{"control": 0, "gain": 2, "guard": 0}[d.Arm]
		y := map[string]float64{"control": 0.5, "gain": -2, "guard": 2}[d.Arm]
		reported = append(reported, item{d.Token, map[string]float64{"x": x, "y": y}})
	}
	if f := w.post("/v1/exposures", exposed...); f.Accepted != 300 {
		t.Errorf("%+v", f)
	}
	if f := w.post("/v1/feedback", reported...); f.Accepted != 300 {
		t.Errorf("%+v", f)
	}
	tampered := tamper(ds[0].Token)
	f := w.post("/v1/feedback", reported[0], item{tampered, map[string]float64{"x": 1}},
		item{ds[1].Token, map[string]float64{"y": 99}}, item{"nonsense", nil})
	if f.Duplicate != 1 || f.Rejected != 3 || f.Items[1].Error == "" || f.Items[0].Status != "duplicate" {
		t.Errorf("%+v", f)
	}
	w.wait(time.Minute)
	w.server.Tick() // closes the round
	w.wait(10 * time.Minute)
	w.server.Tick() // closes its window
	w.wait(time.Minute)
	late := w.post("/v1/feedback", item{ds[0].Token, map[string]float64{"x": 1}})
	if late.Late != 1 {
		t.Errorf("%+v", late)
	}
	w.post("/v1/exposures", item{Token: w.decide("toy", units...)[0].Token})
	var r api.Report
	w.get(200, &r, "GET", "/v1/experiments/toy/report", "")
	if r.Version != 2 || r.Round != 2 ||
		r.Feedback != (api.Counts{Accepted: 300, Duplicate: 1, Late: 1, Rejected: 1}) {
		t.Errorf("version %d, round %d, %+v", r.Version, r.Round, r.Feedback)
	}
	n := r.HoldBack.N
	for _, a := range r.Arms {
		n += a.N
	}
	if n != 301 || r.Arms["gain"].Metrics["x"].Mean == nil || *r.Arms["gain"].Metrics["x"].Mean != 2 ||
		r.Mixture["control"] < .2 {
		t.Errorf("%d units, %+v, %v", n, r.Arms, r.Mixture)
	}
	var e api.Explanation
	w.get(200, &e, "GET", "/v1/experiments/toy/explain?token="+ds[7].Token, "")
	if !e.Consistent || e.Arm != ds[7].Arm || e.Version != 1 || e.Propensity != ds[7].Propensity {
		t.Errorf("%+v", e)
	}
	w.get(400, nil, "GET", "/v1/experiments/toy/explain?token="+tampered, "")
	if logs := w.logs.String(); strings.Contains(logs, "user-") || strings.Contains(logs, ds[0].Token) {
		t.Errorf("the logs hold units or tokens: %s", logs)
	}
}
