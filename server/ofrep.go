package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/web"
)

// OpenFeature's remote evaluation protocol, OFREP 0.3.0: an experiment is a flag, an arm a variant,
// the targeting key the unit.

// flag is a successful evaluation. The value is always present.
type flag struct {
	Key      string          `json:"key"`
	Reason   string          `json:"reason"`
	Variant  string          `json:"variant"`
	Value    json.RawMessage `json:"value"`
	Metadata flagMetadata    `json:"metadata"`
}

// flagMetadata ties an evaluation to its feedback: DecisionID is the token.
type flagMetadata struct {
	DecisionID    string  `json:"decisionId"`
	PolicyVersion uint64  `json:"policyVersion"`
	Propensity    float64 `json:"propensity"`
}

// flagFailure is a failed evaluation.
type flagFailure struct {
	Key          string `json:"key,omitempty"`
	ErrorCode    string `json:"errorCode"`
	ErrorDetails string `json:"errorDetails,omitempty"`
}

// targetingKey reads the unit from an evaluation's context and ignores other fields.
func targetingKey(r *http.Request) (string, *flagFailure, error) {
	b, err := web.Body(r, "application/json")
	if err != nil {
		return "", nil, err
	}
	var in, evaluation map[string]json.RawMessage // other members are allowed, of either
	if err := web.DecodeJSON(b, &in); err != nil {
		return "", &flagFailure{ErrorCode: "PARSE_ERROR", ErrorDetails: err.Error()}, nil
	}
	if absent(in["context"]) {
		return "", &flagFailure{
			ErrorCode:    "TARGETING_KEY_MISSING",
			ErrorDetails: "context.targetingKey is required: the unit",
		}, nil
	}
	if err := web.DecodeJSON(in["context"], &evaluation); err != nil {
		return "", &flagFailure{ErrorCode: "PARSE_ERROR", ErrorDetails: "context: " + err.Error()}, nil
	}
	if absent(evaluation["targetingKey"]) {
		return "", &flagFailure{
			ErrorCode:    "TARGETING_KEY_MISSING",
			ErrorDetails: "context.targetingKey is required: the unit",
		}, nil
	}
	var unit string
	if err := web.DecodeJSON(evaluation["targetingKey"], &unit); err != nil {
		return "", &flagFailure{ErrorCode: "INVALID_CONTEXT", ErrorDetails: "context.targetingKey: want a string"}, nil
	}
	if err := policy.CheckUnit("context.targetingKey", unit); err != nil {
		code := "INVALID_CONTEXT"
		if unit == "" {
			code = "TARGETING_KEY_MISSING"
		}
		return "", &flagFailure{ErrorCode: code, ErrorDetails: err.Error()}, nil
	}
	return unit, nil, nil
}

// absent reports whether a member is missing or null.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// flagOf evaluates one experiment.
func (a *decisionAPI) flagOf(name string, e *entry, unit string, now time.Time) (flag, policy.Token, error) {
	d := e.policy.Decide(unit)
	t := policy.Token{
		Experiment: name, Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
		Time: now,
	}
	id, err := a.signer.Append(nil, t)
	return flag{name, "SPLIT", d.Name, d.Value, flagMetadata{string(id), d.Version, d.Propensity}}, t, err
}

// exposure returns the event of a used decision.
func exposure(t policy.Token) experiment.UnitsEvent {
	return experiment.UnitsEvent{Experiment: t.Experiment, Items: []experiment.UnitEvent{experiment.UnitOf(t, nil)}}
}

func (a *decisionAPI) evaluate(w http.ResponseWriter, r *http.Request) error {
	key := r.PathValue("key")
	unit, failure, err := targetingKey(r)
	if err != nil {
		return err
	}
	e := a.policies.get(key)
	if e == nil {
		return web.WriteJSON(w, http.StatusNotFound, flagFailure{key, "FLAG_NOT_FOUND", "no such experiment"})
	}
	if failure != nil {
		failure.Key = key
		return web.WriteJSON(w, http.StatusBadRequest, failure)
	}
	f, t, err := a.flagOf(key, e, unit, a.config.Now())
	if err != nil {
		return err
	}
	if e.policy.Exposure == "immediate" {
		if err := a.exposeNow(r, exposure(t)); err != nil {
			return err
		}
	}
	e.counts.decisions.Inc()
	return web.WriteJSON(w, http.StatusOK, f)
}

// evaluateAll evaluates every experiment. Its ETag changes with the unit, with any policy, and
// often enough that no cached token grows older than half the shortest attribution window. All
// immediate exposures are one write to the log.
func (a *decisionAPI) evaluateAll(w http.ResponseWriter, r *http.Request) error {
	unit, failure, err := targetingKey(r)
	if err != nil {
		return err
	}
	if failure != nil {
		return web.WriteJSON(w, http.StatusBadRequest, failure)
	}
	entries, now := a.policies.all(), a.config.Now()
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	_, _ = h.Write([]byte(unit + "\n")) // never fails
	for _, name := range names {
		p := entries[name].policy
		half := max(int64(p.Window)/2, 1)
		_, _ = h.Write([]byte(p.Digest + strconv.FormatInt(now.UnixNano()/half, 10) + "\n"))
	}
	tag := `"` + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16]) + `"`
	w.Header().Set("ETag", tag)
	if web.Matches(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	size := 0
	for _, name := range names {
		size += entries[name].largest
	}
	if size > a.config.MaxAnswer && len(names) > 1 {
		return web.WithStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "flags",
			"%d experiments with values of up to %d bytes together: want at most %d; evaluate them one by one",
			len(names), size, a.config.MaxAnswer)
	}
	out := struct {
		Flags []flag `json:"flags"`
	}{[]flag{}}
	var exposed []experiment.UnitsEvent
	for _, name := range names {
		e := entries[name]
		f, t, err := a.flagOf(name, e, unit, now)
		if err != nil {
			return err
		}
		if e.policy.Exposure == "immediate" {
			exposed = append(exposed, exposure(t))
		}
		out.Flags = append(out.Flags, f)
	}
	if err := a.exposeNow(r, exposed...); err != nil {
		return err
	}
	for _, name := range names {
		entries[name].counts.decisions.Inc()
	}
	w.Header().Set("Cache-Control", "no-cache")
	return web.WriteJSON(w, http.StatusOK, out)
}
