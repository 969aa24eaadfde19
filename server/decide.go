package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// decisionAPI serves decisions, policies to decide by, and OFREP. It reads the table of policies
// without a lock.
type decisionAPI struct {
	config   *Config
	signer   *policy.Signer
	policies *policyTable
	intake   *intake
	writer   *writer // for exposures that count immediately
	metrics  *metrics
	streams  *streamLimits
	draining <-chan struct{}
}

func (a *decisionAPI) routes() []web.Route {
	return []web.Route{
		{
			Method: "POST", Pattern: "/v1/experiments/{name}/decide", Role: access.Decide, Pages: true,
			Appends: a.exposes("name"), Serve: a.decide,
			ID: "decide", Tag: "decisions", Summary: "An arm for each unit", Body: decideRequest{},
			Answers: web.Answers{
				200: web.JSON("The decisions in the order of the units", api.Decisions{}), 413: web.TooMuch,
			},
		},
		{
			Method: "GET", Pattern: "/v1/experiments/{name}/policy", Role: access.Decide, Stream: web.Polls,
			Serve: a.policy,
			ID:    "getPolicy", Tag: "decisions", Summary: "The policy, for clients that decide themselves",
			Params: policyQuery{}, Answers: web.Answers{200: tagged("The policy", policy.Policy{}), 304: web.Unchanged},
		},
		{
			Method: "POST", Pattern: flagPattern, Role: access.Decide, Pages: true,
			Appends: a.exposes("key"), Serve: a.evaluate,
			ID: "evaluateFlag", Tag: "openfeature", Summary: "Evaluate one flag",
			Body: evaluationRequest{}, Lenient: true,
			Answers: web.Answers{
				200: web.JSON("The evaluation", flag{}),
				400: notEvaluated,
				404: web.JSON("No such flag", flagFailure{}),
			},
		},
		{
			Method: "POST", Pattern: "/ofrep/v1/evaluate/flags", Role: access.Decide, Pages: true,
			Compress: true, Scoped: true, Appends: exposesFlags, Serve: a.evaluateAll,
			ID: "evaluateFlags", Tag: "openfeature", Summary: "Evaluate all flags, or those of a flag set",
			Params: flagsParams{}, Body: evaluationRequest{}, Lenient: true,
			Answers: web.Answers{
				200: tagged("The evaluations", flags{}), 304: {Text: "Nothing has changed"}, 400: notEvaluated,
				413: web.TooMuch,
			},
		},
	}
}

// decideRequest asks for an arm for each unit.
type decideRequest struct {
	Units []unitForm `json:"units" minItems:"1"`
}

// policyQuery asks for the policy.
type policyQuery struct {
	// With If-None-Match: how long to wait for a change, at most 1m.
	Wait        time.Duration `query:"wait" default:"0s" least:"0s" most:"1m"`
	IfNoneMatch string        `header:"If-None-Match"`
}

// appendString appends a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			text, err := json.Marshal(s)
			if err != nil {
				return append(b, `""`...) // strings are always written
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// buffers are reused for answers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// decide answers with an arm for each unit, in its context if the policy is contextual. It takes no
// lock and writes nothing, unless the experiment counts exposures immediately.
func (a *decisionAPI) decide(w http.ResponseWriter, r *http.Request) error {
	var in decideRequest
	if err := web.ReadJSON(r, &in); err != nil {
		return err
	}
	name := r.PathValue("name")
	e := a.policies.get(name)
	if e == nil {
		return a.policies.noSuch(name)
	}
	if err := checkCount(a.config, "units", len(in.Units)); err != nil {
		return err
	}
	if most := max(a.config.MaxAnswer/e.largest, 1); len(in.Units) > most {
		return web.WithStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "units",
			"%d units of values of up to %d bytes each: want at most %d", len(in.Units), e.largest, most)
	}
	for i := range in.Units {
		if policy.CheckUnit("", in.Units[i].ID) != nil { // only an error needs the place
			return policy.CheckUnit(unitPlace(i), in.Units[i].ID)
		}
	}
	buffer := buffers.Get().(*[]byte)
	b := append((*buffer)[:0], `{"decisions":[`...)
	defer func() {
		if cap(b) < 1<<20 {
			*buffer = b
			buffers.Put(buffer)
		}
	}()
	now := a.config.Now()
	var exposed []join.Unit
	for i := range in.Units {
		d, context, err := e.assign(in.Units[i].ID, in.Units[i].Context)
		if err != nil {
			return placed(i, err)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = e.appendDecision(b, in.Units[i].ID, &d)
		t := policy.Token{
			Experiment: name, Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: now,
		}
		if b, err = a.signer.Append(b, t); err != nil {
			return err
		}
		b = append(b, `"}`...)
		if e.policy.Exposure == "immediate" {
			exposed = append(exposed, exposedUnit(t, context))
		}
	}
	b = append(b, "]}\n"...)
	if len(exposed) > 0 {
		if err := a.exposeNow(r, join.Units{Experiment: name, Items: exposed}); err != nil {
			return err
		}
	}
	e.counts.decisions.Add(float64(len(in.Units)))
	return web.WriteBytes(w, http.StatusOK, "application/json", b)
}

// appendDecision appends the JSON of a decision up to its token.
func (e *entry) appendDecision(b []byte, unit string, d *policy.Assignment) []byte {
	arm := &e.arms[d.Arm]
	b = append(b, `{"unit":`...)
	b = appendString(b, unit)
	b = append(b, `,"arm":`...)
	b = append(b, arm.name...)
	b = append(b, `,"value":`...)
	b = append(b, d.Value...)
	if len(arm.end) > 0 && d.Propensity == arm.share {
		return append(b, arm.end...)
	}
	return appendEnd(b, d.Propensity, d.Version)
}

// appendEnd appends the end of a decision, up to its token.
func appendEnd(b []byte, propensity float64, version uint64) []byte {
	b = append(b, `,"propensity":`...)
	b = strconv.AppendFloat(b, propensity, 'g', -1, 64)
	b = append(b, `,"version":`...)
	b = strconv.AppendUint(b, version, 10)
	return append(b, `,"token":"`...)
}

// checkCount returns an error for no units or items, and for too many.
func checkCount(c *Config, what string, n int) error {
	switch {
	case n == 0:
		return noregret.BadInputf(what, "0 %s: want 1 to %d", what, c.MaxItems)
	case n > c.MaxItems:
		return web.WithStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, what, "%d %s: want 1 to %d", n, what,
			c.MaxItems)
	}
	return nil
}

// exposes returns the function that reports whether decisions of the experiment in the path count
// exposures immediately.
func (a *decisionAPI) exposes(value string) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		e := a.policies.get(r.PathValue(value))
		return e != nil && e.policy.Exposure == "immediate"
	}
}

// exposeNow makes the exposures of one or more experiments durable, before the decisions are
// answered. Exposures for which there is no room are counted as rejected.
func (a *decisionAPI) exposeNow(r *http.Request, exposures ...join.Units) error {
	ctx, cancel := context.WithTimeout(r.Context(), a.config.RequestTime)
	defer cancel()
	principal := a.intake.principal(r)
	for part := range slices.Chunk(exposures, groupEvents) {
		var c command
		for i := range part {
			defer a.intake.admit(principal, &part[i], func(_ int, err error) {
				a.noteExposures(part[i].Experiment, api.ItemResult{Status: api.Rejected, Error: err.Error()})
			})()
			e, err := experiment.NewUnits(experiment.KindExposures, 0, &part[i])
			if err != nil {
				return err
			}
			c.events = append(c.events, e)
		}
		outcomes, err := a.writer.submit(ctx, &c)
		if err != nil {
			return err
		}
		for i := range outcomes {
			a.noteExposures(part[i].Experiment, outcomes[i].Items...)
			a.intake.count(principal, part[i].Experiment, outcomes[i].Opened)
		}
	}
	return nil
}

// noteExposures counts the results of exposures.
func (a *decisionAPI) noteExposures(name string, items ...api.ItemResult) {
	a.metrics.count(experiment.KindExposures, items, nil)
	a.intake.note(name, experiment.KindExposures, items...)
}

// policy answers with the policy in force. With If-None-Match and ?wait= it waits for a change.
func (a *decisionAPI) policy(w http.ResponseWriter, r *http.Request) error {
	var q policyQuery
	if err := web.ReadQuery(r, &q); err != nil {
		return err
	}
	name := r.PathValue("name")
	var timeout <-chan time.Time // nil before it waits
	for {
		changed := a.policies.changed() // before the table is read, so that no change is missed
		e := a.policies.get(name)
		if e == nil {
			return a.policies.noSuch(name)
		}
		tag := `"` + e.policy.Digest + `"`
		if !web.Matches(r, tag) {
			w.Header().Set("ETag", tag)
			w.Header().Set("Cache-Control", "no-cache")
			return e.text.Write(w, http.StatusOK, "application/json")
		}
		if q.Wait > 0 {
			if timeout == nil {
				release, err := a.streams.acquire(w, web.Polls)
				if err != nil {
					return err
				}
				defer release()
				t := time.NewTimer(q.Wait)
				defer t.Stop()
				timeout = t.C
			}
			select {
			case <-changed:
				continue
			case <-timeout:
			case <-a.draining:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
}
