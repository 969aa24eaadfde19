package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// auditAPI serves the audit trail.
type auditAPI struct {
	live     *liveState
	policies *policyTable
	tokens   *access.Tokens
}

func (a *auditAPI) routes() []web.Route {
	return []web.Route{{
		Method: "GET", Pattern: "/v1/audit", Role: access.Admin, Scoped: true, Serve: a.list,
		ID: "getAudit", Tag: "log", Summary: "Who changed what, and from where; the newest entry first",
		About: "The last 1000 entries. The log has those before them for as long as it keeps events. A token that is " +
			"limited to some experiments gets the entries of these.",
		Params: auditQuery{}, Answers: web.Answers{200: web.JSON("A page", api.Audit{})},
	}}
}

// auditQuery asks for a page of the audit trail.
type auditQuery struct {
	// Only the changes of this experiment.
	Experiment string `query:"experiment"`
	// Only entries before this position.
	Before uint64 `query:"before" minimum:"1" want:"a position from 1"`
	// The most entries of the page.
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// list answers with a page of the audit trail, the newest entry first. Who is limited to some
// experiments gets the entries of these.
func (a *auditAPI) list(w http.ResponseWriter, r *http.Request) error {
	var q auditQuery
	if err := web.ReadQuery(r, &q); err != nil {
		return err
	}
	name, keep := q.Experiment, a.policies.audited(access.ScopeOf(r.Context()))
	if name != "" {
		if p := access.ScopeOf(r.Context()); p.Limited() && !a.policies.mayUse(p, name) {
			return notYours(p)
		}
		mine := keep
		keep = func(e *api.AuditEntry) bool { return e.Experiment == name && (mine == nil || mine(e)) }
	}
	out := api.Audit{Entries: a.entries(operates(a.tokens, r), keep, q.Before, q.Limit+1)}
	if len(out.Entries) > q.Limit {
		out.Entries = out.Entries[:q.Limit]
		out.Next = out.Entries[q.Limit-1].Position
	}
	return web.WriteJSON(w, http.StatusOK, out)
}

// entries returns entries of the audit trail before a position, which is a public one, as are those
// of the entries, unless all is set.
func (a *auditAPI) entries(all bool, keep func(e *api.AuditEntry) bool, before uint64, limit int,
) []api.AuditEntry {
	if all {
		out := a.live.audit(keep, before, limit)
		for i := range out {
			out[i].Hidden = 0
		}
		return out
	}
	out := a.live.audit(func(e *api.AuditEntry) bool {
		return (keep == nil || keep(e)) && (before == 0 || e.Position-e.Hidden < before)
	}, 0, limit)
	for i := range out {
		out[i].Position, out[i].Hidden = out[i].Position-out[i].Hidden, 0
	}
	return out
}

// lives tells, of entries of the audit trail from the newest on, which are of an experiment that
// was deleted for good. A deletion before a restoration is not for good.
type lives struct {
	restored, ended map[string]bool
}

// newLives returns what is known before the newest entry.
func newLives() *lives { return &lives{map[string]bool{}, map[string]bool{}} }

// over reports whether an entry is of an earlier experiment of its name. kept says that the present
// one was deleted and can be restored.
func (l *lives) over(e *api.AuditEntry, kept bool) bool {
	name := e.Experiment
	switch {
	case e.Action == experiment.KindRestore:
		l.restored[name] = true
	case e.Action != experiment.KindDelete:
	case l.restored[name]:
		l.restored[name] = false
	default:
		if _, met := l.ended[name]; met || !kept {
			l.ended[name] = true
		} else {
			l.ended[name] = false // the deletion of the one that is kept
		}
	}
	return l.ended[name]
}

// audited returns the function that reports whether a principal may read an entry of the audit
// trail, nil for all. It is called for each entry from the newest on. Who is limited may read those
// of experiments; who is so to projects, none from before another experiment of the name was
// deleted, which may have been in another project.
func (t *policyTable) audited(p *access.Principal) func(e *api.AuditEntry) bool {
	if !p.Limited() {
		return nil
	}
	known := newLives()
	return func(e *api.AuditEntry) bool {
		if e.Experiment == "" {
			return false
		}
		_, kept := t.wasDeleted(e.Experiment)
		return !known.over(e, kept) && t.mayUse(p, e.Experiment) || p.MayUse(e.Experiment, "")
	}
}

// audit returns entries of the audit trail: see [experiment.Audit].
func (l *liveState) audit(keep func(e *api.AuditEntry) bool, before uint64, limit int) []api.AuditEntry {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if out := experiment.Audit(l.state, keep, before, limit); out != nil {
		return out
	}
	return []api.AuditEntry{}
}

// Audit implements dashboard.Source.
func (l *liveState) Audit(name string, limit int) []api.AuditEntry {
	return l.audit(auditOf(name), 0, limit)
}

// auditOf returns the function that keeps the entries of an experiment.
func auditOf(name string) func(e *api.AuditEntry) bool {
	return func(e *api.AuditEntry) bool { return e.Experiment == name }
}

// authorOf returns the author of what a request changes.
func authorOf(ctx context.Context, what string) experiment.Author {
	who, from := access.Author(ctx)
	return experiment.Author{Who: who, From: from, What: what}
}

// whatChanged names the fields that differ, "created" if there was no definition before.
func whatChanged(before, after *definition.Definition) (string, error) {
	if before == nil {
		return "created", nil
	}
	fields, err := definition.Diff(before, after)
	var out []string
	for i := range fields {
		out = append(out, fields[i].Path)
	}
	return strings.Join(out, ", "), err
}

// note appends an event of the audit trail that changes no experiment.
func (w *writer) note(ctx context.Context, action string, by experiment.Author) error {
	_, err := w.submit(ctx, &command{make: func(_ *experiment.State, now int64) ([]experiment.Event, error) {
		e, err := experiment.NewEvent(experiment.KindAudit, now, experiment.AuditEvent{Action: action, By: &by})
		return []experiment.Event{e}, err
	}})
	return err
}
