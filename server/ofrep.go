package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// OpenFeature's remote evaluation protocol, OFREP 0.3.0: an experiment is a flag, an arm a variant,
// the targeting key the unit.

// flagPattern is the pattern of the route that evaluates one flag.
const flagPattern = "/ofrep/v1/evaluate/flags/{key}"

// flag is a successful evaluation. The value is always present.
type flag struct {
	Key      string          `json:"key"`
	Reason   string          `json:"reason" enum:"SPLIT,TARGETING_MATCH"`
	Variant  string          `json:"variant"`
	Value    json.RawMessage `json:"value"`
	Metadata flagMetadata    `json:"metadata"`
}

// flagMetadata ties an evaluation to its feedback: DecisionID is the token.
type flagMetadata struct {
	DecisionID    string  `json:"decisionId"`
	PolicyVersion uint64  `json:"policyVersion"`
	Propensity    float64 `json:"propensity"`
	// Context is the JSON of the fields that a contextual policy looked at: the context of the
	// exposure, if the program reports it; empty for none.
	Context string `json:"context,omitempty"`
}

// flagFailure is a failed evaluation.
type flagFailure struct {
	Key          string `json:"key,omitempty"`
	ErrorCode    string `json:"errorCode" enum:"PARSE_ERROR,TARGETING_KEY_MISSING,INVALID_CONTEXT,FLAG_NOT_FOUND,GENERAL"`
	ErrorDetails string `json:"errorDetails,omitempty"`
}

// flags are evaluations of several flags.
type flags struct {
	Flags []any `json:"flags" oneOf:"Flag,FlagFailure"` // of flag and *flagFailure
}

// notEvaluated is the answer to a request that says too little.
var notEvaluated = web.JSON("The request cannot be evaluated", flagFailure{})

// evaluationRequest is the body of an evaluation, which [targetingKey] reads.
type evaluationRequest struct {
	Context evaluationContext `json:"context,omitempty"`
}

// evaluationContext is what is known of a unit: targetingKey is its name; each experiment takes
// those of the other members that its definition declares; at most 65536 bytes of JSON.
type evaluationContext struct {
	TargetingKey string `json:"targetingKey,omitempty" minLength:"1" maxLength:"512"`
}

// flagsParams select flags; [selectionOf] reads them.
type flagsParams struct {
	IfNoneMatch string `header:"If-None-Match"`
	// Only the flag set of this project; the header Flagd-Selector: flagSetId=NAME does the same.
	FlagSet string `query:"flagSet"`
	// immediate: count the exposures of experiments that count them immediately; the header
	// Noregret-Exposure does the same.
	Exposure string `query:"exposure" enum:"none,immediate" default:"none"`
}

// evaluation is a unit and the other fields of its context, of which each experiment takes those
// that its definition declares.
type evaluation struct {
	unit   string
	fields map[string]json.RawMessage
}

// targetingKey reads the unit and its context from an evaluation.
func targetingKey(r *http.Request) (evaluation, *flagFailure, error) {
	var none evaluation
	b, err := web.Body(r, "application/json")
	if err != nil {
		return none, nil, err
	}
	var in, fields map[string]json.RawMessage // other members are allowed, of either
	if err := web.DecodeJSON(b, &in); err != nil {
		return none, &flagFailure{ErrorCode: "PARSE_ERROR", ErrorDetails: err.Error()}, nil
	}
	if absent(in["context"]) {
		return none, &flagFailure{
			ErrorCode:    "TARGETING_KEY_MISSING",
			ErrorDetails: "context.targetingKey is required: the unit",
		}, nil
	}
	if err := checkContext("context", in["context"]); err != nil {
		return none, &flagFailure{ErrorCode: "INVALID_CONTEXT", ErrorDetails: err.Error()}, nil
	}
	if err := web.DecodeJSON(in["context"], &fields); err != nil {
		return none, &flagFailure{ErrorCode: "PARSE_ERROR", ErrorDetails: "context: " + err.Error()}, nil
	}
	if absent(fields["targetingKey"]) {
		return none, &flagFailure{
			ErrorCode:    "TARGETING_KEY_MISSING",
			ErrorDetails: "context.targetingKey is required: the unit",
		}, nil
	}
	var unit string
	if err := web.DecodeJSON(fields["targetingKey"], &unit); err != nil {
		return none, &flagFailure{ErrorCode: "INVALID_CONTEXT", ErrorDetails: "context.targetingKey: want a string"},
			nil
	}
	if err := policy.CheckUnit("context.targetingKey", unit); err != nil {
		code := "INVALID_CONTEXT"
		if unit == "" {
			code = "TARGETING_KEY_MISSING"
		}
		return none, &flagFailure{ErrorCode: code, ErrorDetails: err.Error()}, nil
	}
	delete(fields, "targetingKey")
	return evaluation{unit, fields}, nil, nil
}

// absent reports whether a member is missing or null.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// context returns the fields that an experiment declares, as JSON, nil for none. Others, and null,
// are left out, as the contexts of flags have more than one experiment asks for.
func (v *evaluation) context(e *entry) (json.RawMessage, error) {
	if e.encoder == nil {
		return nil, nil
	}
	declared := map[string]json.RawMessage{}
	for _, f := range e.encoder.Features() {
		if raw := v.fields[f.Name]; !absent(raw) {
			declared[f.Name] = raw
		}
	}
	return strictjson.Encode(declared)
}

// flagOf evaluates one experiment. The failure says that the context does not fit it.
func (a *decisionAPI) flagOf(name string, e *entry, v *evaluation, now time.Time) (flag, join.Units,
	*flagFailure, error,
) {
	var none join.Units
	context, err := v.context(e)
	if err != nil {
		return flag{}, none, nil, err
	}
	d, context, err := e.assign(v.unit, context)
	if err != nil {
		return flag{}, none, &flagFailure{Key: name, ErrorCode: "INVALID_CONTEXT", ErrorDetails: err.Error()}, nil
	}
	t := policy.Token{
		Experiment: name, Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
		Time: now,
	}
	id, err := a.signer.Append(nil, t)
	reason := "SPLIT"
	if context != nil {
		reason = "TARGETING_MATCH"
	}
	shown := join.Units{Experiment: name, Items: []join.Unit{exposedUnit(t, context)}}
	return flag{name, reason, d.Name, d.Value, flagMetadata{string(id), d.Version, d.Propensity, string(context)}},
		shown, nil, err
}

// exposedUnit returns the item of the event of a used decision, with the context if the policy
// looked at it.
func exposedUnit(t policy.Token, context json.RawMessage) join.Unit {
	u := join.UnitOf(t, nil)
	u.Context = context
	return u
}

func (a *decisionAPI) evaluate(w http.ResponseWriter, r *http.Request) error {
	key := r.PathValue("key")
	v, failure, err := targetingKey(r)
	if err != nil {
		return err
	}
	e := a.policies.get(key)
	if e == nil {
		details := "no such experiment"
		if k, ok := a.policies.wasDeleted(key); ok {
			details += ": it was deleted, and can be restored until " + k.until.UTC().Format(time.RFC3339)
		}
		return web.WriteJSON(w, http.StatusNotFound, flagFailure{key, "FLAG_NOT_FOUND", details})
	}
	if failure != nil {
		failure.Key = key
		return web.WriteJSON(w, http.StatusBadRequest, failure)
	}
	f, shown, failure, err := a.flagOf(key, e, &v, a.config.Now())
	if err != nil {
		return err
	}
	if failure != nil {
		return web.WriteJSON(w, http.StatusBadRequest, failure)
	}
	if e.policy.Exposure == "immediate" {
		if err := a.exposeNow(r, shown); err != nil {
			return err
		}
	}
	e.counts.decisions.Inc()
	return web.WriteJSON(w, http.StatusOK, f)
}

// selection is what a bulk evaluation asks for beside its context.
type selection struct {
	set    string // the flag set: experiments of this project; "" for all
	expose bool   // the exposures of experiments that count them immediately
}

// The headers by which providers whose address has no parameters select.
const (
	selectorHeader = "Flagd-Selector" // flagSetId=NAME, as flagd reads it
	exposureHeader = "Noregret-Exposure"
)

// selectionOf reads the parameters of a bulk evaluation, or the headers in their place.
func selectionOf(r *http.Request) (out selection, failure *flagFailure) {
	q := r.URL.Query()
	bad := func(name, value, want string) *flagFailure {
		return &flagFailure{ErrorCode: "GENERAL", ErrorDetails: fmt.Sprintf("%s: %.70q: want %s", name, value, want)}
	}
	if out.set = q.Get("flagSet"); out.set == "" {
		out.set, _ = strings.CutPrefix(r.Header.Get(selectorHeader), "flagSetId=")
	}
	if out.set != "" && !definition.ValidName(out.set) {
		return out, bad("flagSet", out.set, "the name of a project")
	}
	exposure := q.Get("exposure")
	if exposure == "" {
		exposure = r.Header.Get(exposureHeader)
	}
	switch exposure {
	case "", "none":
	case "immediate":
		out.expose = true
	default:
		return out, bad("exposure", exposure, "none or immediate")
	}
	return out, nil
}

// exposesFlags reports whether a bulk evaluation counts exposures.
func exposesFlags(r *http.Request) bool {
	choice, failure := selectionOf(r)
	return failure == nil && choice.expose
}

// selected returns the names of the experiments of a selection that the principal may use, sorted.
func (s *selection) selected(entries map[string]*entry, p *access.Principal) []string {
	names := make([]string, 0, len(entries))
	for name, e := range entries {
		if (s.set == "" || e.project == s.set) && p.MayUse(name, e.project) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// evaluateAll evaluates the experiments of a flag set, or all, that the access token may use. A
// page that gets all its flags at once has not shown them, so exposures count only if the request
// asks for it; all of them are then one write to the log. The ETag changes with the selection, the
// unit and its context, with any policy, and often enough that no cached token grows older than
// half the shortest attribution window.
func (a *decisionAPI) evaluateAll(w http.ResponseWriter, r *http.Request) error {
	v, failure, err := targetingKey(r)
	if err != nil {
		return err
	}
	choice, wrong := selectionOf(r)
	if failure == nil {
		failure = wrong
	}
	if failure != nil {
		return web.WriteJSON(w, http.StatusBadRequest, failure)
	}
	entries, now := a.policies.all(), a.config.Now()
	names := choice.selected(entries, a.intake.principal(r))
	h := sha256.New()
	_, _ = h.Write([]byte(choice.set + "\n" + strconv.FormatBool(choice.expose) + "\n"))
	_, _ = h.Write([]byte(v.unit + "\n")) // never fails
	for _, field := range slices.Sorted(maps.Keys(v.fields)) {
		_, _ = h.Write([]byte(strconv.Quote(field) + string(v.fields[field]) + "\n"))
	}
	for _, name := range names {
		p := entries[name].policy
		half := max(int64(p.ExposureWindow())/2, 1)
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
	out := flags{[]any{}}
	var exposed []join.Units
	for _, name := range names {
		e := entries[name]
		f, shown, failure, err := a.flagOf(name, e, &v, now)
		if err != nil {
			return err
		}
		if failure != nil {
			out.Flags = append(out.Flags, failure)
			continue
		}
		if choice.expose && e.policy.Exposure == "immediate" {
			exposed = append(exposed, shown)
		}
		e.counts.decisions.Inc()
		out.Flags = append(out.Flags, f)
	}
	if err := a.exposeNow(r, exposed...); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-cache")
	return web.WriteJSON(w, http.StatusOK, out)
}
