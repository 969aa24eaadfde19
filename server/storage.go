package server

import (
	"log/slog"
	"sync"
	"time"

	"github.com/noregret/noregret/eventlog"
)

// storagePeriod is the least time between two looks at the files of the log.
const storagePeriod = 10 * time.Second

// storage knows how much the log takes on its disk, how much is free there, and how old the latest
// snapshot is. It looks now and then, so that a request for metrics does not wait for the disk.
type storage struct {
	log    eventlog.Log
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	looked   time.Time
	usage    eventlog.Usage
	snapshot time.Time // of the latest snapshot, by the service's clock; zero without one
}

// newStorage looks at the log of an open service.
func newStorage(c *Config, log eventlog.Log) *storage {
	s := &storage{log: log, now: c.Now, logger: c.Logger}
	s.look()
	if t := s.usage.Snapshot; !t.IsZero() {
		s.snapshot = t
		if now := s.now(); t.After(now) {
			s.snapshot = now
		}
	}
	return s
}

// look measures again if the latest time is storagePeriod ago. If it cannot, the figures stay.
func (s *storage) look() {
	now := s.now()
	s.mu.Lock()
	due := s.looked.IsZero() || now.Sub(s.looked) >= storagePeriod
	if due {
		s.looked = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	u, err := s.log.Usage()
	if err != nil {
		s.logger.Debug("the size of the log cannot be measured", "error", err)
		return
	}
	s.mu.Lock()
	s.usage = u
	s.mu.Unlock()
}

// saved notes that a snapshot has been saved now.
func (s *storage) saved() {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = now
}

// coarse is the unit of the sizes that the service tells. An exact size would show how large the
// single items of feedback of a private experiment are.
const coarse = 1 << 20

// get returns the latest figures, the size of the log rounded up and the free bytes down. The age
// is negative without a snapshot.
func (s *storage) get() (u eventlog.Usage, age time.Duration) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	u = s.usage
	u.Bytes = (u.Bytes + coarse - 1) / coarse * coarse
	u.Free -= u.Free % coarse
	if s.snapshot.IsZero() {
		return u, -1
	}
	return u, max(now.Sub(s.snapshot), 0)
}
