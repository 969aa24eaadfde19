// Package provider makes a noregret decision service a provider for OpenFeature's Go SDK: an experiment is
// a flag, an arm a variant, the targeting key the unit. It can track, which the generic OFREP provider
// cannot.
//
//	p, err := provider.New(client, provider.Options{})
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
	"sync"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/experiment"
)

// Exposure is the name of the tracking event that says that a unit saw what was decided.
const Exposure = "exposure"

// Options tune a [Provider]. The zero value of each field is its default.
type Options struct {
	// ExposeOnEvaluation reports an exposure with every evaluation, where evaluating is showing.
	ExposeOnEvaluation bool
	// Remember is how many units' decisions are kept for tracking: default 100,000, the least recently used
	// goes first.
	Remember int
	// Reporter sends what is tracked.
	Reporter client.ReporterOptions
	// Failed is told what could not be tracked, as OpenFeature's Track returns nothing: an unknown unit, a
	// full queue. It may be nil.
	Failed func(unit, event string, err error)
}

// Provider implements openfeature.FeatureProvider, StateHandler and Tracker.
type Provider struct {
	client   *client.Client
	options  Options
	reporter *client.Reporter

	mu     sync.Mutex
	tokens map[string]*list.Element // by unit
	recent *list.List               // of *unit, the most recent first
}

// unit is what is remembered of one.
type unit struct {
	name   string
	tokens map[string]string // by flag
}

var (
	_ openfeature.FeatureProvider = (*Provider)(nil)
	_ openfeature.StateHandler    = (*Provider)(nil)
	_ openfeature.Tracker         = (*Provider)(nil)
)

// New makes a provider; OpenFeature's shutdown ends it.
func New(c *client.Client, o Options) (*Provider, error) {
	if o.Remember == 0 {
		o.Remember = 100_000
	}
	if o.Remember < 1 {
		return nil, noregret.Errorf(noregret.Usage, "remember", "%d units: want at least 1", o.Remember)
	}
	r, err := c.NewReporter(o.Reporter)
	if err != nil {
		return nil, err
	}
	return &Provider{client: c, options: o, reporter: r, tokens: map[string]*list.Element{}, recent: list.New()}, nil
}

// Metadata implements openfeature.FeatureProvider.
func (p *Provider) Metadata() openfeature.Metadata { return openfeature.Metadata{Name: "noregret"} }

// Hooks implements openfeature.FeatureProvider.
func (p *Provider) Hooks() []openfeature.Hook { return nil }

// Init implements openfeature.StateHandler.
func (p *Provider) Init(openfeature.EvaluationContext) error { return nil }

// Shutdown implements openfeature.StateHandler: it sends what waits.
func (p *Provider) Shutdown() { _ = p.reporter.Close(context.Background()) }

// Flush sends what was tracked so far.
func (p *Provider) Flush(ctx context.Context) error { return p.reporter.Flush(ctx) }

// decide asks for the arm and remembers the token.
func (p *Provider) decide(ctx context.Context, flag string, flat openfeature.FlattenedContext) (*experiment.Decided, openfeature.ProviderResolutionDetail) {
	fail := func(e openfeature.ResolutionError) openfeature.ProviderResolutionDetail {
		return openfeature.ProviderResolutionDetail{ResolutionError: e, Reason: openfeature.ErrorReason}
	}
	name, ok := flat[openfeature.TargetingKey].(string)
	if !ok || name == "" {
		return nil, fail(openfeature.NewTargetingKeyMissingResolutionError("the targeting key is the unit"))
	}
	ds, err := p.client.Decide(ctx, flag, name)
	if err != nil {
		if e, ok := errors.AsType[*client.Error](err); ok && e.Status == 404 {
			return nil, fail(openfeature.NewFlagNotFoundResolutionError(err.Error()))
		}
		return nil, fail(openfeature.NewGeneralResolutionError(err.Error()))
	}
	d := &ds[0]
	p.remember(name, flag, d.Token)
	if p.options.ExposeOnEvaluation {
		if err := p.reporter.Exposure(ctx, d.Token); err != nil {
			p.failed(name, Exposure, err)
		}
	}
	return d, openfeature.ProviderResolutionDetail{
		Reason: openfeature.SplitReason, Variant: d.Arm,
		FlagMetadata: openfeature.FlagMetadata{"decisionId": d.Token, "policyVersion": int64(d.Version), "propensity": d.Propensity},
	}
}

func (p *Provider) remember(name, flag, token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.tokens[name]
	if e == nil {
		if len(p.tokens) >= p.options.Remember {
			last := p.recent.Back()
			delete(p.tokens, last.Value.(*unit).name)
			p.recent.Remove(last)
		}
		e = p.recent.PushFront(&unit{name, map[string]string{}})
		p.tokens[name] = e
	}
	p.recent.MoveToFront(e)
	e.Value.(*unit).tokens[flag] = token
}

// evaluate decides and reads the value as a T.
func evaluate[T any](ctx context.Context, p *Provider, flag string, def T, flat openfeature.FlattenedContext) (T, openfeature.ProviderResolutionDetail) {
	d, detail := p.decide(ctx, flag, flat)
	if d == nil {
		return def, detail
	}
	var v T
	if err := json.Unmarshal(d.Value, &v); err != nil || string(d.Value) == "null" {
		return def, openfeature.ProviderResolutionDetail{
			ResolutionError: openfeature.NewTypeMismatchResolutionError("the arm " + d.Arm + " has a value of another type"), Reason: openfeature.ErrorReason,
		}
	}
	return v, detail
}

// BooleanEvaluation implements openfeature.FeatureProvider.
func (p *Provider) BooleanEvaluation(ctx context.Context, flag string, def bool, flat openfeature.FlattenedContext) openfeature.BoolResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.BoolResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// StringEvaluation implements openfeature.FeatureProvider.
func (p *Provider) StringEvaluation(ctx context.Context, flag, def string, flat openfeature.FlattenedContext) openfeature.StringResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.StringResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// FloatEvaluation implements openfeature.FeatureProvider.
func (p *Provider) FloatEvaluation(ctx context.Context, flag string, def float64, flat openfeature.FlattenedContext) openfeature.FloatResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.FloatResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// IntEvaluation implements openfeature.FeatureProvider.
func (p *Provider) IntEvaluation(ctx context.Context, flag string, def int64, flat openfeature.FlattenedContext) openfeature.IntResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.IntResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// ObjectEvaluation implements openfeature.FeatureProvider.
func (p *Provider) ObjectEvaluation(ctx context.Context, flag string, def any, flat openfeature.FlattenedContext) openfeature.InterfaceResolutionDetail {
	v, d := evaluate(ctx, p, flag, def, flat)
	return openfeature.InterfaceResolutionDetail{Value: v, ProviderResolutionDetail: d}
}

// Track implements openfeature.Tracker. The event [Exposure] says that the unit saw what was decided for
// it; any other is the name of a metric with the details' value, and numbers among the details' attributes
// are further metrics. It concerns every flag that the provider has evaluated for the unit; an attribute
// "flag" names one of them.
func (p *Provider) Track(ctx context.Context, event string, evaluation openfeature.EvaluationContext, details openfeature.TrackingEventDetails) {
	name := evaluation.TargetingKey()
	only, _ := details.Attribute("flag").(string)
	tokens := map[string]string{}
	p.mu.Lock()
	if e := p.tokens[name]; e != nil {
		for flag, token := range e.Value.(*unit).tokens {
			if only == "" || flag == only {
				tokens[flag] = token
			}
		}
	}
	p.mu.Unlock()
	if len(tokens) == 0 {
		p.failed(name, event, noregret.Errorf(noregret.NotFound, "unit", "nothing was decided for it here"))
		return
	}
	for _, token := range tokens {
		var err error
		if event == Exposure {
			err = p.reporter.Exposure(ctx, token)
		} else {
			metrics := map[string]float64{event: details.Value()}
			for k, v := range details.Attributes() {
				if x, ok := number(v); ok {
					metrics[k] = x
				}
			}
			err = p.reporter.Feedback(ctx, token, metrics)
		}
		if err != nil {
			p.failed(name, event, err)
		}
	}
}

func number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
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
