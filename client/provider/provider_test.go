package provider_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	"github.com/open-feature/go-sdk/openfeature"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/client/provider"
	"github.com/noregret/noregret/server"
	"github.com/noregret/noregret/server/servicetest"
)

func newService(t *testing.T) (*server.Server, string) {
	t.Helper()
	s, url := servicetest.Start(t, nil)
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string][2]string{
		"number": {"0.5", "2"}, "whole": {"3", "4"},
		"text": {`"red"`, `"blue"`}, "switch": {"true", "false"}, "object": {`{"a": [1, {"b": null}]}`, `{"a": []}`},
	} {
		text := `{"name": "` + name + `", "arms": [{"name": "one", "value": ` + values[0] +
			`}, {"name": "two", "value": ` + values[1] + `}],
			"metrics": [{"name": "x"}, {"name": "seconds"}], "policy": {"kind": "fixed", "split": {"one": 0.5, ` +
			`"two": 0.5}}}`
		if _, err := c.Apply(context.Background(), name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return s, url
}

// evaluate evaluates every flag through the SDK for several units and compares the results with the
// service's own decisions.
func evaluate(t *testing.T, s *server.Server, c *openfeature.Client) {
	t.Helper()
	ctx := context.Background()
	for _, unit := range []string{"ann", "bob", "cyd", "dan", "eve"} {
		user := openfeature.NewEvaluationContext(unit, map[string]any{"country": "de"})
		pick := func(flag string) int { return s.Policy(flag).Decide(unit).Arm }
		number, err := c.FloatValueDetails(ctx, "number", -1, user)
		if err != nil || number.Value != []float64{.5, 2}[pick("number")] || number.Reason != openfeature.SplitReason ||
			number.Variant != []string{"one", "two"}[pick("number")] {
			t.Errorf("%+v %v", number, err)
		}
		if id, err := number.FlagMetadata.GetString("decisionId"); err != nil || id == "" {
			t.Errorf("metadata %+v: %v", number.FlagMetadata, err)
		}
		if p, err := number.FlagMetadata.GetFloat("propensity"); err != nil || p != .5 {
			t.Errorf("metadata %+v: %v", number.FlagMetadata, err)
		}
		if v, err := c.IntValue(ctx, "whole", -1, user); err != nil || v != []int64{3, 4}[pick("whole")] {
			t.Errorf("%v %v", v, err)
		}
		if v, err := c.StringValue(ctx, "text", "", user); err != nil || v != []string{"red", "blue"}[pick("text")] {
			t.Errorf("%v %v", v, err)
		}
		if v, err := c.BooleanValue(ctx, "switch", false, user); err != nil || v != (pick("switch") == 0) {
			t.Errorf("%v %v", v, err)
		}
		if v, err := c.ObjectValue(ctx, "object", nil, user); err != nil ||
			len(v.(map[string]any)["a"].([]any)) != []int{2, 0}[pick("object")] {
			t.Errorf("%v %v", v, err)
		}
		if v, err := c.FloatValueDetails(ctx, "none", 7, user); err == nil || v.Value != 7 ||
			v.ErrorCode != openfeature.FlagNotFoundCode {
			t.Errorf("%+v %v", v, err)
		}
		if v, err := c.BooleanValueDetails(ctx, "text", true, user); err == nil || !v.Value ||
			v.ErrorCode != openfeature.TypeMismatchCode {
			t.Errorf("%+v %v", v, err)
		}
	}
	if v, err := c.FloatValueDetails(ctx, "number", 7, openfeature.NewTargetlessEvaluationContext(nil)); err == nil ||
		v.Value != 7 || v.ErrorCode != openfeature.TargetingKeyMissingCode {
		t.Errorf("%+v %v", v, err)
	}
}

// TestPublicOFREP runs the public OFREP provider of OpenFeature's Go SDK, unchanged, against the
// service.
func TestPublicOFREP(t *testing.T) {
	s, url := newService(t)
	if err := openfeature.SetNamedProviderAndWait("ofrep", ofrep.NewProvider(url)); err != nil {
		t.Fatal(err)
	}
	evaluate(t, s, openfeature.NewClient("ofrep"))
}

// TestProvider runs this package's provider, which can also track, against the service.
func TestProvider(t *testing.T) {
	s, url := newService(t)
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	o := hourly()
	o.Remember, o.Failed = 4, func(_, _ string, err error) { failed++ }
	p, err := provider.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := openfeature.SetNamedProviderAndWait("ours", p); err != nil {
		t.Fatal(err)
	}
	flags, ctx := openfeature.NewClient("ours"), context.Background()
	evaluate(t, s, flags)
	user := openfeature.NewEvaluationContext("eve", nil)
	flags.Track(ctx, provider.Exposure, user, openfeature.NewTrackingEventDetails(0).Add("flag", "number"))
	flags.Track(ctx, "x", user, openfeature.NewTrackingEventDetails(3.5).Add("flag", "number").Add("seconds", 12))
	// The provider has forgotten ann: it remembers four of the five units.
	flags.Track(ctx, "x", openfeature.NewEvaluationContext("ann", nil), openfeature.NewTrackingEventDetails(1))
	flags.Track(ctx, "x", openfeature.NewEvaluationContext("stranger", nil), openfeature.NewTrackingEventDetails(1))
	if err := p.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := s.Report("number")
	if err != nil {
		t.Fatal(err)
	}
	a := r.Arms[s.Policy("number").Decide("eve").Name]
	if a.N != 1 || *a.Metrics["x"].Mean != 3.5 || *a.Metrics["seconds"].Mean != 12 ||
		r.Feedback != (api.Counts{Accepted: 1}) || failed != 2 {
		t.Errorf("%+v, %+v, %d failed", a, r.Feedback, failed)
	}
	other, err := s.Report("whole")
	if err != nil || other.Feedback.Accepted != 0 {
		t.Errorf("%+v %v", other.Feedback, err)
	}
	p.Shutdown()
	for name, change := range map[string]func(o *provider.Options){
		"zero value": func(o *provider.Options) { *o = provider.Options{} },
		"remember":   func(o *provider.Options) { o.Remember = 0 },
		"grace":      func(o *provider.Options) { o.Grace = 0 },
		"reporter":   func(o *provider.Options) { o.Reporter.Batch = 0 },
	} {
		o := provider.DefaultOptions()
		if change(&o); !refused(provider.New(c, o)) {
			t.Errorf("%s: %+v is accepted", name, o)
		}
	}
}

// refused reports whether an error has the code usage.
func refused(_ *provider.Provider, err error) bool { return noregret.CodeOf(err) == noregret.Usage }

// hourly are options that send nothing by themselves.
func hourly() provider.Options {
	o := provider.DefaultOptions()
	o.Reporter.Every = time.Hour
	return o
}

// TestTrackElsewhere checks that attributes and events that are not metrics of an experiment do not
// affect those that are. Failed is called with every refusal by the provider or the service.
func TestTrackElsewhere(t *testing.T) {
	s, url := newService(t)
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _,
		err := c.Apply(ctx, "narrow",
		[]byte(
			`{"name": "narrow", "arms": [{"name": "one", "value": 1}], "metrics": [{"name": "z", "range": [0, 1]}], `+
				`"policy": {"kind": "fixed", "split": {"one": 1}}}`)); err != nil {
		t.Fatal(err)
	}
	var failed []string
	o := hourly()
	o.ExposeOnEvaluation = true
	o.Failed = func(unit, event string, err error) {
		failed = append(failed, unit+"/"+event+"/"+string(noregret.CodeOf(err)))
	}
	p, err := provider.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := openfeature.SetNamedProviderAndWait("elsewhere", p); err != nil {
		t.Fatal(err)
	}
	flags, eve := openfeature.NewClient("elsewhere"), openfeature.NewEvaluationContext("eve", nil)
	for _, flag := range []string{"number", "narrow"} {
		if _, err := flags.FloatValue(ctx, flag, -1, eve); err != nil {
			t.Fatal(err)
		}
	}
	details := openfeature.NewTrackingEventDetails
	flags.Track(ctx, "x", eve, details(5).Add("session_ms", 5000).Add("seconds", 2))
	flags.Track(ctx, "x", eve, details(math.NaN()))
	flags.Track(ctx, "none", eve, details(1))
	flags.Track(ctx, "z", eve, details(7)) // out of range: rejected by the service
	if err := p.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]api.Counts{"number": {Accepted: 1}, "narrow": {Rejected: 1}} {
		if r, err := s.Report(name); err != nil || r.Feedback != want {
			t.Errorf("%s: %+v, %v", name, r.Feedback, err)
		}
	}
	if want := []string{"eve/x/bad_input", "eve/none/bad_input", "/z/bad_input"}; !slices.Equal(failed, want) {
		t.Errorf("failed: %q, want %q", failed, want)
	}
	// Shutdown returns even if the service is unavailable.
	once := client.DefaultOptions("http://127.0.0.1:1")
	once.Attempts = 1
	quick, err := client.New(once)
	if err != nil {
		t.Fatal(err)
	}
	o = provider.DefaultOptions()
	o.Grace = time.Millisecond
	q, err := provider.New(quick, o)
	if err != nil {
		t.Fatal(err)
	}
	q.Shutdown()
	p.Shutdown()
}

// TestContext: the attributes that a contextual experiment declares reach the policy, and the
// exposure that is reported has them. Other attributes, of any type, do not matter.
func TestContext(t *testing.T) {
	s, url := newService(t)
	c, err := client.New(client.DefaultOptions(url))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := c.Apply(ctx, "news", []byte(`{"name": "news", "arms": [{"name": "calm", "value": 0},
		{"name": "loud", "value": 1}], "metrics": [{"name": "like", "range": [0, 1], "default": 0}],
		"objective": {"goals": [{"metric": "like"}]}, "policy": {"kind": "lin-ucb"}, "exposure": "reported",
		"context": [{"name": "age", "kind": "number", "range": [0, 100]},
			{"name": "member", "kind": "category", "values": ["true", "false"], "optional": true}]}`)); err != nil {
		t.Fatal(err)
	}
	var failed []error
	o := hourly()
	o.Failed = func(_, _ string, err error) { failed = append(failed, err) }
	p, err := provider.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := openfeature.SetNamedProviderAndWait("contexts", p); err != nil {
		t.Fatal(err)
	}
	flags := openfeature.NewClient("contexts")
	user := func(unit string, fields map[string]any) openfeature.EvaluationContext {
		return openfeature.NewEvaluationContext(unit, fields)
	}
	ann := user("ann", map[string]any{
		"age": 31, "plan": "gold", "since": time.Unix(0, 0), "cart": map[string]any{"n": 1}, "odds": math.Inf(1),
	})
	d, err := flags.FloatValueDetails(ctx, "news", -1, ann)
	if err != nil || d.Reason != openfeature.TargetingMatchReason {
		t.Errorf("%+v: %v", d, err)
	}
	if v, err := flags.FloatValueDetails(ctx, "number", -1, ann); err != nil || v.Reason != openfeature.SplitReason {
		t.Errorf("a flag without contexts: %+v: %v", v, err)
	}
	for _, fields := range []map[string]any{nil, {"age": "old"}} {
		if v, err := flags.FloatValueDetails(ctx, "news", 7, user("bob", fields)); err == nil || v.Value != 7 ||
			v.ErrorCode != openfeature.InvalidContextCode {
			t.Errorf("%v: %+v: %v", fields, v, err)
		}
	}
	flags.Track(ctx, provider.Exposure, ann, openfeature.NewTrackingEventDetails(0).Add("flag", "news"))
	flags.Track(ctx, "like", ann, openfeature.NewTrackingEventDetails(1).Add("flag", "news"))
	if err := p.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := s.Report("news")
	if err != nil || r.Health.Exposures != (api.Counts{Accepted: 1}) || r.Feedback != (api.Counts{Accepted: 1}) {
		t.Errorf("%+v: %v", r, err)
	}
	if failed != nil {
		t.Errorf("failed: %v", failed)
	}
}
