// Package provider is a provider for OpenFeature's Go SDK that evaluates flags by a noregret
// decision service: an experiment is a flag, an arm is a variant, and the targeting key is the
// unit. A contextual experiment takes the attributes that its definition declares. Unlike the
// generic OFREP provider it supports tracking.
//
//	p, err := provider.New(client, provider.DefaultOptions())
//	err = openfeature.SetProviderAndWait(p)
//	flags := openfeature.NewClient("shop")
//	user := openfeature.NewEvaluationContext("ann", nil)
//	weight, err := flags.FloatValue(ctx, "ranking", 0.3, user)
//	flags.Track(ctx, provider.Exposure, user, openfeature.NewTrackingEventDetails(0))
//	flags.Track(ctx, "watch", user, openfeature.NewTrackingEventDetails(12.5))
package provider

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
)

// Exposure is the name of the tracking event that reports that a unit was shown its variant.
const Exposure = "exposure"

// Options configure a [Provider]. Begin with [DefaultOptions].
type Options struct {
	// ExposeOnEvaluation reports an exposure with every evaluation, for programs that show a
	// variant whenever they evaluate it.
	ExposeOnEvaluation bool
	// Remember is the number of units whose decisions are kept for tracking, at least 1; the least
	// recently used unit is forgotten first.
	Remember int
	// Reporter configures the reporter that sends exposures and metrics.
	Reporter client.ReporterOptions
	// Grace is the longest time that [Provider.Shutdown] takes to send queued items, above 0.
	Grace time.Duration
	// Failed is called with tracking errors, as OpenFeature's Track returns none: an unknown
	// unit, a metric that none of its experiments has, a full queue. It is also called, with an
	// empty unit, for items that the service rejects later or that are dropped. It may be nil.
	// It is called from several goroutines.
	Failed func(unit, event string, err error)
}

// DefaultOptions returns options that remember 100,000 units, take at most 10 s to shut down and
// report no exposures by themselves, with [client.DefaultReporterOptions].
func DefaultOptions() Options {
	return Options{Remember: 100_000, Reporter: client.DefaultReporterOptions(), Grace: 10 * time.Second}
}

// Provider implements openfeature.FeatureProvider, StateHandler and Tracker.
type Provider struct {
	client   *client.Client
	options  Options
	reporter *client.Reporter

	mu     sync.Mutex
	tokens map[string]*list.Element // by unit
	recent *list.List               // of *unit, the most recent first
	known  map[string]known         // by flag
}

// known holds the metrics of a flag's experiment at a version of its policy.
type known struct {
	version uint64
	metrics map[string]bool
}

// unit holds the remembered decisions of a unit.
type unit struct {
	name   string
	tokens map[string]decided // by flag
}

// decided identifies a decision.
type decided struct {
	token   string
	version uint64
	context json.RawMessage // that the policy looked at, nil for none
}

var (
	_ openfeature.FeatureProvider = (*Provider)(nil)
	_ openfeature.StateHandler    = (*Provider)(nil)
	_ openfeature.Tracker         = (*Provider)(nil)
)

// New returns a provider, which [Provider.Shutdown] ends. It returns an error of code usage for an
// option out of range.
func New(c *client.Client, o Options) (*Provider, error) {
	if o.Remember < 1 {
		return nil, noregret.Errorf(noregret.Usage, "remember", "%d units: want at least 1", o.Remember)
	}
	if o.Grace <= 0 {
		return nil, noregret.Errorf(noregret.Usage, "grace", "%v: want a length of time above 0", o.Grace)
	}
	p := &Provider{
		client: c, options: o, tokens: map[string]*list.Element{}, recent: list.New(),
		known: map[string]known{},
	}
	reporter := o.Reporter
	reporter.Done = p.done
	var err error
	p.reporter, err = c.NewReporter(reporter)
	return p, err
}

// done passes the result of a batch on, and reports the items that were rejected or dropped.
func (p *Provider) done(exposures bool, items []api.FeedbackItem, result api.FeedbackResult, err error) {
	for i, item := range items {
		failure := err
		if err == nil && i < len(result.Items) {
			switch f := result.Items[i]; f.Status {
			case api.Rejected:
				failure = noregret.BadInputf("", "rejected by the service: %s", f.Error)
			case api.Late:
				failure = noregret.BadInputf("", "too late to count: %s", f.Error)
			}
		}
		switch {
		case failure == nil:
		case exposures:
			p.failed("", Exposure, failure)
		default:
			for _, name := range slices.Sorted(maps.Keys(item.Metrics)) {
				p.failed("", name, failure)
			}
		}
	}
	if p.options.Reporter.Done != nil {
		p.options.Reporter.Done(exposures, items, result, err)
	}
}

// Metadata implements openfeature.FeatureProvider.
func (p *Provider) Metadata() openfeature.Metadata { return openfeature.Metadata{Name: "noregret"} }

// Hooks implements openfeature.FeatureProvider.
func (p *Provider) Hooks() []openfeature.Hook { return nil }

// Init implements openfeature.StateHandler.
func (p *Provider) Init(openfeature.EvaluationContext) error { return nil }

// Shutdown implements openfeature.StateHandler: it sends what waits, for as long as [Options.Grace]
// allows.
func (p *Provider) Shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), p.options.Grace)
	defer cancel()
	_ = p.reporter.Close(ctx) // Failed has been called for the dropped items
}

// Flush sends what was tracked so far.
func (p *Provider) Flush(ctx context.Context) error { return p.reporter.Flush(ctx) }

// decide requests a decision and remembers its token.
func (p *Provider) decide(ctx context.Context, flag string, flat openfeature.FlattenedContext) (*api.Decision,
	openfeature.ProviderResolutionDetail,
) {
	fail := func(e openfeature.ResolutionError) openfeature.ProviderResolutionDetail {
		return openfeature.ProviderResolutionDetail{ResolutionError: e, Reason: openfeature.ErrorReason}
	}
	name, ok := flat[openfeature.TargetingKey].(string)
	if !ok || name == "" {
		return nil, fail(openfeature.NewTargetingKeyMissingResolutionError("the targeting key is the unit"))
	}
	d, err := p.client.Evaluate(ctx, flag, name, attributes(flat))
	if err != nil {
		if e, ok := errors.AsType[*client.Error](err); ok {
			switch e.Status {
			case 400:
				return nil, fail(openfeature.NewInvalidContextResolutionError(err.Error()))
			case 404:
				return nil, fail(openfeature.NewFlagNotFoundResolutionError(err.Error()))
			}
		}
		return nil, fail(openfeature.NewGeneralResolutionError(err.Error()))
	}
	p.remember(name, flag, decided{d.Token, d.Version, d.Context})
	if p.options.ExposeOnEvaluation {
		if err := p.reporter.TryExposureIn(d.Token, d.Context); err != nil {
			p.failed(name, Exposure, err)
		}
	}
	reason := openfeature.SplitReason
	if d.Context != nil {
		reason = openfeature.TargetingMatchReason
	}
	return &d.Decision, openfeature.ProviderResolutionDetail{
		Reason: reason, Variant: d.Arm,
		FlagMetadata: openfeature.FlagMetadata{
			"decisionId": d.Token, "policyVersion": int64(d.Version),
			"propensity": d.Propensity,
		},
	}
}

// attributes returns the attributes of a context that a feature can be: strings, booleans and
// finite numbers.
func attributes(flat openfeature.FlattenedContext) map[string]any {
	out := map[string]any{}
	for name, v := range flat {
		switch x := v.(type) {
		case string, bool, int8, int16, int32, uint, uint8, uint16, uint32, uint64:
			out[name] = x
		default:
			if n, ok := number(v); ok && !math.IsNaN(n) && !math.IsInf(n, 0) {
				out[name] = n
			}
		}
	}
	return out
}

// remember keeps a decision, and forgets the least recently used unit if there are too many.
func (p *Provider) remember(name, flag string, d decided) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.tokens[name]
	if e == nil {
		if len(p.tokens) >= p.options.Remember {
			last := p.recent.Back()
			delete(p.tokens, last.Value.(*unit).name)
			p.recent.Remove(last)
		}
		e = p.recent.PushFront(&unit{name, map[string]decided{}})
		p.tokens[name] = e
	}
	p.recent.MoveToFront(e)
	e.Value.(*unit).tokens[flag] = d
}

// evaluate requests a decision and decodes the arm's value as a T.
func evaluate[T any](ctx context.Context, p *Provider, flag string, def T, flat openfeature.FlattenedContext) (T,
	openfeature.ProviderResolutionDetail,
) {
	d, detail := p.decide(ctx, flag, flat)
	if d == nil {
		return def, detail
	}
	var v T
	if err := json.Unmarshal(d.Value, &v); err != nil || string(d.Value) == "null" {
		return def, openfeature.ProviderResolutionDetail{
			ResolutionError: openfeature.NewTypeMismatchResolutionError("the arm " + d.Arm +
				" has a value of another type"), Reason: openfeature.ErrorReason,
		}
	}
	return v, detail
}

// BooleanEvaluation implements openfeature.FeatureProvider.
func (p *Provider) BooleanEvaluation(ctx context.Context, flag string, def bool,
	flat openfeature.FlattenedContext,
) openfeature.BoolResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.BoolResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// StringEvaluation implements openfeature.FeatureProvider.
func (p *Provider) StringEvaluation(ctx context.Context, flag, def string,
	flat openfeature.FlattenedContext,
) openfeature.StringResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.StringResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// FloatEvaluation implements openfeature.FeatureProvider.
func (p *Provider) FloatEvaluation(ctx context.Context, flag string, def float64,
	flat openfeature.FlattenedContext,
) openfeature.FloatResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.FloatResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// IntEvaluation implements openfeature.FeatureProvider.
func (p *Provider) IntEvaluation(ctx context.Context, flag string, def int64,
	flat openfeature.FlattenedContext,
) openfeature.IntResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.IntResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// ObjectEvaluation implements openfeature.FeatureProvider.
func (p *Provider) ObjectEvaluation(ctx context.Context, flag string, def any,
	flat openfeature.FlattenedContext,
) openfeature.InterfaceResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.InterfaceResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// Track implements openfeature.Tracker. The event [Exposure] reports that the unit was shown its
// variants. Any other event is the name of a metric, whose value is that of the details; numeric
// attributes of the details are further metrics. The event counts for every flag that the provider
// has evaluated for the unit and whose experiment has the metric, or for a single one of them if
// the attribute "flag" names it. At the first event of a flag the provider fetches the names of its
// metrics from the service.
func (p *Provider) Track(ctx context.Context, event string, evaluation openfeature.EvaluationContext,
	details openfeature.TrackingEventDetails,
) {
	name := evaluation.TargetingKey()
	of := p.decidedFor(name, details)
	if len(of) == 0 {
		p.failed(name, event, noregret.Errorf(noregret.NotFound, "unit", "no decision was made for it here"))
		return
	}
	taken := false
	for _, flag := range slices.Sorted(maps.Keys(of)) {
		d := of[flag]
		var err error
		switch {
		case event == Exposure:
			err = p.reporter.ExposureIn(ctx, d.token, d.context)
		default:
			var metrics map[string]float64
			if metrics, err = p.metrics(ctx, flag, d.version, event, details); err == nil && len(metrics) == 0 {
				continue // the metric belongs to another experiment
			}
			if err == nil {
				err = p.reporter.Feedback(ctx, d.token, metrics)
			}
		}
		taken = true
		if err != nil {
			p.failed(name, event, err)
		}
	}
	if !taken {
		p.failed(name, event, noregret.BadInputf("metrics."+event,
			"no experiment of the unit has this metric"))
	}
}

// decidedFor returns the decisions for a unit by flag, or only that of the flag that the details
// name.
func (p *Provider) decidedFor(name string, details openfeature.TrackingEventDetails) map[string]decided {
	only, _ := details.Attribute("flag").(string)
	out := map[string]decided{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.tokens[name]; e != nil {
		for flag, d := range e.Value.(*unit).tokens {
			if only == "" || flag == only {
				out[flag] = d
			}
		}
	}
	return out
}

// metrics returns the metrics of an event and its details that the flag's experiment has.
func (p *Provider) metrics(ctx context.Context, flag string, version uint64, event string,
	details openfeature.TrackingEventDetails,
) (map[string]float64, error) {
	p.mu.Lock()
	k, ok := p.known[flag]
	p.mu.Unlock()
	if !ok || !k.metrics[event] && version > k.version {
		policy, err := p.client.Policy(ctx, flag, "", 0)
		if err != nil {
			return nil, err
		}
		k = known{policy.Version, map[string]bool{}}
		for _, m := range policy.Metrics {
			k.metrics[m.Name] = m.Kind != "ratio"
		}
		p.mu.Lock()
		p.known[flag] = k
		p.mu.Unlock()
	}
	out := map[string]float64{}
	if k.metrics[event] {
		out[event] = details.Value()
	}
	for name, v := range details.Attributes() {
		if x, ok := number(v); ok && k.metrics[name] {
			out[name] = x
		}
	}
	return out, nil
}

// number converts a numeric attribute.
func number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case float32:
		return float64(x), true
	case int64:
		return float64(x), true
	case int:
		return float64(x), true
	}
	return 0, false
}

func (p *Provider) failed(unit, event string, err error) {
	if p.options.Failed != nil {
		p.options.Failed(unit, event, err)
	}
}
