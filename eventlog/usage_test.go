package eventlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestMeasure compares the usage with a walk over the directory by package os, while the log is
// open, and without and with a snapshot.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(nil, dir, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	check := func() Usage {
		t.Helper()
		u, err := Measure(nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			want += info.Size()
			return err
		})
		if err != nil || u.Bytes != want || want == 0 {
			t.Errorf("%d bytes, want %d, %v", u.Bytes, want, err)
		}
		if u.Free == 0 || u.Free > u.Total {
			t.Errorf("%d bytes free of %d", u.Free, u.Total)
		}
		return u
	}
	if u := check(); !u.Snapshot.IsZero() {
		t.Errorf("a snapshot of %v before there is one", u.Snapshot)
	}
	before := check().Bytes
	for i := range 2 {
		if _, _, err := s.Append(t.Context(), Event{Kind: "k", Time: 1, Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveSnapshot(t.Context(), uint64(i+1), make([]byte, 5000)); err != nil {
			t.Fatal(err)
		}
	}
	// The latest snapshot counts, not the one before it.
	want := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(filepath.Join(dir, snapshotName, snapshotFile(2)), want, want); err != nil {
		t.Fatal(err)
	}
	u := check()
	if !u.Snapshot.Equal(want) {
		t.Errorf("the snapshot is of %v, want %v", u.Snapshot, want)
	}
	if u.Bytes < before+10_000 {
		t.Errorf("%d bytes with two snapshots of 5,000, %d before", u.Bytes, before)
	}
}

// TestMeasureElsewhere: a file system that does not say how much room it has is no error; a
// directory that is not there is one.
func TestMeasureElsewhere(t *testing.T) {
	mem := vfs.NewMem()
	if _, err := Measure(mem, "log"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a log: %v", err)
	}
	s, err := Open(mem, "log", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if u, err := Measure(mem, "log"); err != nil || u.Free != 0 || u.Total != 0 || u.Bytes == 0 {
		t.Errorf("%+v, %v", u, err)
	}
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 3, TotalBytes: 7, UsedBytes: 2})
	if u, err := Measure(mem, "log"); err != nil || u.Free != 3 || u.Total != 7 {
		t.Errorf("%+v, %v", u, err)
	}
}
