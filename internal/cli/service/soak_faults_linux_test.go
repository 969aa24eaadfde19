package service

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// step sets the clock of the machine and, after some load, sets it back.
func (s *soak) step(by time.Duration) {
	s.t.Helper()
	before := s.metric("noregret_clock_steps_total")
	s.clock.Store(int64(by))
	s.load(1000)
	s.clock.Store(0)
	s.load(500)
	if n := s.metric("noregret_clock_steps_total") - before; n < 1 {
		s.t.Errorf("the service has seen no step of the clock by %v", by)
	}
}

// outage waits until the service refuses writes, checks that it still decides, and ends it.
func (s *soak) outage(what string, end func()) {
	s.t.Helper()
	s.await("an outage by "+what, func() bool { return s.status("/readyz/writes") == 503 })
	s.outages[what]++
	if _, err := s.client.Decide(s.t.Context(), "soak", "someone"); err != nil {
		s.fault("no decision during an outage by %s: %v", what, err)
	}
	end()
	s.await("an end of the outage by "+what, s.writes)
	s.load(500)
}

// fill fills the disk but for some bytes, which are free all the time. It may be called again, as
// the service frees some when it opens its log again.
func (s *soak) fill(leave int64) {
	s.t.Helper()
	f, err := os.OpenFile(s.ballast(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	for _, n := range []int64{1 << 30, 1 << 24, 1 << 18, 4096} {
		for err == nil && s.room(f) >= leave+n && unix.Fallocate(int(f.Fd()), 0, size, n) == nil {
			size += n
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// room returns the bytes that are free on the disk of a file.
func (s *soak) room(f *os.File) int64 {
	s.t.Helper()
	var v unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &v); err != nil {
		s.t.Fatal(err)
	}
	return int64(v.Bavail) * v.Bsize
}

func (s *soak) ballast() string { return filepath.Join(s.dir, "ballast") }

// free undoes fill.
func (s *soak) free() {
	if err := os.Remove(s.ballast()); err != nil {
		s.t.Error(err)
	}
}

// fullDisk fills the disk, if it has one of its own. The service starts with little room, so that
// its log cannot take some in advance, which would last for a while.
func (s *soak) fullDisk() {
	s.t.Helper()
	if !s.mounted {
		return
	}
	s.kill()
	s.fill(16 << 20)
	s.start()
	s.await("a full disk", func() bool {
		s.fill(0)
		return s.status("/readyz/writes") == 503
	})
	s.outage("a full disk", s.free)
}

// nearlyFull leaves the disk, if it has one of its own, room for events and none for a snapshot.
// The service must go on without that. It is started before, so that its log does not need a table
// of the earlier events meanwhile.
func (s *soak) nearlyFull() {
	s.t.Helper()
	if !s.mounted {
		return
	}
	s.kill()
	s.start()
	s.await("the service", s.writes)
	s.fill(24 << 20)
	for s.metric("noregret_snapshot_failures_total") == 0 {
		s.load(100)
	}
	s.load(500)
	if s.metric("noregret_log_failures_total") > 0 {
		s.fault("the log has failed on a disk that has room for events")
	}
	s.unsaved++
	s.free()
}

// descriptors returns the number of descriptors that the service has.
func (s *soak) descriptors() uint64 {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return uint64(len(list))
}

// limit gives the process a limit and returns the function that takes it back.
func (s *soak) limit(resource int, value uint64) (undo func()) {
	s.t.Helper()
	pid := s.cmd.Process.Pid
	var old unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
		s.t.Fatal(err)
	}
	low := unix.Rlimit{Cur: value, Max: old.Max}
	if err := unix.Prlimit(pid, resource, &low, nil); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, resource, &old, nil); err != nil {
			s.t.Fatal(err)
		}
	}
}

// fileSize lets no file grow.
func (s *soak) fileSize() { s.outage("files that cannot grow", s.limit(unix.RLIMIT_FSIZE, 0)) }

// noDescriptors takes the descriptors that are free, and makes the log fail: as long as there are
// none, it cannot be opened again.
func (s *soak) noDescriptors() {
	s.t.Helper()
	s.status("/readyz/writes") // has a connection
	free := s.limit(unix.RLIMIT_NOFILE, s.descriptors())
	grow := s.limit(unix.RLIMIT_FSIZE, 0)
	s.outage("no descriptors", func() {
		grow()
		for end, tick := time.After(2*time.Second), time.NewTicker(100*time.Millisecond); ; {
			select {
			case <-tick.C:
				if s.writes() {
					s.fault("the log was opened again without descriptors")
				}
				continue
			case <-end:
			}
			tick.Stop()
			break
		}
		free()
	})
}

// restore makes a backup under load, which must be sound, and another one while nothing is under
// way, with which it goes on in a new directory.
func (s *soak) restore() {
	s.t.Helper()
	file, trial := filepath.Join(s.t.TempDir(), "backup.tar"), filepath.Join(s.t.TempDir(), "data")
	url := "http://" + s.address
	cmds.Printed(s.t, "backup", "--server", url, "--output", file)
	cmds.Printed(s.t, "restore", file, "--data", trial)
	if out := cmds.Printed(s.t, "log", "replay", "--data", trial, "--json"); !strings.Contains(out, `"different": 0`) {
		s.t.Error(out)
	}
	for _, path := range []string{file, trial} {
		if err := os.RemoveAll(path); err != nil {
			s.t.Fatal(err)
		}
	}
	s.running.Lock()
	defer s.running.Unlock()
	cmds.Printed(s.t, "backup", "--server", url, "--output", file)
	s.kill()
	if err := os.RemoveAll(s.data); err != nil {
		s.t.Fatal(err)
	}
	s.data = filepath.Join(s.dir, fmt.Sprint("data", s.lives))
	cmds.Printed(s.t, "restore", file, "--data", s.data)
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	s.start()
}
