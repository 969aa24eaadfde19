package server

import (
	"context"
	"path/filepath"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// LogDir returns the directory of the log in a data directory.
func LogDir(data string) string { return filepath.Join(data, "log") }

// Recover returns the state of a log, which is the latest snapshot with the later events folded in,
// and the position of that snapshot. If the snapshot cannot be read but the log still has all
// events, it folds them all.
func Recover(ctx context.Context, log eventlog.Log) (state *experiment.State, snapshot uint64, err error) {
	saved, err := log.LatestSnapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	state = experiment.NewState()
	if saved.Position > 0 {
		if err := state.UnmarshalBinary(saved.State); err != nil || state.Position() != saved.Position {
			if log.Stats().First != 1 {
				return nil, 0, noregret.BadInputf("snapshot",
					"the snapshot of position %d cannot be read, and the events before it are gone: %w", saved.Position,
					err)
			}
			state, saved.Position = experiment.NewState(), 0
		}
	}
	err = Fold(ctx, log, state, log.Stats().Last)
	return state, saved.Position, err
}

// Fold applies the events after the state's position up to the given one.
func Fold(ctx context.Context, log eventlog.Reader, state *experiment.State, upTo uint64) error {
	if upTo <= state.Position() {
		return nil
	}
	for r, err := range log.Read(ctx, state.Position()+1) {
		if err != nil {
			return err
		}
		e := experiment.Event{Kind: r.Kind, Time: r.Time, Payload: r.Payload}
		if _, err := state.Apply(r.Position, e); err != nil {
			return err
		}
		if r.Position >= upTo {
			break
		}
	}
	return nil
}

// Origin returns the earliest state from which a log can be folded again: the empty one, or that of
// the oldest snapshot if the events before it are gone.
func Origin(ctx context.Context, log eventlog.Log) (*experiment.State, error) {
	saved, err := log.OldestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	state := experiment.NewState()
	if saved.Position == 0 {
		return state, nil
	}
	return state, state.UnmarshalBinary(saved.State)
}
