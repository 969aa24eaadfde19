package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// PrivateNames returns the names of the experiments that are or were private by the ledger in a
// data directory, in order. The feedback in their events is secret: see [experiment.Redact]. Where
// the ledger is lost, [LoggedPrivateNames] still finds names. It changes nothing in the directory.
func PrivateNames(data string) ([]string, error) {
	dir := PrivacyLedgerDir(data)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	store, err := dp.OpenFileStoreReadOnly(dir)
	if err != nil {
		return nil, err
	}
	l, err := dp.OpenLedger(store)
	if err != nil {
		return nil, err
	}
	return l.Accounts()
}

// LoggedPrivateNames returns the names of the experiments that are or were private by a log: by the
// state with which it begins, and by its events from that state on and from position from on, each
// up to the first damage. They are in order. It reads the whole log.
func LoggedPrivateNames(ctx context.Context, log eventlog.Log, from uint64) ([]string, error) {
	origin, err := Origin(ctx, log)
	if err != nil {
		return nil, err
	}
	names := experiment.PrivateNames(origin)
	for _, begin := range []uint64{origin.Position() + 1, from} {
		found, err := privateInEvents(ctx, log, begin)
		if err != nil && ctx.Err() != nil { // whoever reads the events meets other errors
			return nil, err
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// privateInEvents returns the experiments that are private by the events from a position on, those
// up to the first damage with its error.
func privateInEvents(ctx context.Context, log eventlog.Reader, from uint64) (names []string, err error) {
	for r, err := range log.Read(ctx, from) {
		if err != nil {
			return names, err
		}
		if r.Kind == experiment.KindPrivacy || r.Kind == experiment.KindRelease {
			names = append(names, experiment.Concerns(r.Payload))
		}
	}
	return names, nil
}

// privateIn returns the name of an experiment that is private in a saved state, "" if there is
// none.
func privateIn(saved []byte) (string, error) {
	if !bytes.Contains(saved, []byte(`"private":{`)) { // most have none, and decoding takes long
		return "", nil
	}
	state := experiment.NewState()
	if err := state.UnmarshalBinary(saved); err != nil {
		return "", err
	}
	for _, name := range append(state.Names(), state.Deleted.Names()...) {
		if state.Private(name) {
			return name, nil
		}
	}
	return "", nil
}

// deletedNames are those that were deleted before the service began. The state of an earlier
// version does not say which of them were private, but the log may, as long as it has their events.
type deletedNames struct {
	log    eventlog.Log
	logger *slog.Logger

	mu    sync.Mutex // held while the log is read
	names map[string]bool
	read  bool // the log was read; names are now those that were private, or may have been
}

func newDeletedNames(state *experiment.State, log eventlog.Log, logger *slog.Logger) *deletedNames {
	d := &deletedNames{log: log, logger: logger, names: map[string]bool{}}
	for _, name := range experiment.DeletedNames(state) {
		d.names[name] = true
	}
	return d
}

// private reports whether a name was that of a private experiment by the log. It reads the log when
// it is first asked for a deleted name. Where the log is damaged, all of them may be private.
func (d *deletedNames) private(ctx context.Context, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names[name] && (!d.look(ctx) || d.names[name])
}

// any returns one of the names that private reports, "" if there is none.
func (d *deletedNames) any(ctx context.Context) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.names) > 0 {
		d.look(ctx)
	}
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		return name
	}
	return ""
}

// look reads the log, once. It reports false if ctx has ended meanwhile. The lock is held.
func (d *deletedNames) look(ctx context.Context) bool {
	if d.read {
		return true
	}
	found, err := privateInEvents(ctx, d.log, d.log.Stats().First)
	for errors.Is(err, eventlog.ErrCompacted) { // meanwhile
		found, err = privateInEvents(ctx, d.log, d.log.Stats().First)
	}
	switch {
	case err == nil:
		maps.DeleteFunc(d.names, func(name string, _ bool) bool { return !slices.Contains(found, name) })
	case ctx.Err() != nil:
		return false
	default:
		d.logger.Warn("the log does not say which deleted experiments were private: all of them count as private",
			"error", err)
	}
	d.read = true
	return true
}

// wasPrivate is private for a name in an event of the log, which may be that of an experiment that
// was deleted before the ledger was lost.
func (h *privacyHost) wasPrivate(ctx context.Context, name string) bool {
	return h.private(name) || h.deleted.private(ctx, name)
}

// anyPrivate returns a name that wasPrivate reports, "" if there is none.
func (h *privacyHost) anyPrivate(ctx context.Context) string {
	if name := h.any(); name != "" {
		return name
	}
	return h.deleted.any(ctx)
}
