package server

import (
	"log/slog"
	"maps"
	"sync"

	"github.com/noregret/noregret/eventlog"
)

// openLog opens the log of a service.
func (c *Config) openLog() (eventlog.Log, error) {
	o := c.logOptions()
	if c.skipped != nil {
		o.Skipped = c.skipped.note
	}
	if c.Log != nil {
		return c.Log(o)
	}
	return eventlog.OpenDisk(c.FS, LogDir(c.Data), o)
}

// skippedSnapshots has the reasons why snapshots were passed over, by their names.
type skippedSnapshots struct {
	logger *slog.Logger

	mu  sync.Mutex
	why map[string]string
}

// note logs that a damaged snapshot is passed over, once.
func (s *skippedSnapshots) note(name, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why[name] == reason {
		return
	}
	if s.why == nil {
		s.why = map[string]string{}
	}
	s.why[name] = reason
	s.logger.Warn("a damaged snapshot is skipped: the state is made of an older one or of the events; "+
		"noregret log verify checks the log, and noregret log repair sets the file aside",
		"file", name, "reason", reason)
}

// reasons returns the reasons by the names.
func (s *skippedSnapshots) reasons() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.why)
}
