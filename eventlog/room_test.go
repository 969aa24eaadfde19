package eventlog

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
)

// smallDisk is a disk of a number of bytes in memory. A write that does not fit writes what does.
type smallDisk struct {
	vfs.FS
	tells bool // GetDiskUsage is supported

	mu    sync.Mutex
	size  int64
	least int64 // the least room there was
}

func newSmallDisk(fs vfs.FS, size int64) *smallDisk {
	return &smallDisk{FS: fs, tells: true, size: size, least: size}
}

// resize gives the disk a size so that the given number of bytes is free.
func (d *smallDisk) resize(free int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size = d.used("") + free
	d.least = free
}

// used returns the bytes of the files below a directory.
func (d *smallDisk) used(dir string) (n int64) {
	names, _ := d.FS.List(dir)
	for _, name := range names {
		path := d.PathJoin(dir, name)
		switch info, err := d.Stat(path); {
		case err != nil: // removed meanwhile
		case info.IsDir():
			n += d.used(path)
		default:
			n += info.Size()
		}
	}
	return n
}

func (d *smallDisk) free() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size - d.used("")
}

func (d *smallDisk) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	if !d.tells {
		return d.FS.GetDiskUsage(path)
	}
	return vfs.DiskUsage{AvailBytes: uint64(max(0, d.free())), TotalBytes: uint64(d.size)}, nil
}

// grow calls write with how much of more bytes fits.
func (d *smallDisk) grow(more int64, write func(fits int64) (int, error)) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fits := max(0, min(more, d.size-d.used("")))
	n, err := write(fits)
	d.least = min(d.least, d.size-d.used(""))
	if err == nil && fits < more {
		err = syscall.ENOSPC
	}
	return n, err
}

func (d *smallDisk) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &smallDiskFile{f, d}, nil
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.wrap(d.FS.Create(name, c))
}

func (d *smallDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return d.wrap(d.FS.OpenReadWrite(name, c, o...))
}

func (d *smallDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.wrap(d.FS.ReuseForWrite(from, to, c))
}

type smallDiskFile struct {
	vfs.File
	disk *smallDisk
}

func (f *smallDiskFile) Write(b []byte) (int, error) {
	return f.disk.grow(int64(len(b)), func(fits int64) (int, error) { return f.File.Write(slices.Clone(b[:fits])) })
}

func (f *smallDiskFile) WriteAt(b []byte, off int64) (int, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	more := max(0, off+int64(len(b))-info.Size())
	return f.disk.grow(more, func(fits int64) (int, error) {
		return f.File.WriteAt(slices.Clone(b[:int64(len(b))-more+fits]), off)
	})
}

// TestSnapshotWithoutRoom: a snapshot that does not fit on the disk leaves nothing behind, and the
// log goes on. Before, the log failed, and the half of the snapshot kept the room that the log
// needs. Where the disk says what is free, not even the reserve is used.
func TestSnapshotWithoutRoom(t *testing.T) {
	noLeaks(t)
	for _, tells := range []bool{true, false} {
		const room = 2 << 20
		disk := newSmallDisk(vfs.NewMem(), 0)
		disk.tells = tells
		disk.resize(64 << 20)
		s := open(t, disk)
		appendN(t, s, 5)
		if disk.resize(room); tells {
			disk.resize(Reserve + room)
		}
		before := disk.free()
		err := s.SaveSnapshot(t.Context(), 5, bytes.Repeat([]byte("state "), room))
		if err == nil || tells != errors.Is(err, ErrNoRoom) || tells == IsUnwritable(err) || errors.Is(err, ErrFailed) {
			t.Errorf("tells %t: %v", tells, err)
		}
		if left := temps(t, disk, "log"); len(left) > 0 || disk.free() != before {
			t.Errorf("tells %t: left behind: %v, %d bytes are free and were %d", tells, left, disk.free(), before)
		}
		if tells && disk.least < Reserve {
			t.Errorf("%d bytes were free meanwhile: want the reserve of %d", disk.least, Reserve)
		}
		appendN(t, s, 3)
		if err := s.SaveSnapshot(t.Context(), 7, []byte("fits")); err != nil {
			t.Errorf("tells %t: a snapshot that fits: %v", tells, err)
		}
		closeLog(t, s)
		disk.resize(64 << 20)
		s = open(t, disk)
		saved, err := s.LatestSnapshot(t.Context())
		if err != nil || string(saved.State) != "fits" || s.Stats().Last != 8 {
			t.Errorf("tells %t: %q at %d of %d: %v", tells, saved.State, saved.Position, s.Stats().Last, err)
		}
		closeLog(t, s)
	}
}

// TestInterruptedSnapshot: what a crash in the middle of a snapshot has left holds the last room of
// the disk. Probe and Open remove it. Before, the probe never succeeded, and the log could not be
// opened for writing.
func TestInterruptedSnapshot(t *testing.T) {
	noLeaks(t)
	files, _, last := smallLog(t)
	files = files.with("log/snapshots/"+snapshotFile(22)+tempSuffix, make([]byte, 3<<20))
	for _, probes := range []bool{true, false} {
		disk := newSmallDisk(files.fs(t), 0)
		disk.resize(0)
		if probes {
			if err := Probe(disk, "log"); err != nil {
				t.Error(err)
			}
			if left := temps(t, disk, "log"); len(left) > 0 {
				t.Errorf("the probe leaves %v", left)
			}
		}
		s, err := Open(disk, "log", DefaultOptions())
		if err != nil {
			t.Errorf("probes %t: %v", probes, err)
			continue
		}
		if left := temps(t, disk, "log"); len(left) > 0 || s.Stats().Last != last {
			t.Errorf("%+v, left behind: %v", s.Stats(), left)
		}
		appendN(t, s, 1)
		closeLog(t, s)
	}
}

// TestCompactWithoutRoom: a compaction that does not fit on the disk changes nothing, and the log
// goes on. Before, it failed the log, and the half of a table kept the room.
func TestCompactWithoutRoom(t *testing.T) {
	noLeaks(t)
	disk := newSmallDisk(vfs.NewMem(), 0)
	disk.resize(64 << 20)
	s := open(t, disk)
	large := Event{Kind: "test", Payload: make([]byte, 256<<10)}
	for range 8 {
		if _, _, err := s.Append(t.Context(), large); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SaveSnapshot(t.Context(), 8, []byte("state")); err != nil {
		t.Fatal(err)
	}
	for _, free := range []int64{1 << 20, 3 << 20} {
		disk.resize(free)
		if err := s.Compact(t.Context(), 6); !errors.Is(err, ErrNoRoom) {
			t.Errorf("%d bytes free: %v", free, err)
		}
		if stats := s.Stats(); stats.First != 1 || stats.Failed != "" {
			t.Errorf("%+v", stats)
		}
	}
	disk.resize(16 << 20)
	if err := s.Compact(t.Context(), 6); err != nil || s.Stats().First != 7 {
		t.Errorf("%+v: %v", s.Stats(), err)
	}
	appendN(t, s, 1)
	closeLog(t, s)
}

// TestRepairWithoutRoom: a repair that does not fit on the disk leaves the log as it was, and no
// half of a new one.
func TestRepairWithoutRoom(t *testing.T) {
	files, _, _ := smallLog(t)
	disk := newSmallDisk(files.with("log/mark", nil).fs(t), 0)
	names, err := disk.List("log/events")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, "MANIFEST") {
			if err := disk.Remove("log/events/" + n); err != nil {
				t.Fatal(err)
			}
		}
	}
	disk.resize(500)
	if _, err := Repair(t.Context(), disk, "log", RepairOptions{AcceptLoss: 100}); !IsUnwritable(err) {
		t.Errorf("a repair on a full disk: %v", err)
	}
	for name := range readTree(t, disk, "log") {
		if strings.Contains(name, repairName) {
			t.Errorf("left behind: %s", name)
		}
	}
	disk.resize(64 << 20)
	if r, err := Repair(t.Context(), disk, "log", RepairOptions{AcceptLoss: 100}); err != nil || r.Lost > 0 {
		t.Errorf("%+v: %v", r, err)
	}
}

// TestScratchLeavesRoom: a scratch file does not take the room of the log.
func TestScratchLeavesRoom(t *testing.T) {
	disk := newSmallDisk(vfs.NewMem(), Reserve+1000)
	f, err := CreateScratch(disk, "scratch")
	if err != nil {
		t.Fatal(err)
	}
	page := make([]byte, 400)
	for i, fits := range []bool{true, true, false, false} {
		if _, err := f.WriteAt(page, int64(i)*400); fits == errors.Is(err, ErrNoRoom) || fits && err != nil {
			t.Errorf("page %d: %v", i, err)
		}
	}
	if _, err := f.WriteAt(page, 400); err != nil {
		t.Errorf("a page is written again: %v", err)
	}
	if err := errors.Join(f.Close(), RemoveScratch(disk, "scratch")); err != nil {
		t.Error(err)
	}
}

// TestOpenSnapshots: snapshots that are open can be read to the end although others are saved
// meanwhile and they are dropped. Nothing is written for that.
func TestOpenSnapshots(t *testing.T) {
	noLeaks(t)
	files, _, _ := smallLog(t) // snapshots at 5 and 20, compacted up to 5
	disk := newSmallDisk(files.fs(t), 0)
	disk.resize(64 << 20)
	s := open(t, disk)
	before := disk.free()
	saved, err := s.OpenSnapshots(t.Context())
	if err != nil || len(saved) != 2 || saved[0].Position != 5 || saved[1].Position != 20 {
		t.Fatalf("%v: %v", err, saved)
	}
	if free := disk.free(); free < before { // pebble may remove a file
		t.Errorf("%d bytes are free, and were %d", free, before)
	}
	for _, p := range []uint64{21, 22, 23} {
		if err := s.SaveSnapshot(t.Context(), p, []byte("newer")); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"state 5", "state 20"} {
		got, err := io.ReadAll(saved[i].State())
		if err != nil || string(got) != want || saved[i].Size != int64(len(want)) {
			t.Errorf("%q, %v: want %q", got, err, want)
		}
		if err := saved[i].Close(); err != nil {
			t.Error(err)
		}
	}
	if again, err := s.OpenSnapshots(t.Context()); err != nil || len(again) != 2 || again[1].Position != 23 {
		t.Errorf("%v: %v", err, again)
	} else if err := errors.Join(again[0].Close(), again[1].Close()); err != nil {
		t.Error(err)
	}
	closeLog(t, s)
	if _, err := s.OpenSnapshots(t.Context()); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("closed: %v", err)
	}
	s = open(t, vfs.NewMem())
	if none, err := s.OpenSnapshots(t.Context()); err != nil || len(none) != 0 {
		t.Errorf("an empty log: %v, %v", none, err)
	}
	appendN(t, s, 1)
	if err := s.SaveSnapshot(t.Context(), 1, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if one, err := s.OpenSnapshots(t.Context()); err != nil || len(one) != 1 || one[0].close() != nil {
		t.Errorf("a log with all events: %v, %v", one, err)
	}
	closeLog(t, s)
}

// unflushedDir fails to flush directories.
type unflushedDir struct{ vfs.File }

func (unflushedDir) Sync() error { return syscall.EIO }

type unflushedFS struct {
	vfs.FS
	fails bool
}

func (f *unflushedFS) OpenDir(name string) (vfs.File, error) {
	d, err := f.FS.OpenDir(name)
	if err == nil && f.fails && strings.HasSuffix(name, snapshotName) {
		d = unflushedDir{d}
	}
	return d, err
}

// TestSnapshotUnflushed: a snapshot whose directory cannot be flushed is not kept, as nobody would
// remove it, and a failure of the power may take it away after its events were dropped.
func TestSnapshotUnflushed(t *testing.T) {
	noLeaks(t)
	fs := &unflushedFS{FS: vfs.NewMem()}
	s := open(t, fs)
	appendN(t, s, 5)
	if err := s.SaveSnapshot(t.Context(), 3, []byte("three")); err != nil {
		t.Fatal(err)
	}
	fs.fails = true
	if err := s.SaveSnapshot(t.Context(), 5, []byte("five")); err == nil {
		t.Error("a snapshot was saved without a flush")
	}
	if list, err := listSnapshots(s.fs, s.dir); err != nil || !slices.Equal(list, []uint64{3}) {
		t.Errorf("snapshots at %v, %v", list, err)
	}
	fs.fails = false
	closeLog(t, s)
}
