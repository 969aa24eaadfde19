package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/server/internal/dashboard"
)

// Revisions implements dashboard.Source: the audit trail knows at which positions of the log an
// experiment was defined.
func (l *liveState) Revisions(ctx context.Context, name string, limit int) (out []dashboard.Revision, err error) {
	if _, err := l.Definition(name); err != nil {
		return nil, err
	}
	known := newLives()
	for _, e := range l.audit(auditOf(name), 0, 0) {
		if known.over(&e, false) || len(out) == limit {
			break // what was before had the same name only
		}
		if e.Action != experiment.KindDefinition {
			continue
		}
		d, err := l.definitionAt(ctx, e.Position)
		if err != nil && !errors.Is(err, eventlog.ErrCompacted) {
			return nil, err
		}
		out = append(out, dashboard.Revision{AuditEntry: e, Definition: d})
	}
	return out, nil
}

// definitionIn returns the function that reads the definition in the event at a position of a log.
func definitionIn(log eventlog.Log) func(ctx context.Context, position uint64) (*definition.Definition, error) {
	return func(ctx context.Context, position uint64) (*definition.Definition, error) {
		for rec, err := range log.Read(ctx, position) {
			if err != nil {
				return nil, err
			}
			var p experiment.DefinitionEvent
			if err := json.Unmarshal(rec.Payload, &p); err != nil {
				return nil, noregret.Errorf(noregret.Internal, "log", "position %d: %w", position, err)
			}
			return definition.ParseStored("definition", p.Definition)
		}
		return nil, noregret.Errorf(noregret.Internal, "log", "no event at position %d", position)
	}
}
