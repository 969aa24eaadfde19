package server

import (
	"context"
	"net/http"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// logAPI serves the log and the state that it folds to.
type logAPI struct {
	config   *Config
	log      eventlog.Log
	live     *liveState
	policies *policyTable
	// private reports whether a name is or was that of a private experiment.
	private func(name string) bool
	tokens  *access.Tokens
	signer  *policy.Signer
	// snapshots are those that are being sent.
	snapshots *sharedSnapshots
	positions *positions
}

func (a *logAPI) routes() []web.Route {
	return []web.Route{
		{
			Method: "GET", Pattern: "/v1/export", Role: access.Read, Stream: web.Exports, Scoped: true, Serve: a.export,
			ID: "exportLog", Tag: "log", Summary: "The log as JSON lines, for off-policy evaluation and replay",
			About: "Without the role admin, no event has the address of its author. Without that role for all " +
				"experiments, there are no events with feedback of private experiments, and positions number the " +
				"others without a gap.",
			Params: exportQuery{},
			Answers: web.Answers{
				200: web.Plain("Lines of position, kind, time and payload", "application/jsonl"), 410: web.Problem,
			},
		},
		{
			Method: "GET", Pattern: "/v1/snapshot", Role: access.Admin, Stream: web.Exports, Serve: a.snapshot,
			ID: "getSnapshot", Tag: "log", Summary: "The state from which the most of the log can be folded again",
			About: "That of the oldest snapshot. Events after its position are in the log; those before may be gone. " +
				"It is refused with 403 while there is a private experiment, now or in that snapshot.",
			Answers: web.Answers{
				200: {Text: "The state", Content: map[string]any{"application/octet-stream": []byte{}}},
				404: web.Problem,
			},
		},
		{
			Method: "GET", Pattern: "/v1/state", Role: access.Read, Scoped: true, Serve: a.state,
			ID: "getState", Tag: "log",
			Summary: "Position and digest of the state, which every fold of the same log has",
			About: "Without the role admin for all experiments, they are those of what is public, and do not change " +
				"with the feedback of private experiments.",
			Answers: web.Answers{200: web.JSON("The state's name", api.StateName{})},
		},
	}
}

// exportQuery asks for a part of the log.
type exportQuery struct {
	// Position to begin with; the first one kept by default.
	From uint64 `query:"from" minimum:"1" want:"a position from 1"`
	// Only its events.
	Experiment string `query:"experiment"`
	// keyed has pseudonyms in the place of the hashes of units; plain needs the role admin, and is
	// the default with it.
	Units string `query:"units" enum:"keyed,plain"`
}

// state answers with the position and the digest of the state, within the time of a request: those
// of what is public, unless the token has the role admin.
func (a *logAPI) state(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), a.config.RequestTime)
	defer cancel()
	name := a.live.publicName
	if operates(a.tokens, r) {
		name = a.live.name
	}
	v, err := name(ctx)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, v)
}

// exportFrom returns the mark right before the position at which an export begins: that of the
// request, or the first one in the log. Positions are public ones unless all is set.
func (a *logAPI) exportFrom(r *http.Request, from uint64, all bool) (mark, error) {
	begin, last := mark{position: a.log.Stats().First - 1}, mark{position: a.log.Stats().Last}
	if !all {
		var err error
		if begin, err = a.positions.before(r.Context()); err != nil {
			return mark{}, err
		}
		last = a.positions.last()
	}
	switch {
	case from == 0:
		return begin, nil
	case from <= begin.public():
		return mark{}, web.WithStatus(http.StatusGone, noregret.NotFound, "from",
			"position %d was dropped: the first one in the log is %d", from, begin.public()+1)
	case from > last.public()+1:
		return mark{}, errNoPosition(from, last.public())
	case all:
		return mark{position: from - 1}, nil
	}
	return a.positions.from(r.Context(), begin, from)
}

// keyed reports whether an export has pseudonyms in the place of the hashes of units, which can be
// found by trying names: always, unless the token has the role admin.
func keyed(units string, admin bool) (bool, error) {
	if units == "plain" && !admin {
		return false, web.WithStatus(http.StatusForbidden, noregret.Usage, "units",
			"the token lacks the role admin: want keyed, as units can be found by their plain hashes")
	}
	return units == "keyed" || units == "" && !admin, nil
}

// export writes the log as JSON lines from a position on, limited to one experiment if one is
// named. Addresses of clients are for the role admin, and so is, unless it is limited, that private
// experiments got feedback: for others the log has no such events. Events may be dropped while it
// runs. If that happens before the first line, it starts again.
func (a *logAPI) export(w http.ResponseWriter, r *http.Request) error {
	var q exportQuery
	if err := web.ReadQuery(r, &q); err != nil {
		return err
	}
	name := q.Experiment
	if p := access.ScopeOf(r.Context()); p.Limited() && (name == "" || !a.policies.mayUse(p, name)) {
		return web.WithStatus(http.StatusForbidden, noregret.Usage, "experiment",
			"the token %q is limited to some experiments: want one of them as ?experiment=", p.Name)
	}
	p := a.tokens.Find(r)
	admin, operator := p != nil && p.May(access.Admin), operates(a.tokens, r)
	keyed, err := keyed(q.Units, admin)
	if err != nil {
		return err
	}
	found := name == "" || a.policies.get(name) != nil
	for {
		at, err := a.exportFrom(r, q.From, operator)
		switch {
		case isCompacted(err):
			continue // with the current positions
		case err != nil:
			return err
		}
		w.Header().Set("Cache-Control", "no-store")
		out, end := web.WriteStream(w, "application/jsonl")
		read := false
		_, err = eventlog.Export(out, func(yield func(eventlog.Record, error) bool) {
			for rec, err := range a.log.Read(r.Context(), at.position+1) {
				read = read || err == nil
				if err == nil && !operator && experiment.IsHidden(rec.Kind) {
					at.hidden++
					continue
				}
				rec.Position -= at.hidden
				if err == nil && name != "" && experiment.Concerns(rec.Payload) != name {
					continue
				}
				found = found || err == nil
				rec.Payload = experiment.Redact(rec.Kind, rec.Payload, a.private)
				if !admin {
					rec.Payload = experiment.WithoutAddress(rec.Payload)
				}
				if keyed {
					rec.Payload = experiment.Pseudonyms(rec.Kind, rec.Payload, a.signer.Pseudonym)
				}
				if !yield(rec, err) {
					return
				}
			}
		})
		if err == nil && found {
			err = end()
		}
		switch {
		case err == nil && !found:
			return noSuch(name) // the log has no event of that name either
		case err == nil || r.Context().Err() != nil:
			return nil
		case !read && isCompacted(err):
			continue // with the current positions
		}
		a.config.Logger.Error("an export broke off", "error", err)
		panic(http.ErrAbortHandler) // the client must not take the export for complete
	}
}

// snapshot writes the earliest state from which the log can be folded again.
func (a *logAPI) snapshot(w http.ResponseWriter, r *http.Request) error {
	refuse := func(name string) error {
		return web.WithStatus(http.StatusForbidden, noregret.BadInput, "snapshot", "the state has raw feedback of "+
			"the private experiment %s: copy the data directory instead, and keep it secret", name)
	}
	for _, e := range a.live.Experiments() {
		if a.private(e.Name) {
			return refuse(e.Name)
		}
	}
	saved, release, err := a.snapshots.oldest(r.Context())
	if err != nil {
		return err
	}
	defer release()
	if saved.Position == 0 {
		return noregret.Errorf(noregret.NotFound, "snapshot",
			"the log has all events: a fold begins with the empty state")
	}
	name, err := privateIn(saved.State)
	switch {
	case err != nil:
		return err
	case name != "": // it was deleted since
		return refuse(name)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write(saved.State)
	return err
}
