package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// experimentAPI serves experiments: lists, changes, reports and explanations.
type experimentAPI struct {
	config   *Config
	live     *liveState
	policies *policyTable
	writer   *writer
}

func (a *experimentAPI) routes() []web.Route {
	const one, tag = "/v1/experiments/{name}", "experiments"
	routes := []web.Route{
		{
			Method: "GET", Pattern: "/v1/experiments", Role: access.Read, Scoped: true, Serve: a.list,
			ID: "listExperiments", Tag: tag, Summary: "The experiments, sorted by name", Params: listQuery{},
			Answers: web.Answers{200: web.JSON("The list", list{})},
		},
		{
			Method: "GET", Pattern: one, Role: access.Read, Serve: a.get,
			ID: "getExperiment", Tag: tag, Summary: "The definition, with its defaults",
			Answers: web.Answers{200: tagged("The definition", definition.Definition{}), 304: web.Unchanged},
		},
		{
			Method: "PUT", Pattern: one, Role: access.Admin, Scoped: true, Appends: web.Always, Serve: a.put,
			ID: "putExperiment", Tag: tag, Summary: "Create an experiment, or change what may change of it",
			About: "With If-Match, the ETag of the definition that was read, it changes that one only; with " +
				"If-None-Match * it only creates. Otherwise the status is 412. With dry_run it changes nothing and " +
				"answers, with the status 200, what would change, or how it would be refused.",
			Params: putQuery{}, Body: definition.Definition{}, Media: definitionMedia,
			Answers: web.Answers{
				200: web.JSON("It was there; changed says whether anything is new", api.Applied{}),
				201: web.JSON("Created", api.Applied{}),
				409: web.Problem, 412: web.Problem,
			},
		},
		{
			Method: "DELETE", Pattern: one, Role: access.Admin, Appends: web.Always, Serve: a.remove,
			ID: "deleteExperiment", Tag: tag, Summary: "Delete an experiment; its events stay in the log",
			About: "The service keeps it for the grace time of its deletion (noregret serve --delete-grace), in " +
				"which it can be restored. Until then nothing else can have its name, decisions get 404, and " +
				"feedback is rejected.",
			Body: deleteRequest{}, Optional: true, Answers: web.Answers{204: {Text: "Deleted"}, 409: web.Problem},
		},
		{
			Method: "GET", Pattern: one + "/report", Role: access.Read, Serve: a.report,
			ID: "getReport", Tag: tag, Summary: "How the experiment stands",
			About:  "With limit or after, what it says of each arm is of a page of the arms only, sorted by name.",
			Params: pageQuery{}, Answers: web.Answers{200: web.JSON("The report", api.Report{})},
		},
		{
			Method: "GET", Pattern: one + "/explain", Role: access.Read, Serve: a.explain,
			ID: "explain", Tag: "decisions", Summary: "Why a unit got its arm", Params: explainQuery{},
			Answers: web.Answers{200: web.JSON("The explanation", api.Explanation{})},
		},
		{
			Method: "GET", Pattern: "/v1/definition.schema.json", Serve: a.schema,
			ID: "getDefinitionSchema", Tag: "service", Summary: "JSON Schema of definitions",
			Answers: web.Answers{200: {
				Text: "The schema", Content: map[string]any{"application/schema+json": anyObject},
			}},
		},
	}
	changed := web.Answers{200: web.JSON("How the experiment stands now", api.Summary{}), 409: web.Problem}
	for _, c := range []struct {
		verb, summary string
		body          any
		serve         web.Handler
	}{
		{
			"restore", "Bring back an experiment that was deleted, as it was, within the grace time",
			reason{},
			a.change(experiment.KindRestore),
		},
		{"pause", "Stop learning; decisions continue unchanged", reason{}, a.change("pause")},
		{"resume", "Continue after a pause or a rollback", reason{}, a.change("resume")},
		{"rollback", "Give every unit the control arm", reason{}, a.change("rollback")},
		{
			"conclude", "Serve the deployed mixture, or a named one, for good; the evidence is kept in the report",
			concludeRequest{},
			a.conclude,
		},
		{"veto", "Give an arm no share until the veto is lifted, or lift it", vetoRequest{}, a.veto},
	} {
		id := c.verb + "Experiment"
		if c.verb == "veto" {
			id = "vetoArm"
		}
		routes = append(routes, web.Route{
			Method: "POST", Pattern: one + "/" + c.verb, Role: access.Admin, Appends: web.Always, Serve: c.serve,
			ID: id, Tag: tag, Summary: c.summary, Body: c.body, Optional: c.verb != "veto", Answers: changed,
		})
	}
	return routes
}

// anyObject is any object of JSON.
var anyObject = map[string]any{}

// tagged describes an answer of JSON with an ETag.
func tagged(text string, body any) web.Answer {
	a := web.JSON(text, body)
	a.Tagged = true
	return a
}

// pageQuery asks for a page of a list.
type pageQuery struct {
	// The name after which the page begins; the first one by default.
	After string `query:"after" maxLength:"200"`
	// The most names of the page; all by default.
	Limit int `query:"limit" minimum:"1" maximum:"100000"`
}

// listQuery asks for experiments.
type listQuery struct {
	// Those that were deleted and can be restored instead.
	Deleted bool `query:"deleted" default:"false"`
	pageQuery
}

// list is a page of the experiments.
type list struct {
	Experiments []api.Summary `json:"experiments"`
	// Next is the last name of this page if there are further ones.
	Next string `json:"next,omitempty"`
}

// putQuery says how a definition is applied.
type putQuery struct {
	// Only say what would change.
	DryRun bool `query:"dry_run" default:"false"`
}

// definitionMedia are the media types of definitions.
var definitionMedia = []string{"application/json", "application/yaml", "application/x-yaml", "text/yaml"}

// reason is the body of a change.
type reason struct {
	// Reason is why, for people, in one line without control characters and marks of the direction
	// of text.
	Reason string `json:"reason,omitempty" maxLength:"1000"`
}

// deleteRequest is the body of a deletion.
type deleteRequest struct {
	// Reason is why, for the log.
	Reason string `json:"reason,omitempty" maxLength:"1000"`
	// Now deletes it for good, also if it was deleted before and is kept.
	Now bool `json:"now,omitempty"`
}

// concludeRequest is the body of a conclusion.
type concludeRequest struct {
	// Mixture has shares by arm that sum to 1; without it, it is the mixture that the policy would
	// deploy.
	Mixture map[string]float64 `json:"mixture,omitempty" values:"share"`
	// Reason is as that of a pause.
	Reason string `json:"reason,omitempty" maxLength:"1000"`
}

// vetoRequest is the body of a veto.
type vetoRequest struct {
	Arm string `json:"arm"`
	// Lift lifts the veto instead.
	Lift bool `json:"lift,omitempty" default:"false"`
	// Reason is as that of a pause.
	Reason string `json:"reason,omitempty" maxLength:"1000"`
}

// explainQuery asks for an explanation.
type explainQuery struct {
	Token string `query:"token" required:"true" want:"a decision's token as ?token="`
	// The context of a contextual decision, as JSON; that of the unit's exposure by default, which
	// is kept until the window of its version has closed.
	Context string `query:"context"`
}

func (a *experimentAPI) list(w http.ResponseWriter, r *http.Request) error {
	var q listQuery
	if err := web.ReadQuery(r, &q); err != nil {
		return err
	}
	var out list
	out.Experiments, out.Next = a.live.summaries(api.Page(q.pageQuery), access.ScopeOf(r.Context()), q.Deleted)
	return web.WriteJSON(w, http.StatusOK, out)
}

func (a *experimentAPI) get(w http.ResponseWriter, r *http.Request) error {
	d, err := a.live.Definition(r.PathValue("name"))
	if err != nil {
		return err
	}
	tag, err := definition.Tag(d)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if web.Matches(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return web.WriteJSON(w, http.StatusOK, d)
}

// checkMatch returns an error with the status 412 if the definition in force, nil for none, is not
// the one that the client means to replace (If-Match), or is there although it means to create it
// (If-None-Match: *).
func checkMatch(h http.Header, d *definition.Definition) error {
	failed := func(format string, args ...any) error {
		return web.WithStatus(http.StatusPreconditionFailed, noregret.BadInput, "If-Match", format, args...)
	}
	if h.Get("If-None-Match") == "*" && d != nil {
		return web.WithStatus(http.StatusPreconditionFailed, noregret.BadInput, "If-None-Match",
			"the experiment %q exists already: want a new name", d.Name)
	}
	want := strings.TrimSpace(strings.Join(h.Values("If-Match"), ","))
	switch {
	case want == "":
		return nil
	case d == nil:
		return failed("no experiment of this name")
	case want == "*":
		return nil
	}
	tag, err := definition.Tag(d)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(want, ",") {
		// Compressed answers have weak tags.
		if strings.TrimPrefix(strings.TrimSpace(part), "W/") == tag {
			return nil
		}
	}
	return failed("the definition has changed meanwhile: its tag is %s; get it and apply the change to it", tag)
}

func (a *experimentAPI) put(w http.ResponseWriter, r *http.Request) error {
	b, err := web.Body(r, definitionMedia...)
	if err != nil {
		return err
	}
	d, err := definition.Parse("definition", b)
	if err != nil {
		return err
	}
	if name := r.PathValue("name"); d.Name != name {
		return noregret.BadInputf("name", "%q in the definition: want %q, as in the path", d.Name, name)
	}
	var q putQuery
	if err := web.ReadQuery(r, &q); err != nil {
		return err
	}
	if q.DryRun {
		out, err := a.preview(r.Context(), d, r.Header)
		if err != nil {
			return err
		}
		return web.WriteJSON(w, http.StatusOK, out)
	}
	out, err := a.define(r.Context(), d, r.Header)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if out.Created {
		status = http.StatusCreated
	}
	return web.WriteJSON(w, status, out)
}

// refused returns the first refusal among outcomes.
func refused(outcomes []experiment.Outcome) error {
	for i := range outcomes {
		if outcomes[i].Err != nil {
			return web.Conflict(outcomes[i].Err)
		}
	}
	return nil
}

// remove deletes an experiment, which can be restored within the grace time unless it is to be
// deleted for good.
func (a *experimentAPI) remove(w http.ResponseWriter, r *http.Request) error {
	var in deleteRequest
	if err := web.ReadOptionalJSON(r, &in); err != nil {
		return err
	}
	e := experiment.NameEvent{Experiment: r.PathValue("name"), Reason: in.Reason}
	if !in.Now {
		e.Grace = int64(a.config.DeleteGrace)
	}
	if err := a.submit(r.Context(), e.Experiment, experiment.KindDelete, in.Reason, e); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// change returns the handler that pauses, resumes, rolls back or restores.
func (a *experimentAPI) change(kind string) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var in reason
		if err := web.ReadOptionalJSON(r, &in); err != nil {
			return err
		}
		if err := a.nameEvent(r, kind, in.Reason); err != nil {
			return err
		}
		return a.summary(w, r)
	}
}

// conclude ends an experiment.
func (a *experimentAPI) conclude(w http.ResponseWriter, r *http.Request) error {
	var in concludeRequest
	if err := web.ReadOptionalJSON(r, &in); err != nil {
		return err
	}
	if err := a.end(r.Context(), r.PathValue("name"), in.Mixture, in.Reason); err != nil {
		return err
	}
	return a.summary(w, r)
}

// end ends an experiment with a named mixture, or with the one that the policy would deploy.
func (a *experimentAPI) end(ctx context.Context, name string, mixture map[string]float64, reason string) error {
	return a.submit(ctx, name, experiment.KindConclude, reason,
		experiment.ConcludeEvent{Experiment: name, Mixture: mixture, Reason: reason})
}

// veto stops an arm, or lets it be served again.
func (a *experimentAPI) veto(w http.ResponseWriter, r *http.Request) error {
	var in vetoRequest
	if err := web.ReadJSON(r, &in); err != nil {
		return err
	}
	kind, name := experiment.KindVetoArm, r.PathValue("name")
	if in.Lift {
		kind = experiment.KindLiftArm
	}
	err := a.submit(r.Context(), name, kind, in.Reason,
		experiment.ArmEvent{Experiment: name, Arm: in.Arm, Reason: in.Reason})
	if err != nil {
		return err
	}
	return a.summary(w, r)
}

// summary answers with the summary of an experiment.
func (a *experimentAPI) summary(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	e := a.policies.get(name)
	if e == nil {
		return a.policies.noSuch(name)
	}
	return web.WriteJSON(w, http.StatusOK, api.Summary{
		Name: name, State: e.policy.State,
		Version: e.policy.Version, Round: e.policy.Round,
	})
}

// nameEvent appends an event that names an experiment and a reason.
func (a *experimentAPI) nameEvent(r *http.Request, kind, reason string) error {
	name := r.PathValue("name")
	return a.submit(r.Context(), name, kind, reason, experiment.NameEvent{Experiment: name, Reason: reason})
}

// submit appends an event that changes an experiment.
func (a *experimentAPI) submit(ctx context.Context, name, kind, reason string, payload any) error {
	if len(reason) > 1000 {
		return noregret.BadInputf("reason", "%d bytes: want at most 1000", len(reason))
	}
	if err := legible.Check("reason", reason); err != nil {
		return err
	}
	event := func(state *experiment.State, now int64) ([]experiment.Event, error) {
		e, err := experiment.NewEvent(kind, now, payload)
		if err == nil {
			e, err = e.WithAuthor(authorOf(ctx, ""))
		}
		if err != nil {
			return nil, err
		}
		if e, err = state.Try(name, e); err != nil {
			return nil, web.Conflict(err)
		}
		return []experiment.Event{e}, nil
	}
	outcomes, err := a.writer.submit(ctx, &command{make: event})
	if err == nil {
		err = refused(outcomes)
	}
	if err == nil {
		a.config.Logger.Info("experiment changed", "experiment", name, "event", kind)
	}
	return err
}

func (a *experimentAPI) report(w http.ResponseWriter, r *http.Request) error {
	var q pageQuery
	if err := web.ReadQuery(r, &q); err != nil {
		return err
	}
	report, err := a.live.reportText(r.Context(), r.PathValue("name"), api.Page(q), web.AcceptsGzip(r))
	if err != nil {
		return err
	}
	return report.Write(w, http.StatusOK, "application/json")
}

func (a *experimentAPI) explain(w http.ResponseWriter, r *http.Request) error {
	var q explainQuery
	if err := web.ReadQuery(r, &q); err != nil {
		return err
	}
	name := r.PathValue("name")
	if a.policies.get(name) == nil {
		return a.policies.noSuch(name)
	}
	var context json.RawMessage
	if q.Context != "" {
		if err := checkContext("context", json.RawMessage(q.Context)); err != nil {
			return err
		}
		if err := web.DecodeJSON([]byte(q.Context), &context); err != nil {
			return web.InPlace("context", err)
		}
	}
	e, err := a.live.explain(r.Context(), name, q.Token, context)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, e)
}

func (a *experimentAPI) schema(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteBytes(w, http.StatusOK, "application/schema+json", definition.Schema)
}
