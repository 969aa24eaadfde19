package client

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// Evaluation is a decision of [Client.Evaluate].
type Evaluation struct {
	api.Decision
	// Context is the part of the context that the policy looked at, nil for none. An exposure that
	// the program reports itself repeats it, see [api.FeedbackItem].
	Context json.RawMessage
}

// Evaluate returns the decision for a unit whose context has more fields than the experiment
// declares, such as that of feature flags: the service takes those that are declared, and none if
// the policy is not contextual. Fields are by name; values are strings, numbers and booleans. The
// call is one of the OpenFeature remote evaluation protocol. A field that does not fit its
// declaration is refused with an [*Error] of status 400.
func (c *Client) Evaluate(ctx context.Context, name, unit string, fields map[string]any) (Evaluation, error) {
	if err := policy.CheckUnit("unit", unit); err != nil {
		return Evaluation{}, err
	}
	in := map[string]any{}
	for field, v := range fields {
		in[field] = v
	}
	in["targetingKey"] = unit
	var out struct {
		Variant  string          `json:"variant"`
		Value    json.RawMessage `json:"value"`
		Metadata struct {
			Token      string  `json:"decisionId"`
			Version    uint64  `json:"policyVersion"`
			Propensity float64 `json:"propensity"`
			Context    string  `json:"context"`
		} `json:"metadata"`
	}
	path := "/ofrep/v1/evaluate/flags/" + url.PathEscape(name)
	err := c.json(ctx, call{method: "POST", path: path, repeat: true}, map[string]any{"context": in}, &out)
	if err != nil {
		return Evaluation{}, err
	}
	m := &out.Metadata
	if m.Token == "" {
		return Evaluation{}, noregret.Errorf(noregret.Internal, c.base, "the answer has no decision")
	}
	e := Evaluation{Decision: api.Decision{
		Unit: unit, Arm: out.Variant, Value: out.Value, Propensity: m.Propensity, Version: m.Version, Token: m.Token,
	}}
	if m.Context != "" {
		e.Context = json.RawMessage(m.Context)
	}
	return e, nil
}
