package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/policy"
)

// releasesOf returns the releases in the export by step.
func (w *world) releasesOf() map[int64][]float64 {
	w.t.Helper()
	events, ok := exported(w.t, w.server)
	if !ok {
		w.t.Fatal("the export has broken off")
	}
	out := map[int64][]float64{}
	for _, e := range events {
		var p experiment.ReleaseEvent
		if e.Kind == experiment.KindRelease && json.Unmarshal(e.Payload, &p) == nil && p.Ended == "" {
			out[p.Step] = p.Sums
		}
		if e.Kind == experiment.KindPrivateFeedback && !bytes.Contains(e.Payload, []byte(`"items":[]`)) {
			w.t.Errorf("position %d: an export of feedback: %s", e.Position, e.Payload)
		}
	}
	return out
}

// disks are copies of what a service has on its disk.
type disks struct {
	privacy string     // the directory of the ledger and the journals
	log     *vfs.MemFS // the log
	now     time.Time
}

// save copies the disk of a running service.
func (w *world) save() (d disks) {
	w.t.Helper()
	w.settle()
	d.privacy = filepath.Join(w.t.TempDir(), "privacy")
	if err := os.CopyFS(d.privacy, os.DirFS(filepath.Join(w.config.Data, "privacy"))); err != nil {
		w.t.Fatal(err)
	}
	rng := random.New(1, "clone").Rand
	d.log = w.config.FS.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
	d.now = w.config.Now()
	return d
}

// replace replaces a directory of the data by that of a copy, or removes it.
func (w *world) replace(dir, by string) {
	w.t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		w.t.Fatal(err)
	}
	if by == "" {
		return
	}
	if err := os.CopyFS(dir, os.DirFS(by)); err != nil {
		w.t.Fatal(err)
	}
}

// damage changes a byte in the newest file of a store.
func (w *world) damage(dir string) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "epoch-*"))
	if err != nil || len(files) == 0 {
		w.t.Fatal(files, err)
	}
	name := slices.Max(files)
	b, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(name, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// TestPrivateLost takes away or puts back parts of the disk under a private experiment with two
// releases. A service that starts on such a disk never releases a step again with other noise: it
// goes on if that costs nothing, and else says why it does not, in the report and for good.
func TestPrivateLost(t *testing.T) {
	for name, c := range map[string]struct {
		// sabotage changes the disk, which has two releases. One and none are copies from after the
		// first release, and from before it.
		sabotage func(w *world, none, one disks)
		goesOn   bool
		ended    string // in the reason
		waits    string // in the problem, where releases wait
		unknown  bool   // the ledger knows nothing of the run
	}{
		"nothing": {func(*world, disks, disks) {}, true, "", "", false},
		"the journal": {func(w *world, _, _ disks) {
			w.replace(privacyRunsDir(w.config.Data, "secret"), "")
		}, false, "older than the ledger", "", false},
		"an older journal": {func(w *world, _, one disks) {
			w.replace(filepath.Join(w.config.Data, "privacy", "runs"), filepath.Join(one.privacy, "runs"))
		}, false, "older than the ledger", "", false},
		"a damaged journal": {func(w *world, _, _ disks) {
			w.damage(privacyRunsDir(w.config.Data, "secret"))
		}, false, "", "damaged", false},
		"an unreadable journal": {func(w *world, _, _ disks) {
			dir := privacyRunsDir(w.config.Data, "secret")
			w.replace(dir, "")
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				w.t.Fatal(err)
			}
		}, false, "", "cannot be read or written (", false},
		"the ledger": {func(w *world, _, _ disks) {
			w.replace(PrivacyLedgerDir(w.config.Data), "")
		}, false, "the ledger has no such run", "", true},
		"an older ledger": {func(w *world, _, one disks) {
			w.replace(PrivacyLedgerDir(w.config.Data), filepath.Join(one.privacy, "ledger"))
		}, true, "", "", false},
		"both": {func(w *world, _, _ disks) {
			w.replace(filepath.Join(w.config.Data, "privacy"), "")
		}, false, "the ledger has no such run", "", true},
		"both older": {func(w *world, _, one disks) {
			w.replace(filepath.Join(w.config.Data, "privacy"), one.privacy)
		}, false, "not that of the log", "", false},
		"an older log": {func(w *world, none, _ disks) {
			w.config.FS, w.now = none.log, none.now
		}, false, "not that of the log", "", false},
		"a log one release older": {func(w *world, _, one disks) {
			w.config.FS, w.now = one.log, one.now
		}, false, "of other sums", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) {
				c.FS = vfs.NewCrashableMem()
				c.Keys = &policy.Keys{Current: 1, Secrets: map[byte][]byte{1: bytes.Repeat([]byte{7}, 32)}}
			})
			w.apply(privateToy)
			none := w.save()
			value := func(int) map[string]float64 { return map[string]float64{"buy": 60} }
			w.privateRound(unitNames("r0-", 50), value)
			w.matured()
			// The second round has its exposures in the copy, and its feedback only later.
			var shown, said []item
			for _, d := range w.decide("secret", unitNames("r1-", 50)...) {
				shown = append(shown, item{Token: d.Token})
				said = append(said, item{d.Token, map[string]float64{"buy": 60}})
			}
			w.post("/v1/exposures", shown...)
			one := w.save()
			w.post("/v1/feedback", said...)
			w.wait(time.Minute)
			w.server.Tick()
			w.matured()
			before := w.releasesOf()
			if len(before) != 2 {
				t.Fatalf("%d releases, want 2", len(before))
			}
			w.http.Close()
			if err := w.server.Close(); err != nil {
				t.Fatal(err)
			}
			c.sabotage(w, none, one)
			w.start()
			for round := range 2 {
				w.privateRound(unitNames(fmt.Sprint("later-", round), 50), value)
				w.matured()
				checkLost(t, w, before, c.goesOn, c.ended, c.waits)
				w.restart()
			}
			if c.unknown {
				p := w.report("secret").Privacy
				if p.Spent != p.Epsilon || p.Unknown != "the ledger is lost: the whole budget counts as spent" {
					t.Errorf("a ledger without the run has spent %v: %s", p.Spent, p.Unknown)
				}
			} else if _, runs, err := openedLedger(t, w.config.Data).Account("secret"); err != nil || len(runs) != 1 ||
				(runs[0].State == dp.Closed) != (c.ended != "") || runs[0].Steps < 2 && c.goesOn {
				t.Errorf("%+v, %v", runs, err)
			}
			if status, b := w.do("GET", "/v1/snapshot", ""); status != 403 {
				t.Errorf("a snapshot: %d %.100s", status, b)
			}
			if _, err := os.Stat(privacyRunsDir(w.config.Data, "secret")); c.ended != "" && !os.IsNotExist(err) {
				t.Errorf("the noise of a run that has ended is not erased: %v", err)
			}
		})
	}
}

// checkLost compares the releases with those from before the loss.
func checkLost(t *testing.T, w *world, before map[int64][]float64, goesOn bool, ended, waits string) {
	t.Helper()
	after, r := w.releasesOf(), w.report("secret")
	for step, sums := range after {
		if old := before[step]; old != nil && !slices.Equal(old, sums) {
			t.Errorf("step %d was %v and is %v", step, old, sums)
		}
	}
	if goesOn != (len(after) > 2) {
		t.Errorf("%d releases", len(after))
	}
	if (ended == "") != (r.Privacy.Ended == "") || !strings.Contains(r.Privacy.Ended, ended) {
		t.Errorf("the report says %q: want %q", r.Privacy.Ended, ended)
	}
	problems := strings.Join(r.Health.Problems, "\n")
	if !strings.Contains(problems, ended) || !strings.Contains(problems, waits) ||
		(waits != "") != strings.Contains(problems, "the next release waits") {
		t.Errorf("the problems are %q: want %q", problems, ended+waits)
	}
	alerts := fmt.Sprint(w.server.alerts.sender.Status(nil))
	if strings.Contains(problems+alerts, w.config.Data) || strings.Contains(problems, "epoch-") {
		t.Errorf("the problems or the alerts have paths: %s\n%s", problems, alerts)
	}
	if waits != "" && !strings.Contains(w.logs.String(), filepath.Join("runs", "secret")) {
		t.Errorf("the log has no path:\n%s", w.logs)
	}
	if p := r.Privacy.Spent; !(p > 0 && p <= 1) {
		t.Errorf("spent %v", p)
	}
}

// TestPrivateDelete checks that a deletion closes the run and erases the noise, if anything was
// released or journalled, that the name is then used up, and that it is not before.
func TestPrivateDelete(t *testing.T) {
	w := newWorld(t)
	w.apply(privateToy)
	runOf := func() dp.Run {
		t.Helper()
		_, runs, err := openedLedger(t, w.config.Data).Account("secret")
		if err != nil || len(runs) != 1 {
			t.Fatalf("%+v, %v", runs, err)
		}
		return runs[0]
	}
	remove := func() {
		t.Helper()
		w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
		w.server.Tick()
	}
	remove()
	if r := runOf(); r.State != dp.Reserved {
		t.Fatalf("a run without a release is %s", r.State)
	}
	other := strings.Replace(privateToy, "rounds: 8", "rounds: 80", 1)
	status, b := w.do("PUT", "/v1/experiments/secret", other, "Content-Type", "application/yaml")
	if status != 409 || !strings.Contains(string(b), "reserved") {
		t.Errorf("another definition on the same reservation: %d %s", status, b)
	}
	w.apply(privateToy)
	w.privateRound(unitNames("u", 50), func(int) map[string]float64 { return map[string]float64{"buy": 60} })
	w.matured()
	if r := runOf(); r.State != dp.Active || r.Steps != 1 {
		t.Fatalf("%+v", r)
	}
	if _, any := journalOf(t, w.config.Data); !any {
		t.Fatal("no journal")
	}
	remove()
	if r := runOf(); r.State != dp.Closed || r.Steps != 1 {
		t.Fatalf("after the deletion the run is %s after %d steps", r.State, r.Steps)
	}
	if _, err := os.Stat(privacyRunsDir(w.config.Data, "secret")); !os.IsNotExist(err) {
		t.Errorf("the noise of a deleted experiment is not erased: %v", err)
	}
	w.restart()
	for _, text := range []string{privateToy, strings.Replace(toy, "name: toy", "name: secret", 1)} {
		status, b = w.do("PUT", "/v1/experiments/secret", text, "Content-Type", "application/yaml")
		if status != 409 || !strings.Contains(string(b), "choose another one") {
			t.Errorf("the name again: %d %s", status, b)
		}
	}
	w.releasesOf() // without feedback
}

// failingStore is a store that takes no writes while fails is set.
type failingStore struct {
	privacyStore
	fails *atomic.Bool
}

func (s *failingStore) CompareAndSwap(epoch uint64, document []byte) error {
	if s.fails.Load() {
		return errDead
	}
	return s.privacyStore.CompareAndSwap(epoch, document)
}

// TestPrivateJournalled deletes an experiment whose release is in the journal only. The name is
// used up: a new experiment would give out the release of the old one.
func TestPrivateJournalled(t *testing.T) {
	var fails atomic.Bool
	w := newWorld(t, func(c *Config) {
		ledger := PrivacyLedgerDir(c.Data)
		c.privacyStore = func(dir string) (privacyStore, error) {
			s, err := dp.OpenFileStore(dir)
			if dir != ledger {
				return s, err
			}
			return &failingStore{s, &fails}, err
		}
	})
	w.apply(privateToy)
	w.privateRound(unitNames("u", 50), func(int) map[string]float64 { return map[string]float64{"buy": 60} })
	// From now on only the journal can be written, not even an older run can be taken over.
	w.server.writer.privacy.released = func([]float64) { fails.Store(true) }
	w.matured()
	if last, _ := journalOf(t, w.config.Data); last.Steps != 1 || len(w.releasesOf()) != 0 {
		t.Fatalf("%d steps in the journal, releases %v", last.Steps, w.releasesOf())
	}
	if text := fmt.Sprint(w.report("secret").Health.Problems); !strings.Contains(text, "the next release waits") {
		t.Errorf("the problems are %s", text)
	}
	w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
	again := func() {
		t.Helper()
		status, b := w.do("PUT", "/v1/experiments/secret", privateToy, "Content-Type", "application/yaml")
		if status != 409 || !strings.Contains(string(b), "budget is spent") {
			t.Errorf("the name again: %d %s", status, b)
		}
	}
	again()
	w.server.Tick()
	again()
	fails.Store(false)
	w.server.Tick()
	if _, any := journalOf(t, w.config.Data); any {
		t.Error("the noise of a deleted experiment is not erased once the ledger can be written")
	}
	if _, runs, err := openedLedger(t, w.config.Data).Account("secret"); err != nil || runs[0].State != dp.Closed {
		t.Errorf("%+v, %v", runs, err)
	}
	again()
}
