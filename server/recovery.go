package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/pages"
)

// LogDir returns the directory of the log in a data directory.
func LogDir(data string) string { return filepath.Join(data, "log") }

// Recover returns the state of a log, which is the latest snapshot with the later events folded in,
// and the position of that snapshot. If the snapshot cannot be read but the log still has all
// events, it folds them all.
func Recover(ctx context.Context, log eventlog.Log) (state *experiment.State, snapshot uint64, err error) {
	return recoverState(ctx, log, nil, watch{})
}

// watch is told how a recovery goes; each function may be nil.
type watch struct {
	// progress is called now and then.
	progress func(position, last uint64)
	// skipped is called for a snapshot that this version cannot read.
	skipped func(name, reason string)
}

// recoverState is Recover with the pool of the state.
func recoverState(ctx context.Context, log eventlog.Log, pool *pages.Pool, w watch) (
	state *experiment.State, snapshot uint64, err error,
) {
	state = experiment.NewStateIn(pool)
	var unread error
	snapshot, err = log.ReadSnapshot(ctx, func(r io.Reader) error {
		unread = state.Restore(r)
		return unread
	})
	switch {
	case err != nil && unread == nil:
		return nil, 0, err
	case unread != nil || state.Position() != snapshot:
		if log.Stats().First != 1 {
			return nil, 0, noregret.BadInputf("snapshot",
				"the snapshot of position %d cannot be read, and the events before it are gone: %w", snapshot, unread)
		}
		if w.skipped != nil {
			reason := fmt.Sprintf("its state is of position %d", state.Position())
			if unread != nil {
				reason = unread.Error()
			}
			w.skipped(fmt.Sprint("the snapshot of position ", snapshot), reason)
		}
		state, snapshot = experiment.NewStateIn(pool), 0
	}
	err = fold(ctx, log, state, log.Stats().Last, w.progress)
	return state, snapshot, err
}

// Fold applies the events after the state's position up to the given one.
func Fold(ctx context.Context, log eventlog.Reader, state *experiment.State, upTo uint64) error {
	return fold(ctx, log, state, upTo, nil)
}

func fold(ctx context.Context, log eventlog.Reader, state *experiment.State, upTo uint64,
	progress func(position, last uint64),
) error {
	if upTo <= state.Position() {
		return nil
	}
	for e, err := range readAhead(ctx, log, state.Position()+1, upTo) {
		if err != nil {
			return err
		}
		if progress != nil && e.position%256 == 0 {
			progress(e.position, upTo)
		}
		o, err := state.Apply(e.position, e.Event)
		if err == nil && errors.Is(o.Err, experiment.ErrUnsaid) {
			err = inPosition(e.position, o.Err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inPosition returns the error of an event that an earlier version of this program has made, which
// ends a fold of its log.
func inPosition(position uint64, err error) error {
	return noregret.BadInputf(fmt.Sprint("event ", position), "%w", err)
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
