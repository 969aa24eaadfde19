package server

import (
	"context"
	"net/http"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// plan returns the function that plans the events which create an experiment or change its
// definition, if the headers If-Match and If-None-Match accept the one in force. It sets created.
func (a *experimentAPI) plan(ctx context.Context, d *definition.Definition, match http.Header, created *bool,
) func(state *experiment.State, now int64) ([]experiment.Event, error) {
	return func(state *experiment.State, now int64) ([]experiment.Event, error) {
		*created = state.Policy(d.Name) == nil
		if err := a.admit(ctx, state, d, match); err != nil {
			return nil, err
		}
		events, err := state.Plan(d, now)
		if err != nil {
			return nil, err
		}
		what, err := whatChanged(state.Definition(d.Name), d)
		if err != nil {
			return nil, err
		}
		for i, e := range events {
			if e, err = e.WithAuthor(authorOf(ctx, what)); err != nil {
				return nil, err
			}
			if events[i], err = state.Try(d.Name, e); err != nil {
				return nil, web.Conflict(err)
			}
		}
		return events, nil
	}
}

// admit returns an error if the access token may not use the experiment, or one of its name that
// was deleted and can be restored, the headers do not accept the definition in force, or a new
// experiment may not have the name.
func (a *experimentAPI) admit(ctx context.Context, state *experiment.State, d *definition.Definition,
	match http.Header,
) error {
	scope := access.ScopeOf(ctx)
	_, project, old := state.Deleted.Summary(d.Name)
	if d := state.Definition(d.Name); d != nil {
		project, old = d.Project, true
	}
	if !scope.MayUse(d.Name, d.Project) || old && !scope.MayUse(d.Name, project) {
		return notYours(scope)
	}
	if err := checkMatch(match, state.Definition(d.Name)); err != nil {
		return err
	}
	if state.Policy(d.Name) != nil {
		return nil
	}
	return web.Conflict(a.writer.privacy.admit(d))
}

// preview returns what a definition would change. The writer computes it, between its events.
func (a *experimentAPI) preview(ctx context.Context, d *definition.Definition, match http.Header,
) (*api.Applied, error) {
	var out *api.Applied
	_, err := a.writer.submit(ctx, &command{
		make: func(state *experiment.State, now int64) ([]experiment.Event, error) {
			if err := a.admit(ctx, state, d, match); err != nil {
				return nil, err
			}
			var err error
			if out, err = state.Preview(d, now); err == nil && out.Created {
				out.Warnings = a.writer.privacy.begins(d)
			}
			return nil, web.Conflict(err)
		},
	})
	if err != nil { // it may be that the request has ended, and the writer goes on
		return nil, err
	}
	return out, nil
}

// define creates an experiment or changes its definition, if the headers If-Match and
// If-None-Match accept the one in force.
func (a *experimentAPI) define(ctx context.Context, d *definition.Definition, match http.Header,
) (api.Applied, error) {
	out := api.Applied{Name: d.Name}
	plan := a.plan(ctx, d, match, &out.Created)
	outcomes, err := a.writer.submit(ctx, &command{
		make: func(state *experiment.State, now int64) ([]experiment.Event, error) {
			events, err := plan(state, now)
			if err == nil && out.Created && d.Privacy != nil {
				out.Warnings = a.writer.privacy.begins(d)
				e, err := a.writer.privacy.open(d, now)
				if err != nil {
					return nil, err
				}
				return append(events, e), nil
			}
			return events, err
		},
	})
	if err != nil {
		return out, err
	}
	if err := refused(outcomes); err != nil {
		return out, err
	}
	if e := a.policies.get(d.Name); e != nil {
		out.Version = e.policy.Version
	}
	out.Changed = len(outcomes) > 0
	if out.Changed {
		a.config.Logger.Info("experiment applied", "experiment", d.Name, "created", out.Created, "version", out.Version)
	}
	return out, nil
}

// Define implements dashboard.Editor.
func (a *experimentAPI) Define(ctx context.Context, d *definition.Definition, tag string) error {
	_, err := a.define(ctx, d, http.Header{"If-Match": {tag}})
	return err
}

// Check implements dashboard.Editor: it plans the change and does not make it.
func (a *experimentAPI) Check(ctx context.Context, d *definition.Definition) error {
	var created bool
	plan := a.plan(ctx, d, http.Header{"If-Match": {"*"}}, &created)
	_, err := a.writer.submit(ctx, &command{
		make: func(state *experiment.State, now int64) ([]experiment.Event, error) {
			_, err := plan(state, now)
			return nil, err
		},
	})
	return err
}

// Change implements dashboard.Editor.
func (a *experimentAPI) Change(ctx context.Context, kind, name, reason string) error {
	if kind == experiment.KindConclude {
		return a.end(ctx, name, nil, reason)
	}
	return a.submit(ctx, name, kind, reason, experiment.NameEvent{Experiment: name, Reason: reason})
}
