//go:build unix

package eventlog

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPrivateFiles checks that nobody else can read a log, with an umask that takes nothing away.
func TestPrivateFiles(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir, ctx := filepath.Join(t.TempDir(), "data", "log"), context.Background()
	for range 3 { // the later rounds use files again
		s, err := Open(nil, dir, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, _, err := s.Append(ctx, Event{Kind: "k", Time: 1, Payload: []byte("x")}); err != nil {
				t.Fatal(err)
			}
		}
		last := s.Stats().Last
		if err := s.SaveSnapshot(ctx, last, []byte("state")); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(ctx, last-1); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files := 0
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files < 8 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestPipes checks that a pipe in the place of a file of the log is an error, and not waited for.
func TestPipes(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{
		"mark", "LOCK", "events/000099.log", "events/000099.sst",
		"snapshots/" + snapshotFile(3),
	} {
		dir := t.TempDir()
		s, err := Open(nil, dir, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, _, err := s.Append(ctx, Event{Kind: "k", Time: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		_ = os.Remove(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip("no pipes here:", err)
		}
		if s, err = Open(nil, dir, DefaultOptions()); err == nil {
			_, err = s.LatestSnapshot(ctx)
			_ = s.Close()
		}
		report, checked := Check(ctx, nil, dir)
		for what, err := range map[string]error{"Open": err, "Check": checked} {
			if err == nil && (name == "events/000099.sst") { // a file that the store does not name
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "regular file") {
				t.Errorf("%s: %s: %v, %+v", name, what, err, report)
			}
		}
	}
}
