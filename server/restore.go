package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/server/internal/archive"
)

// Restored says what [Restore] has made.
type Restored struct {
	BackupInfo
	// Digest is that of the state, which is the fold of the log: see GET /v1/state.
	Digest string `json:"digest"`
	// Ended are the private experiments that release nothing more.
	Ended []string `json:"ended,omitempty"`
}

// Restore makes a data directory of a backup, which it reads once and checks as a whole. The
// directory must be new or empty. If Restore fails, it is as it was. Errors name the backup by the
// given name.
//
// The runs of private experiments are over: the service that was backed up may have gone on and
// released more, and with other noise a second release of the same sums would cost more than was
// reserved. So the experiments serve what they have learned, and learn nothing more.
func Restore(ctx context.Context, name string, in io.Reader, data string) (out Restored, err error) {
	return restoreBy(ctx, name, in, data, os.Rename)
}

// restoreBy is Restore with the function that moves a finished part to its place.
func restoreBy(ctx context.Context, name string, in io.Reader, data string, rename func(from, to string) error,
) (out Restored, err error) {
	if err := cleanRestores(data); err != nil {
		return out, err
	}
	made, err := emptyDir(data)
	if err != nil {
		return out, err
	}
	temporary, err := atomicfile.MakeTempDir(filepath.Join(data, restoreName))
	if err != nil {
		return out, noregret.Errorf(noregret.Internal, data, "the directory cannot be written: %w", err)
	}
	temp := temporary.Name
	defer func() {
		err = errors.Join(err, temporary.Remove())
		if err != nil && made {
			_ = os.Remove(data) // unless something is in it
		}
	}()
	r := &restore{temp: temp, in: archive.NewReader(name, in), name: name}
	if err := r.read(ctx); err != nil {
		return out, err
	}
	out.BackupInfo = r.info
	if out.Digest, err = r.check(ctx); err != nil {
		return out, err
	}
	if out.Ended, err = endRuns(temp); err != nil {
		return out, err
	}
	// A directory with a log and without keys is not served, so a crash in between is noticed.
	var moved []string
	for _, part := range []string{"log", "privacy"} {
		to := filepath.Join(data, part)
		err := rename(filepath.Join(temp, part), to)
		if part == "privacy" && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, errors.Join(err, removeParts(moved))
		}
		moved = append(moved, to)
	}
	keys := filepath.Join(data, "keys.json")
	if err := atomicfile.WritePrivate(keys, r.keys); err != nil {
		return out, errors.Join(err, removeParts(append(moved, keys)))
	}
	return out, nil
}

// restoreName is in the names of the temporary directories in which restores read backups.
const restoreName = "restore"

// cleanRestores removes what a restore has left which was killed: events, keys and private sums.
func cleanRestores(data string) error {
	err := atomicfile.CleanTempDirs(filepath.Join(data, restoreName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// removeParts removes the parts of a restore that has failed late, so that it can be tried again.
func removeParts(paths []string) (err error) {
	for _, path := range paths {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// emptyDir makes a directory, or returns an error if something is in it.
func emptyDir(dir string) (made bool, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, noregret.Errorf(noregret.Internal, dir, "the data directory cannot be made: %w", err)
		}
		return true, nil
	}
	if err != nil {
		return false, noregret.Errorf(noregret.Usage, dir, "the data directory cannot be read: %w", err)
	}
	for _, e := range entries {
		if e.Name() != "lost+found" { // of a file system that is mounted there
			return false, noregret.Errorf(noregret.Usage, dir, "%s is in it: want a new or empty directory", e.Name())
		}
	}
	return false, nil
}

// restore reads a backup into a temporary directory.
type restore struct {
	name, temp string
	fs         eventlog.FS // of the log, nil for the machine's
	in         *archive.Reader
	info       BackupInfo
	keys       []byte
	ledger     *dp.Ledger // a copy in memory
}

// bad is an error about the backup.
func (r *restore) bad(format string, args ...any) error {
	return noregret.BadInputf(r.name, format, args...)
}

// read reads the whole backup.
func (r *restore) read(ctx context.Context) error {
	if err := r.readHead(); err != nil {
		return err
	}
	document, err := r.readLedger()
	if err != nil {
		return err
	}
	if len(document) > 0 {
		store, err := dp.OpenFileStore(PrivacyLedgerDir(r.temp))
		if err == nil {
			err = store.CompareAndSwap(0, document)
		}
		if err != nil {
			return err
		}
	}
	largest := Config{Limits: Limits{MaxBody: maxBody}}
	log, err := eventlog.Create(r.fs, LogDir(r.temp), r.info.First-1, largest.logOptions())
	if err != nil {
		return err
	}
	return errors.Join(r.readLog(ctx, log), log.Close())
}

// readHead reads the entries at the beginning.
func (r *restore) readHead() error {
	name, content, err := r.in.Next()
	if err != nil {
		return err
	}
	if name != backupEntry {
		return r.bad("not a backup: it begins with %s, want %s", name, backupEntry)
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(content, &version); err != nil || version.Format != backupFormat {
		return r.bad("the format is %d: want %d", version.Format, backupFormat)
	}
	if err := strictjson.Decode(content, &r.info, strictjson.Rules{Stored: true}); err != nil {
		return r.bad("%s: %w", backupEntry, err)
	}
	if i := r.info; i.First < 1 || i.Last+1 < i.First || !slices.IsSorted(i.Snapshots) || len(i.Snapshots) > 2 {
		return r.bad("%s: impossible positions", backupEntry)
	}
	if name, r.keys, err = r.in.Next(); err != nil {
		return err
	}
	if name != keysEntry {
		return r.bad("%s follows %s: want %s", name, backupEntry, keysEntry)
	}
	return nil
}

// readLedger reads the privacy ledger, if there is one, and requires the accounts that the first
// entry names.
func (r *restore) readLedger() (document []byte, err error) {
	name, content, err := r.in.Next()
	switch {
	case errors.Is(err, io.EOF): // of a service without an event
	case err != nil:
		return nil, err
	case name == ledgerEntry:
		document = content
	default:
		r.in.Unread(name, content)
	}
	store := &dp.MemoryStore{}
	if len(document) > 0 {
		if err := store.CompareAndSwap(0, document); err != nil {
			return nil, err
		}
	}
	if r.ledger, err = dp.OpenLedger(store); err != nil {
		return nil, r.bad("%s: %w", ledgerEntry, err)
	}
	names, err := r.ledger.Accounts()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(names, r.info.Private) {
		return nil, r.bad("%s: the privacy ledger is that of the private experiments %q, and %s names %q: want the "+
			"ledger of the same backup", ledgerEntry, names, backupEntry, r.info.Private)
	}
	return document, nil
}

// readLog reads the events and the snapshots, up to the end of the backup.
func (r *restore) readLog(ctx context.Context, log eventlog.Log) error {
	if _, err := eventlog.Import(ctx, log, r.name+":"+eventsEntry, r.in.Pieces(eventsEntry)); err != nil {
		return err
	}
	if last := log.Stats().Last; last != r.info.Last {
		return r.bad("its events end at position %d: want %d", last, r.info.Last)
	}
	for _, position := range r.info.Snapshots {
		if position > r.info.Last || position+1 < r.info.First {
			return r.bad("a snapshot of position %d: want one from %d to %d", position, r.info.First-1, r.info.Last)
		}
		err := log.WriteSnapshot(ctx, position, func(to io.Writer) error {
			_, err := io.Copy(to, r.in.Pieces(snapshotName(position)))
			return err
		})
		if err != nil {
			return err
		}
	}
	name, _, err := r.in.Next()
	if err == nil {
		return r.bad("an unknown entry %s: a newer version may have written it", name)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// check recovers the state of what was read, as the service will, and returns its digest.
func (r *restore) check(ctx context.Context) (digest string, err error) {
	c, err := DefaultConfig(r.temp).resolve()
	if err != nil {
		return "", err
	}
	c.FS = r.fs
	keys := filepath.Join(r.temp, "keys.json")
	if err := atomicfile.WritePrivate(keys, r.keys); err != nil {
		return "", err
	}
	if _, err := loadKeys(keys, false); err != nil {
		return "", r.bad("%s: not a file of keys", keysEntry)
	}
	log, err := c.openLog()
	if err != nil {
		return "", err
	}
	if err := log.Health(); err != nil {
		return "", errors.Join(err, log.Close())
	}
	pool := openRoom(&c)
	defer func() { err = errors.Join(err, log.Close(), closeRoom(&c, pool)) }()
	state, _, err := recoverState(ctx, log, pool, watch{})
	if err != nil {
		return "", err
	}
	if err := checkLedger(state, r.ledger); err != nil {
		return "", r.bad("%w", err)
	}
	return state.Digest()
}

// endRuns closes the runs of the ledger in a data directory and returns the names of the
// experiments that had one.
func endRuns(data string) (names []string, err error) {
	all, err := PrivateNames(data)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	store, err := dp.OpenFileStore(PrivacyLedgerDir(data))
	if err != nil {
		return nil, err
	}
	ledger, err := dp.OpenLedger(store)
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		_, runs, err := ledger.Account(name)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if run.State == dp.Closed {
				continue
			}
			token, err := ledger.Resume(name, run.ID, run.Steps)
			if err == nil {
				err = ledger.Close(token)
			}
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// CheckBackup reads a whole backup and returns what is in it, or an error if it is damaged or
// incomplete. It does not fold the events; [Restore] does.
func CheckBackup(name string, in io.Reader) (BackupInfo, error) {
	r := &restore{in: archive.NewReader(name, in), name: name}
	if err := r.readHead(); err != nil {
		return r.info, err
	}
	if _, err := r.readLedger(); err != nil {
		return r.info, err
	}
	for {
		if _, _, err := r.in.Next(); errors.Is(err, io.EOF) {
			return r.info, nil
		} else if err != nil {
			return r.info, err
		}
	}
}
