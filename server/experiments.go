package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
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
	const one = "/v1/experiments/{name}"
	return []web.Route{
		{
			Method: "GET", Pattern: "/v1/experiments", Role: access.Read, Scoped: true,
			Query: append([]string{"deleted"}, pageQuery...), Serve: a.list,
		},
		{Method: "GET", Pattern: one, Role: access.Read, Serve: a.get},
		{
			Method: "PUT", Pattern: one, Role: access.Admin, Scoped: true, Query: []string{"dry_run"},
			Serve: a.put,
		},
		{Method: "DELETE", Pattern: one, Role: access.Admin, Serve: a.remove},
		{Method: "POST", Pattern: one + "/restore", Role: access.Admin, Serve: a.change(experiment.KindRestore)},
		{Method: "POST", Pattern: one + "/pause", Role: access.Admin, Serve: a.change("pause")},
		{Method: "POST", Pattern: one + "/resume", Role: access.Admin, Serve: a.change("resume")},
		{Method: "POST", Pattern: one + "/rollback", Role: access.Admin, Serve: a.change("rollback")},
		{Method: "POST", Pattern: one + "/conclude", Role: access.Admin, Serve: a.conclude},
		{Method: "POST", Pattern: one + "/veto", Role: access.Admin, Serve: a.veto},
		{Method: "GET", Pattern: one + "/report", Role: access.Read, Query: pageQuery, Serve: a.report},
		{
			Method: "GET", Pattern: one + "/explain", Role: access.Read, Query: []string{"token", "context"},
			Serve: a.explain,
		},
		{Method: "GET", Pattern: "/v1/definition.schema.json", Serve: a.schema},
	}
}

func (a *experimentAPI) list(w http.ResponseWriter, r *http.Request) error {
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	var out struct {
		Experiments []api.Summary `json:"experiments"`
		Next        string        `json:"next,omitempty"`
	}
	deleted, err := web.Flag(r, "deleted")
	if err != nil {
		return err
	}
	out.Experiments, out.Next = a.live.summaries(page, access.ScopeOf(r.Context()), deleted)
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
	b, err := web.Body(r, "application/json", "application/yaml", "application/x-yaml", "text/yaml")
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
	dry, err := web.Flag(r, "dry_run")
	if err != nil {
		return err
	}
	if dry {
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
	var in struct {
		Reason string `json:"reason"`
		Now    bool   `json:"now"`
	}
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
		var in struct {
			Reason string `json:"reason"`
		}
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
	var in struct {
		Mixture map[string]float64 `json:"mixture"`
		Reason  string             `json:"reason"`
	}
	if err := web.ReadOptionalJSON(r, &in); err != nil {
		return err
	}
	if err := a.conclusion(r.Context(), r.PathValue("name"), in.Mixture, in.Reason); err != nil {
		return err
	}
	return a.summary(w, r)
}

// conclusion ends an experiment with a named mixture, or with the one that the policy would deploy.
func (a *experimentAPI) conclusion(ctx context.Context, name string, mixture map[string]float64, reason string) error {
	return a.submit(ctx, name, experiment.KindConclude, reason,
		experiment.ConcludeEvent{Experiment: name, Mixture: mixture, Reason: reason})
}

// veto stops an arm, or lets it be served again.
func (a *experimentAPI) veto(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Arm    string `json:"arm"`
		Lift   bool   `json:"lift"`
		Reason string `json:"reason"`
	}
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
		if err := state.Try(name, e); err != nil {
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
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	report, err := a.live.reportText(r.Context(), r.PathValue("name"), page, web.AcceptsGzip(r))
	if err != nil {
		return err
	}
	return report.Write(w, http.StatusOK, "application/json")
}

// pageQuery are the parameters of a page.
var pageQuery = []string{"after", "limit"}

// maxPage is the most entries of a page that a request can ask for.
const maxPage = 100_000

// pageOf returns the page of a list that a request asks for.
func pageOf(r *http.Request) (page api.Page, err error) {
	q := r.URL.Query()
	page.After = q.Get("after")
	if text := q.Get("limit"); text != "" {
		if page.Limit, err = strconv.Atoi(text); err != nil || page.Limit < 1 || page.Limit > maxPage {
			return page, noregret.BadInputf("limit", "want a number from 1 to %d", maxPage)
		}
	}
	if len(page.After) > 200 {
		return page, noregret.BadInputf("after", "%d bytes: want at most 200", len(page.After))
	}
	return page, nil
}

func (a *experimentAPI) explain(w http.ResponseWriter, r *http.Request) error {
	token := r.URL.Query().Get("token")
	if token == "" {
		return noregret.BadInputf("token", "want a decision's token as ?token=")
	}
	name := r.PathValue("name")
	if a.policies.get(name) == nil {
		return a.policies.noSuch(name)
	}
	var context json.RawMessage
	if text := r.URL.Query().Get("context"); text != "" {
		if err := checkContext("context", json.RawMessage(text)); err != nil {
			return err
		}
		if err := web.DecodeJSON([]byte(text), &context); err != nil {
			return web.InPlace("context", err)
		}
	}
	e, err := a.live.explain(r.Context(), name, token, context)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, e)
}

func (a *experimentAPI) schema(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteBytes(w, http.StatusOK, "application/schema+json", definition.Schema)
}
