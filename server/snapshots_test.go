package server

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/eventlog"
)

// snapshotFault fails the writes of snapshots with an error while it is set, and counts the
// attempts. The rest of the disk works.
type snapshotFault struct {
	err      atomic.Pointer[error]
	attempts atomic.Int64
}

func (f *snapshotFault) String() string { return "faulty snapshots" }

func (f *snapshotFault) MaybeError(op errorfs.Op) error {
	if !strings.Contains(op.Path, ".snap.tmp") {
		return nil
	}
	if op.Kind == errorfs.OpCreate {
		f.attempts.Add(1)
	}
	if err := f.err.Load(); err != nil && op.Kind == errorfs.OpFileWrite {
		return *err
	}
	return nil
}

func (f *snapshotFault) fail(err error) { f.err.Store(&err) }

// metric returns a metric of the service without labels, as it is written.
func (w *world) metric(name string) string {
	w.t.Helper()
	_, b := w.do("GET", "/metrics", "")
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return "none"
}

// TestSnapshotFails: the service goes on without a snapshot that cannot be saved. It counts it,
// raises an alert, and waits before it tries again, also if no event comes then. Before, writing
// ended, and the next snapshot began at the next event.
func TestSnapshotFails(t *testing.T) {
	for name, err := range map[string]error{"full": syscall.ENOSPC, "io": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			fault := &snapshotFault{}
			w := newWorld(t, func(c *Config) {
				c.FS, c.SnapshotEvery = errorfs.Wrap(vfs.NewMem(), fault), 5
			})
			w.apply(toy)
			d := w.decide("toy", "a")[0]
			fault.fail(err)
			post := func(n int) {
				t.Helper()
				for range n {
					w.get(200, nil, "POST", "/v1/feedback", feedbackFor(d))
					w.settle()
				}
			}
			post(20)
			if n := fault.attempts.Load(); n != 1 || w.metric("noregret_snapshot_failures_total") != "1" {
				t.Errorf("%d attempts within 20 events, %s failures", n, w.metric("noregret_snapshot_failures_total"))
			}
			w.server.Tick()
			if !w.server.alerts.sender.Active("disk:snapshot") {
				t.Error("no alert")
			}
			w.get(200, nil, "GET", "/readyz/writes", "")
			for i, pause := range []time.Duration{firstSnapshotPause, 2 * firstSnapshotPause} {
				w.wait(pause - time.Second)
				post(1)
				if n := fault.attempts.Load(); n != int64(i+1) {
					t.Errorf("%d attempts before the pause of %v is over: want %d", n, pause, i+1)
				}
				w.wait(time.Second)
				post(1)
				if n := fault.attempts.Load(); n != int64(i+2) {
					t.Errorf("%d attempts after the pause of %v: want %d", n, pause, i+2)
				}
			}
			if f := w.metric("noregret_log_failures_total"); f != "0" || w.server.log.Stats().Snapshot != 0 {
				t.Errorf("%s failures of the log, %+v", f, w.server.log.Stats())
			}
			fault.err.Store(nil)
			w.wait(4 * firstSnapshotPause)
			w.server.Tick()
			w.settle()
			if s := w.server.log.Stats(); s.Snapshot != s.Last {
				t.Errorf("no snapshot after the disk works again: %+v", s)
			}
			w.wait(alertPeriod)
			w.server.Tick()
			if w.server.alerts.sender.Active("disk:snapshot") {
				t.Error("the alert goes on")
			}
			attempts := fault.attempts.Load()
			post(6) // the next one in its time
			if n := fault.attempts.Load(); n != attempts+1 {
				t.Errorf("%d snapshots within 6 events", n-attempts)
			}
			w.checkFolds()
		})
	}
}

// roomyDisk says how much of a disk is free.
type roomyDisk struct {
	vfs.FS
	free atomic.Int64
}

func (d *roomyDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: uint64(d.free.Load()), TotalBytes: 1 << 40}, nil
}

// TestSnapshotNeedsRoom: the service does not begin a snapshot that does not fit beside the room
// that the log needs, and ends without one. One that is smaller than the latest is saved.
func TestSnapshotNeedsRoom(t *testing.T) {
	fault := &snapshotFault{}
	disk := &roomyDisk{FS: errorfs.Wrap(vfs.NewMem(), fault)}
	disk.free.Store(1 << 30)
	w := newWorld(t, func(c *Config) { c.FS, c.SnapshotEvery = disk, 5 })
	w.apply(toy)
	d := w.decide("toy", "a")[0]
	post := func(n int) {
		t.Helper()
		for range n {
			w.get(200, nil, "POST", "/v1/feedback", feedbackFor(d))
			w.settle()
		}
	}
	post(6)
	snapshots := &w.server.writer.snapshots.size
	saved, size := w.server.log.Stats().Snapshot, snapshots.Load()
	if saved == 0 || size == 0 || fault.attempts.Load() != 1 {
		t.Fatalf("no snapshot: %+v", w.server.log.Stats())
	}
	disk.free.Store(eventlog.Reserve + size/2)
	post(10)
	if n := fault.attempts.Load(); n != 1 || w.metric("noregret_snapshot_failures_total") != "1" {
		t.Errorf("%d snapshots began", n-1)
	}
	if text := w.logs.String(); !strings.Contains(text, "too little room on the disk: 32 MiB are free, want 3") {
		t.Error("the service's log does not say why")
	}
	disk.free.Store(eventlog.Reserve + 2*size)
	snapshots.Store(size << 20) // as if the state had become smaller
	w.wait(time.Hour)
	post(1)
	if n := fault.attempts.Load(); n != 2 || w.server.log.Stats().Snapshot <= saved {
		t.Errorf("%d snapshots began: %+v", n-1, w.server.log.Stats())
	}
	post(2)
	disk.free.Store(eventlog.Reserve / 2)
	w.restart() // ends without a snapshot, and without an error
	if n := fault.attempts.Load(); n != 2 {
		t.Errorf("%d snapshots began", n-1)
	}
	w.checkFolds()
	disk.free.Store(1 << 30)
}

// TestRetentionWithoutRoom: old events that an earlier snapshot covers are dropped although no
// further snapshot can be saved, as that makes room.
func TestRetentionWithoutRoom(t *testing.T) {
	fault := &snapshotFault{}
	w := newWorld(t, func(c *Config) {
		c.FS, c.SnapshotEvery, c.Retain = errorfs.Wrap(vfs.NewMem(), fault), 3, time.Hour
	})
	w.apply(toy)
	d := w.decide("toy", "a")[0]
	for range 5 {
		w.get(200, nil, "POST", "/v1/feedback", feedbackFor(d))
		w.settle()
	}
	saved := w.server.log.Stats().Snapshot
	fault.fail(syscall.ENOSPC)
	w.wait(2 * time.Hour)
	w.server.Tick()
	w.settle()
	if s := w.server.log.Stats(); saved == 0 || s.First != saved+1 || s.Snapshot != saved {
		t.Errorf("%+v: want a snapshot at %d, and no events before it", s, saved)
	}
}

// TestBackupTakesNoRoom: a backup writes nothing to the disk, and has its snapshots although others
// replace them while it is sent. Before, it copied them into the data directory, where they could
// take the last room.
func TestBackupTakesNoRoom(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.FS, c.SnapshotEvery, c.Retain = nil, 5, time.Nanosecond })
	w.apply(toy)
	d := w.decide("toy", "a")[0]
	post := func(n int) {
		for range n {
			w.get(200, nil, "POST", "/v1/feedback", feedbackFor(d))
			w.wait(time.Millisecond)
			w.settle()
		}
	}
	post(30)
	before, during := treeSize(t, w.config.Data), int64(-1)
	var latest uint64
	var b bytes.Buffer
	info, err := w.server.newBackup().write(t.Context(), writerFunc(func(p []byte) (int, error) {
		if during < 0 {
			during = treeSize(t, w.config.Data)
			latest = w.server.log.Stats().Snapshot
			post(20)
		}
		return b.Write(p)
	}))
	if err != nil || during > before {
		t.Errorf("the data directory has %d bytes, and had %d before the backup: %v", during, before, err)
	}
	if n := len(info.Snapshots); n == 0 || info.Snapshots[n-1] != latest || w.server.log.Stats().Snapshot <= latest {
		t.Errorf("%+v, the latest snapshot was %d and is %d", info, latest, w.server.log.Stats().Snapshot)
	}
	if _, out := w.restored(b.Bytes()); out.Last != info.Last {
		t.Errorf("%+v, want %+v", out, info)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// treeSize returns the bytes of the files in a directory and below.
func treeSize(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDamagedSnapshotIsTold: a damaged snapshot is skipped with one line of the log that names the
// file and the reason, and one alert, also in the next process.
func TestDamagedSnapshotIsTold(t *testing.T) {
	h := newWebhook(t)
	w := newWorld(t, h.config)
	w.apply(toy)
	w.restart() // which saves a snapshot
	want, err := w.server.State()
	if err != nil {
		t.Fatal(err)
	}
	w.end()
	dir := w.config.FS.PathJoin(LogDir(w.config.Data), "snapshots")
	names, err := w.config.FS.List(dir)
	if err != nil || len(names) != 1 {
		t.Fatalf("%v: %q", err, names)
	}
	file := w.config.FS.PathJoin(dir, names[0])
	f, err := w.config.FS.OpenReadWrite(file, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.WriteAt([]byte("x"), 40)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	w.start()
	if got, err := w.server.State(); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	w.do("GET", "/v1/snapshot", "")
	w.look()
	h.expect("happened disk:damaged")
	w.drained()
	lines := func() (n int) {
		for line := range strings.Lines(w.logs.String()) {
			if strings.Contains(line, "level=WARN") && strings.Contains(line, "a damaged snapshot is skipped") &&
				strings.Contains(line, "file="+file) && strings.Contains(line, "its checksum is wrong") {
				n++
			}
		}
		return n
	}
	if n := lines(); n != 1 {
		t.Errorf("%d lines:\n%s", n, w.logs.String())
	}
	w.restart()
	w.look()
	if n := lines(); n != 2 || len(h.got) > 0 {
		t.Errorf("%d lines after another start, %d alerts", n, len(h.got))
	}
}
