package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/archive"
	"github.com/noregret/noregret/server/internal/web"
)

// BackupInfo says what is in a backup. It is its first entry, backup.json.
type BackupInfo struct {
	// Format is the version of the format (docs/formats/backup.md).
	Format int `json:"format"`
	// Created is the time of the backup, by the service's clock.
	Created time.Time `json:"created"`
	// First and Last are the positions of its first and last event; First is Last+1 if there are
	// none. Everything that was acknowledged before the backup began is in it.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Snapshots are the positions of its snapshots, in order.
	Snapshots []uint64 `json:"snapshots,omitempty"`
	// Private are the names in the privacy ledger: of the experiments that are or were private,
	// unless a ledger was lost.
	Private []string `json:"private,omitempty"`
}

// backupFormat is the version that this program writes and reads.
const backupFormat = 1

// The names of the entries of a backup, in their order. Snapshots have their position in the name.
const (
	backupEntry    = "backup.json"
	keysEntry      = "keys.json"
	ledgerEntry    = "privacy/ledger"
	eventsEntry    = "events"
	snapshotsEntry = "snapshots/"
)

// backup writes backups of one log.
type backup struct {
	config *Config
	log    eventlog.Log
	// keep keeps the log's events from being dropped, until release is called.
	keep func() (release func())
	// between calls f with the state after the last event while no other one is applied and the
	// ledger does not change.
	between func(ctx context.Context, f func(state *experiment.State) error) error
	// privacy opens the store of the ledger, nil if there is none.
	privacy func() (dp.Store, error)
}

// write writes a backup. It takes no room on the disk: the files of the snapshots stay open until
// it ends, while the service saves others.
func (b *backup) write(ctx context.Context, w io.Writer) (info BackupInfo, err error) {
	defer b.keep()()
	info = BackupInfo{Format: backupFormat, Created: b.config.Now().UTC(), First: b.log.Stats().First}
	snapshots, err := b.log.OpenSnapshots(ctx)
	if err != nil {
		return info, err
	}
	defer func() {
		for _, s := range snapshots {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, s := range snapshots {
		info.Snapshots = append(info.Snapshots, s.Position)
	}
	keys, err := b.keys()
	if err != nil {
		return info, err
	}
	at := &struct { // which is not read after an error: f may still run then
		last   uint64
		ledger []byte
		names  []string
	}{}
	if err := b.between(ctx, func(state *experiment.State) (err error) {
		at.last = state.Position()
		at.ledger, at.names, err = b.ledger(state)
		return err
	}); err != nil {
		return info, err
	}
	info.Last, info.Private = at.last, at.names
	out := archive.NewWriter(w, info.Created)
	head, err := strictjson.Encode(info)
	if err != nil {
		return info, err
	}
	if err := errors.Join(out.Add(backupEntry, append(head, '\n')), out.Add(keysEntry, keys)); err != nil {
		return info, err
	}
	if len(at.ledger) > 0 {
		if err := out.Add(ledgerEntry, at.ledger); err != nil {
			return info, err
		}
	}
	if err := b.writeEvents(ctx, out, info); err != nil {
		return info, err
	}
	for _, s := range snapshots {
		err := out.AddPieces(snapshotName(s.Position), func(to io.Writer) error {
			_, err := io.Copy(to, s.State())
			return err
		})
		if err != nil {
			return info, err
		}
	}
	return info, out.Close()
}

// snapshotName is the name of the entries of a snapshot.
func snapshotName(position uint64) string { return snapshotsEntry + formatPosition(position) }

// writeEvents writes the events of a backup.
func (b *backup) writeEvents(ctx context.Context, out *archive.Writer, info BackupInfo) error {
	if info.First > info.Last {
		return nil
	}
	var n uint64
	err := out.AddPieces(eventsEntry, func(to io.Writer) (err error) {
		n, err = eventlog.Export(to, func(yield func(eventlog.Record, error) bool) {
			for r, err := range b.log.Read(ctx, info.First) {
				if err == nil && r.Position > info.Last || !yield(r, err) {
					return
				}
			}
		})
		return err
	})
	if want := info.Last - info.First + 1; err == nil && n != want {
		err = noregret.Errorf(noregret.Internal, "log", "%d events from position %d: want %d", n, info.First, want)
	}
	return err
}

// keys returns the keys in the form of their file.
func (b *backup) keys() ([]byte, error) {
	keys := b.config.Keys
	if keys == nil {
		var err error
		if keys, err = loadKeys(b.config.keyFile(), false); err != nil {
			return nil, err
		}
	}
	return json.Marshal(keyFile{keys.Current, keys.Secrets})
}

// ledger returns the privacy ledger and the names in it, nothing if there is none. It refuses one
// that is not that of the state: nobody could restore the backup.
func (b *backup) ledger(state *experiment.State) (document []byte, names []string, err error) {
	store, err := b.privacy()
	if err != nil {
		return nil, nil, err
	}
	if store == nil {
		store = &dp.MemoryStore{}
	}
	ledger, err := dp.OpenLedger(store)
	if err != nil {
		return nil, nil, err
	}
	if names, err = ledger.Accounts(); err != nil {
		return nil, nil, err
	}
	if err := checkLedger(state, ledger); err != nil {
		return nil, nil, err
	}
	document, _, err = store.Load()
	return document, names, err
}

// checkLedger returns an error if a ledger lacks releases of a state's experiments that release
// more. It may lack experiments that have ended: a service that has lost its ledger ends them.
func checkLedger(state *experiment.State, ledger *dp.Ledger) error {
	for _, name := range append(state.Names(), state.Deleted.Names()...) {
		if !experiment.Releasing(state, name) {
			continue
		}
		_, runs, err := ledger.Account(name)
		switch {
		case noregret.CodeOf(err) == noregret.NotFound || err == nil && len(runs) == 0:
			return noregret.BadInputf(ledgerEntry, "the privacy ledger does not know the private experiment %q "+
				"(releases in the log: %d): want the ledger of the log's last event", name,
				experiment.Released(state, name))
		case err != nil:
			return err
		case runs[0].Steps < experiment.Released(state, name):
			return noregret.BadInputf(ledgerEntry, "the privacy ledger has %d releases of the private experiment %q, "+
				"and the log has %d: want the ledger of the log's last event", runs[0].Steps, name,
				experiment.Released(state, name))
		}
	}
	return nil
}

// Backup writes a backup of the data directory of a service that is not running, as GET /v1/backup
// does for one that runs: the log, its snapshots, the keys and the privacy ledger. It is secret.
// [Restore] makes a data directory of it.
func Backup(ctx context.Context, data string, w io.Writer) (BackupInfo, error) {
	c, err := DefaultConfig(data).resolve()
	if err != nil {
		return BackupInfo{}, err
	}
	dir := LogDir(data)
	if _, err := os.Stat(dir); err != nil {
		return BackupInfo{}, noregret.Errorf(noregret.NotFound, dir,
			"no log here: want the data directory of a service")
	}
	log, err := c.openLog()
	if err != nil {
		return BackupInfo{}, err
	}
	b := &backup{
		config: &c, log: log, keep: func() func() { return func() {} },
		between: func(ctx context.Context, f func(*experiment.State) error) (err error) {
			pool := openRoom(&c)
			defer func() { err = errors.Join(err, closeRoom(&c, pool)) }()
			state, _, err := recoverState(ctx, log, pool, watch{})
			if err != nil {
				return err
			}
			return f(state)
		},
		privacy: func() (dp.Store, error) {
			if _, err := os.Stat(PrivacyLedgerDir(data)); errors.Is(err, os.ErrNotExist) {
				return nil, nil
			}
			return dp.OpenFileStoreReadOnly(PrivacyLedgerDir(data))
		},
	}
	info, err := b.write(ctx, w)
	return info, errors.Join(err, log.Close())
}

// newBackup returns the backups of a running service.
func (s *Server) newBackup() *backup {
	w := s.writer
	return &backup{
		config: &s.config, log: s.log,
		keep: func() func() {
			w.snapshots.kept.RLock()
			return w.snapshots.kept.RUnlock
		},
		between: w.between,
		privacy: func() (dp.Store, error) {
			if w.privacy.any() == "" {
				return nil, nil
			}
			return w.privacy.store(PrivacyLedgerDir(s.config.Data))
		},
	}
}

// between calls f between two commands, with the state after the last event.
func (w *writer) between(ctx context.Context, f func(state *experiment.State) error) error {
	_, err := w.submit(ctx, &command{make: func(state *experiment.State, _ int64) ([]experiment.Event, error) {
		return nil, f(state)
	}})
	return err
}

// backupAPI serves backups.
type backupAPI struct {
	config *Config
	backup *backup
	writer *writer
	// private returns the name of an experiment that is or was private, "" if there is none.
	private func() string
	// running: one backup at a time, as each keeps the log from dropping events and its snapshots
	// on the disk.
	running atomic.Bool
}

func (a *backupAPI) routes() []web.Route {
	return []web.Route{
		{
			Method: "GET", Pattern: "/v1/backup", Role: access.Admin, Stream: web.Exports, Appends: web.Always,
			Serve: a.serve,
			ID:    "getBackup", Tag: "log",
			Summary: "A consistent copy of everything that the service stores, with its keys, for noregret restore",
			About: "Everything acknowledged before the request is in it. It is secret, and is refused with 403 if " +
				"there are private experiments and the service was not started with --backup-private. Only one that " +
				"ends with SHA256SUMS is complete.",
			Answers: web.Answers{200: {Text: "A tar file", Content: map[string]any{"application/x-tar": []byte{}}}},
		},
	}
}

// serve sends a backup.
func (a *backupAPI) serve(w http.ResponseWriter, r *http.Request) error {
	if name := a.private(); name != "" && !a.config.BackupPrivate {
		return web.WithStatus(http.StatusForbidden, noregret.BadInput, "backup", "the private experiment %s has raw "+
			"feedback: allow backups of it with --backup-private (Config.BackupPrivate), or back up the data "+
			"directory while no service uses it", name)
	}
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "application/x-tar")
		return nil
	}
	if !a.running.CompareAndSwap(false, true) {
		w.Header().Set("Retry-After", "60")
		return web.WithStatus(http.StatusTooManyRequests, noregret.Usage, "backup",
			"another backup is being sent: want one at a time")
	}
	defer a.running.Store(false)
	ctx, cancel := context.WithTimeout(r.Context(), a.config.RequestTime)
	defer cancel()
	if err := a.writer.note(ctx, experiment.ActionBackup, authorOf(ctx, "")); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-tar")
	out := &countingWriter{to: w}
	info, err := a.backup.write(r.Context(), out)
	switch {
	case err == nil:
		a.config.Logger.Info("a backup was sent", "first", info.First, "last", info.Last)
		return nil
	case out.n == 0:
		return err
	case r.Context().Err() == nil:
		a.config.Logger.Error("a backup broke off", "error", err)
	}
	panic(http.ErrAbortHandler) // the client must not take the backup for complete
}

// countingWriter counts bytes.
type countingWriter struct {
	to io.Writer
	n  int64
}

// Write implements [io.Writer].
func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.n += int64(n)
	return n, err
}

// formatPosition writes a position so that names are in the order of positions.
func formatPosition(position uint64) string { return fmt.Sprintf("%020d", position) }
