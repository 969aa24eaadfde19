package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/server/internal/archive"
	"github.com/noregret/noregret/server/internal/web"
)

// takeBackup gets a backup from the service.
func (w *world) takeBackup() []byte {
	w.t.Helper()
	status, b := w.do("GET", "/v1/backup", "")
	if status != 200 {
		w.t.Fatalf("status %d: %s", status, b)
	}
	return b
}

// restored starts a second service on the data directory that a backup makes.
func (w *world) restored(backup []byte) (*world, Restored) {
	w.t.Helper()
	data := filepath.Join(w.t.TempDir(), "restored")
	out, err := Restore(w.t.Context(), "b.tar", bytes.NewReader(backup), data)
	if err != nil {
		w.t.Fatal(err)
	}
	r := newLeakyWorld(w.t, func(c *Config) { c.Data, c.FS, c.noise = data, nil, w.config.noise })
	r.wait(w.config.Now().Sub(r.config.Now()))
	return r, out
}

// TestBackupUnderLoad backs a service up while others report to it, with snapshots and compactions
// meanwhile, and restores it. Everything that was acknowledged before the backup began is there,
// the state is the fold of the log up to the backup's end, and units get the same arms.
func TestBackupUnderLoad(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.SnapshotEvery, c.Retain = 20, time.Nanosecond
	})
	w.apply(toy)
	tokens := w.decide("toy", unitNames("u", 3000)...)
	var mu sync.Mutex
	var acknowledged []string
	ctx, stop := context.WithCancel(t.Context())
	enough := make(chan struct{})
	var writers sync.WaitGroup
	for k := range 4 {
		writers.Go(func() {
			for i := k; i < len(tokens) && ctx.Err() == nil; i += 4 {
				w.post("/v1/exposures", item{Token: tokens[i].Token})
				f := w.post("/v1/feedback", item{Token: tokens[i].Token, Metrics: map[string]float64{"x": 1, "y": 1}})
				if f.Accepted != 1 {
					t.Errorf("%+v", f)
				}
				w.wait(time.Millisecond)
				mu.Lock()
				acknowledged = append(acknowledged, tokens[i].Token)
				if len(acknowledged) == 300 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	var backups [][]byte
	var before []string
	for range 3 {
		mu.Lock()
		before = slices.Clone(acknowledged)
		mu.Unlock()
		backups = append(backups, w.takeBackup())
	}
	stop()
	writers.Wait()
	w.settle()
	r, out := w.restored(backups[2])
	if out.First < 2 || out.Last < uint64(len(before)) || len(out.Snapshots) == 0 {
		t.Errorf("%+v: want compactions and snapshots", out)
	}
	state, err := r.server.State()
	if err != nil || state.Position != out.Last || state.Digest != out.Digest {
		t.Errorf("%v: %+v, restored %+v", err, state, out)
	}
	for _, token := range before {
		f := r.post("/v1/feedback", item{Token: token, Metrics: map[string]float64{"x": 1, "y": 1}})
		if f.Items[0].Status != api.Duplicate {
			t.Fatalf("of %d acknowledged items one is %+v", len(before), f.Items[0])
		}
	}
	for i, d := range r.decide("toy", unitNames("u", 3000)...) {
		if d.Arm != tokens[i].Arm || d.Propensity != tokens[i].Propensity || d.Version != tokens[i].Version {
			t.Fatalf("%s gets %s, and got %s", d.Unit, d.Arm, tokens[i].Arm)
		}
	}
	// The state that was restored is the fold of the first service's log to the same position.
	saved, err := w.server.log.OldestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again := experiment.NewState(); saved.Position <= out.Last {
		err := again.UnmarshalBinary(saved.State)
		if err = errors.Join(err, Fold(t.Context(), w.server.log, again, out.Last)); err != nil {
			t.Fatal(err)
		}
		if digest, err := again.Digest(); err != nil || digest != out.Digest {
			t.Errorf("%v: the restored state is not the fold of the log", err)
		}
	}
}

// A service without an event, one whose log has all events, and a directory that is not in use can
// be backed up and restored, too.
func TestBackupSmall(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FS = nil })
	w.http.Close()
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	var empty bytes.Buffer
	if info, err := Backup(t.Context(), w.config.Data, &empty); err != nil || info.First != 1 || info.Last != 0 {
		t.Fatalf("%v: %+v", err, info)
	}
	r, out := w.restored(empty.Bytes())
	if out.First != 1 || out.Last != 0 {
		t.Errorf("%+v", out)
	}
	r.apply(toy)
	d := r.decide("toy", "ann")[0]
	r.http.Close()
	if err := r.server.Close(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	info, err := Backup(t.Context(), r.config.Data, &b)
	if err != nil || info.First != 1 || info.Last != 1 || len(info.Snapshots) != 1 {
		t.Fatalf("%v: %+v", err, info)
	}
	if checked, err := CheckBackup("b.tar", bytes.NewReader(b.Bytes())); err != nil || checked.Last != 1 {
		t.Errorf("%v: %+v", err, checked)
	}
	again, _ := w.restored(b.Bytes())
	if got := again.decide("toy", "ann")[0]; got.Arm != d.Arm {
		t.Errorf("%+v, want %+v", got, d)
	}
	if f := again.post("/v1/exposures", item{Token: d.Token}); f.Accepted != 1 {
		t.Errorf("the token of before: %+v", f) // the keys are those of before
	}
	if runtime.GOOS != "windows" {
		for _, path := range []string{"keys.json", "log", "."} {
			info, err := os.Stat(filepath.Join(again.config.Data, path))
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
}

// TestBackupPrivate checks that the experiment of a restored ledger releases nothing more: the
// first service goes on and spends what the copy does not know of.
func TestBackupPrivate(t *testing.T) {
	w := privateServer(t, func(c *Config) { c.BackupPrivate = true })
	value := func(int) map[string]float64 { return map[string]float64{"buy": 60} }
	w.privateRound(unitNames("a", 400), value)
	w.matured()
	backup := w.takeBackup()
	w.privateRound(unitNames("b", 400), value)
	w.matured()
	if p := w.report("secret").Privacy; p.Released != 2 || p.Ended != "" {
		t.Fatalf("the first service: %+v", p)
	}
	r, out := w.restored(backup)
	if !slices.Equal(out.Ended, []string{"secret"}) || !slices.Equal(out.Private, []string{"secret"}) {
		t.Errorf("%+v", out)
	}
	store, err := dp.OpenFileStore(PrivacyLedgerDir(r.config.Data))
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := dp.OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	if _, runs, err := ledger.Account("secret"); err != nil || len(runs) != 1 || runs[0].State != dp.Closed {
		t.Errorf("%v: %+v", err, runs)
	}
	first := r.report("secret").Privacy
	r.privateRound(unitNames("c", 400), value)
	r.matured()
	p := r.report("secret").Privacy
	if p.Released != 1 || p.Ended == "" || fmt.Sprint(p.Sums) != fmt.Sprint(first.Sums) {
		t.Errorf("the restored service has released again: %+v", p)
	}
	status, b := r.do("PUT", "/v1/experiments/secret", strings.Replace(privateToy, "epsilon: 1", "epsilon: 2", 1),
		"Content-Type", "application/yaml")
	if status/100 == 2 {
		t.Errorf("status %d: %s", status, b)
	}
	// Exports leave the feedback out, as in the first service.
	if _, b := r.do("GET", "/v1/export", ""); bytes.Contains(b, []byte(`"buy":60`)) {
		t.Error("an export of the restored service has private feedback")
	}
}

// TestRestoreRefuses checks that a bad backup, or a directory in use, changes nothing.
func TestRestoreRefuses(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	good := w.takeBackup()
	make := func(head string, more ...string) []byte {
		var b bytes.Buffer
		a := archive.NewWriter(&b, time.Unix(0, 0))
		err := a.Add(backupEntry, []byte(head))
		for i := 0; i+1 < len(more); i += 2 {
			err = errors.Join(err, a.Add(more[i], []byte(more[i+1])))
		}
		if err = errors.Join(err, a.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	const head = `{"format":1,"created":"2026-01-01T00:00:00Z","first":1,"last":1}`
	const keys = `{"current":1,"secrets":{"1":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}`
	const body = "events/00000001"
	const event = `{"position":1,"kind":"k","time":1,"payload":{}}`
	for _, c := range []struct {
		name, want string
		backup     []byte
	}{
		{"nothing", "cut off", nil},
		{"the first half", "cut off", good[:len(good)/2]},
		{"another file", "damaged or not a backup", bytes.Repeat([]byte("text "), 1000)},
		{"garbage behind it", "something follows its end, at byte ", append(bytes.Clone(good), "x"...)},
		{"two put together", "something follows its end, at byte ", bytes.Repeat(good, 2)},
		{"a newer format", "the format is 2: want 1", make(`{"format":2,"other":1}`)},
		{"other entries", "keys.json", make(head, "events/00000001", event)},
		{"too few events", "its events end at position 0: want 1", make(head, "keys.json", keys)},
		{"an unknown entry", "an unknown entry more", make(head, "keys.json", keys, body, event, "more", "")},
		{"bad keys", "keys.json: not a file of keys", make(head, "keys.json", "{", "events/00000001", event)},
		{
			"events that are gone, without a snapshot", "damaged",
			make(strings.NewReplacer(`"first":1`, `"first":5`, `"last":1`, `"last":4`).Replace(head), "keys.json", keys),
		},
	} {
		data := filepath.Join(t.TempDir(), "new")
		_, err := Restore(t.Context(), "b.tar", bytes.NewReader(c.backup), data)
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory was made: %v", c.name, err)
		}
	}
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), "b.tar", bytes.NewReader(good), data); noregret.CodeOf(err) != noregret.Usage ||
		!strings.Contains(err.Error(), "a is in it: want a new or empty directory") {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 1 {
		t.Errorf("%v: %v", err, entries)
	}
}

// A backup that breaks off is not complete, and the client sees that the connection ended.
func TestBackupBreaksOff(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	b := w.server.newBackup()
	if _, err := b.write(t.Context(), &failingWriter{after: 1500}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if _, err := b.write(ctx, &out); err == nil {
		t.Error("no error after the end of the request")
	}
}

type failingWriter struct{ after int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.after -= len(b); w.after < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// A backup has the keys, so only an administrator gets one.
func TestBackupNeedsAdmin(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(tokens, []byte(`tokens:
  - {name: all, roles: [read, decide, feedback], token: all-but-admin-0123}
  - {name: ops, roles: [admin], token: administrator-0123}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) { c.Tokens = tokens })
	w.token = "all-but-admin-0123"
	if status, _ := w.do("GET", "/v1/backup", ""); status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
	w.token = "administrator-0123"
	if b := w.takeBackup(); !bytes.Contains(b, []byte(`"secrets"`)) {
		t.Error("no keys")
	}
}

func FuzzRestore(f *testing.F) {
	var b bytes.Buffer
	a := archive.NewWriter(&b, time.Unix(0, 0))
	const head = `{"format":1,"created":"2026-01-01T00:00:00Z","first":1,"last":1}`
	if err := errors.Join(a.Add(backupEntry, []byte(head)),
		a.Add("keys.json", []byte(`{"current":1,"secrets":{"1":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}`)),
		a.Add("events/00000001", []byte(`{"position":1,"kind":"k","time":1,"payload":{}}`)), a.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	temp := f.TempDir()
	f.Fuzz(func(t *testing.T, file []byte) {
		// The log is in memory, so that an execution waits for no disk.
		in := archive.NewReader("b.tar", bytes.NewReader(file))
		r := &restore{temp: temp, fs: vfs.NewMem(), in: in, name: "b.tar"}
		if err := r.read(t.Context()); err != nil {
			return
		}
		if _, err := r.check(t.Context()); err == nil && r.info.Last+1 < r.info.First {
			t.Errorf("%+v", r.info)
		}
	})
}

// TestRestoreFailsLate: a restore whose last steps fail leaves the directory as it was, and can be
// tried again. Before, it left the log, and the next attempt found the directory not empty.
func TestRestoreFailsLate(t *testing.T) {
	w := privateServer(t, func(c *Config) { c.BackupPrivate = true })
	backup := w.takeBackup()
	data := t.TempDir()
	for _, part := range []string{"log", "privacy", "keys.json"} {
		_, err := restoreBy(t.Context(), "b.tar", bytes.NewReader(backup), data, func(from, to string) error {
			switch {
			case filepath.Base(to) == part:
				return syscall.EIO
			case part == "keys.json": // a directory there lets the file's own rename fail
				return errors.Join(os.MkdirAll(filepath.Join(data, part, "x"), 0o700), os.Rename(from, to))
			}
			return os.Rename(from, to)
		})
		if err == nil {
			t.Fatalf("%s: no error", part)
		}
		if left, err := os.ReadDir(data); err != nil || len(left) != 0 {
			t.Fatalf("%s: %v, left behind: %v", part, err, left)
		}
	}
	if _, err := Restore(t.Context(), "b.tar", bytes.NewReader(backup), data); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestOneBackup: a second backup at the same time gets 429 and a time to come back, and HEAD makes
// none.
func TestOneBackup(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	before := w.server.live.state.Position()
	w.get(200, nil, "HEAD", "/v1/backup", "")
	if after := w.server.live.state.Position(); after != before {
		t.Errorf("HEAD has written events %d to %d", before+1, after)
	}
	api := &backupAPI{config: &w.server.config}
	api.private = func() string { return "" }
	api.running.Store(true)
	rec := httptest.NewRecorder()
	err := api.serve(rec, httptest.NewRequest("GET", "/v1/backup", nil))
	if web.StatusOf(err) != http.StatusTooManyRequests || rec.Header().Get("Retry-After") == "" {
		t.Errorf("%v, Retry-After %q", err, rec.Header().Get("Retry-After"))
	}
	w.takeBackup()
	w.takeBackup() // the first one has ended
}
