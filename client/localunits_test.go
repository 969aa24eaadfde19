package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
)

const news = `name: news
arms: [{name: classic, value: 0}, {name: loud, value: 1}, {name: plain, value: 2}]
control: {arm: classic}
metrics: [{name: like, range: [0, 1], default: 0}]
objective: {goals: [{metric: like}]}
policy: {kind: lin-ucb}
context:
  - {name: age, kind: number, range: [0, 100]}
  - {name: words, kind: text-hash, buckets: 8, optional: true}
exploration_floor: 0.3
round: {length: 1ms}
attribution_window: 1h
`

// TestLocalInContext: the process and the service decide alike, in bits, and what the process
// reports counts once, with the service unavailable in between and a version later.
func TestLocalInContext(t *testing.T) {
	s, ctx := newService(t), context.Background()
	if _, err := s.client.Apply(ctx, "news", []byte(news)); err != nil {
		t.Fatal(err)
	}
	o := hourly()
	o.Queue = 100
	l, err := s.client.NewLocal(ctx, "news", o)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"age": %d, "words": "go home %d"}`, i, i%3))
	}
	for i := range 60 {
		unit := fmt.Sprint("user-", i)
		d, err := l.DecideIn(unit, at(i))
		if err != nil {
			t.Fatal(err)
		}
		metrics := map[string]float64{"like": float64(i % 2)}
		if i%3 == 0 {
			metrics = nil
		}
		if err := l.RecordIn(d, metrics); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.client.Change(ctx, "news", "pause", "to make a version"); err != nil {
		t.Fatal(err)
	}
	s.refuse.Store(3)
	if err := l.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := s.client.Report(ctx, "news")
	if err != nil {
		t.Fatal(err)
	}
	if r.Health.Exposures != (api.Counts{Accepted: 60}) || r.Feedback != (api.Counts{Accepted: 40}) {
		t.Errorf("exposures %+v, feedback %+v", r.Health.Exposures, r.Feedback)
	}
	var units []api.UnitContext
	for i := range 60 {
		units = append(units, api.UnitContext{ID: fmt.Sprint("user-", i), Context: at(i)})
	}
	ds, err := s.client.DecideIn(ctx, "news", units...)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range ds {
		own, err := l.DecideIn(units[i].ID, units[i].Context)
		if err != nil || own.Name != d.Arm || own.Propensity != d.Propensity {
			t.Fatalf("unit %d: %+v, the service decides %+v: %v", i, own, d, err)
		}
	}
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestLocalInContextRefused: contexts and metrics that do not fit are refused at once, and Flush
// tells of units that the service refuses.
func TestLocalInContextRefused(t *testing.T) {
	s, ctx := newService(t), context.Background()
	if _, err := s.client.Apply(ctx, "news", []byte(news)); err != nil {
		t.Fatal(err)
	}
	o := hourly()
	o.Queue = 1
	l, err := s.client.NewLocal(ctx, "news", o)
	if err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{
		`{"age": 200}`: "context.age: 200", ``: "context.age: missing", `{"age": 1, "x": 2}`: "context.x",
	} {
		if _, err := l.DecideIn("ann", json.RawMessage(context)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", context, err, want)
		}
	}
	if _, err := l.DecideIn("", json.RawMessage(`{"age": 1}`)); err == nil {
		t.Error("a unit without a name")
	}
	d, err := l.DecideIn("ann", json.RawMessage(`{"age": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.RecordIn(d, map[string]float64{"like": 7}); err == nil {
		t.Error("a value outside its range")
	}
	if err := l.RecordIn(client.LocalDecision{}, nil); err == nil {
		t.Error("a decision that was not made")
	}
	if err := l.RecordIn(d, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.RecordIn(d, nil); err == nil || !strings.Contains(err.Error(), "queue is full") {
		t.Errorf("a full queue: %v", err)
	}
	if err := s.client.Delete(ctx, "news", "", true); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(ctx); err == nil || !strings.Contains(err.Error(), "unit ann") {
		t.Errorf("%v", err)
	}
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestDecidedItems: what a client says it decided is repeated by the service, and refused where it
// cannot be.
func TestDecidedItems(t *testing.T) {
	s, ctx := newService(t), context.Background()
	if _, err := s.client.Apply(ctx, "news", []byte(news)); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	good := api.Decided{
		Experiment: "news", Version: 1, Unit: "ann", Context: json.RawMessage(`{"age":1}`),
		Time: now,
	}
	with := func(f func(d *api.Decided)) api.FeedbackItem {
		d := good
		f(&d)
		return api.FeedbackItem{Decided: &d}
	}
	out, err := s.client.Exposures(
		ctx,
		with(func(d *api.Decided) {}),
		with(func(d *api.Decided) {}),
		with(func(d *api.Decided) { d.Experiment = "none" }),
		with(func(d *api.Decided) { d.Version = 9 }),
		with(func(d *api.Decided) { d.Context = json.RawMessage(`{"age":-1}`) }),
		with(func(d *api.Decided) { d.Time = now + 3_600_000 }),
		with(func(d *api.Decided) { d.Time = -1 }),
		with(func(d *api.Decided) { d.Unit = "" }),
		with(func(d *api.Decided) { d.Experiment, d.Unit = "toy", "bob" }),
		api.FeedbackItem{Decided: &good, Context: good.Context},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := "accepted duplicate rejected rejected rejected rejected rejected rejected rejected rejected"
	var got []string
	for _, f := range out.Items {
		got = append(got, string(f.Status))
	}
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s, want %s: %+v", text, want, out.Items)
	}
}
