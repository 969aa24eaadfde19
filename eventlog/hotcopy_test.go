package eventlog

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
)

// copyTree copies a directory while others write to it, as cp -r does. Files that vanish meanwhile
// are left out.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		in, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := os.Create(filepath.Join(to, rel))
		if err != nil {
			return errors.Join(err, in.Close())
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, in.Close(), out.Close())
	})
}

// TestHotCopies copies the directory of a log that is written to. A copy is either sound or refused
// as damaged, never read with wrong events, and a repair makes of it a log that begins like the
// first one: with all events, or with those after a snapshot.
func TestHotCopies(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "log")
	s, err := Open(nil, dir, Options{
		MaxEventBytes: 4096, GroupEvents: 4096, GroupBytes: 8 << 10, QueueBytes: 32 << 10, FlushBytes: 32 << 10,
		KeepSnapshots: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_, last, err := s.Append(ctx, Event{Kind: "k", Time: 1, Payload: make([]byte, 1000)})
				if err != nil {
					t.Error(err)
					return
				}
				if last%50 == 0 {
					_ = s.SaveSnapshot(ctx, last, []byte("state")) // refused after a later one
				}
			}
		})
	}
	copies, sound, mended := 12, 0, 0
	if testsize.Short() {
		copies = 6
	}
	base := t.TempDir()
	for i := range copies {
		to := filepath.Join(base, string(rune('a'+i)))
		if err := copyTree(dir, to); err != nil {
			t.Fatal(err)
		}
		c, err := Open(nil, to, DefaultOptions())
		if err == nil {
			sound++
		} else {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("copy %d: %v", i, err)
			}
			report, err := Repair(ctx, nil, to, RepairOptions{AcceptLoss: 1 << 30})
			if err != nil || !report.Changed {
				t.Fatalf("copy %d: %v, %+v", i, err, report)
			}
			if c, err = Open(nil, to, DefaultOptions()); err != nil {
				t.Fatalf("copy %d after the repair: %v", i, err)
			}
			mended++
		}
		n := uint64(0)
		for r, err := range c.Read(ctx, 1) {
			if err != nil {
				t.Fatalf("copy %d: %v", i, err)
			}
			if n++; r.Position != n || len(r.Payload) != 1000 {
				t.Fatalf("copy %d: event %d is %d", i, n, r.Position)
			}
		}
		if n < 1 && s.Stats().Last > 1000 {
			t.Errorf("copy %d has no events", i)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	writers.Wait()
	t.Logf("of %d copies %d were sound and %d were mended; the log had %d events", copies, sound, mended,
		s.Stats().Last)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
