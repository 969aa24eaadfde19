package server

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"

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
