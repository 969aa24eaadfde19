package memlog

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// place names the log in errors.
const place = "memlog"

// Storage is what a log in memory is stored in. Its methods are safe for concurrent use.
type Storage struct {
	mu        sync.Mutex
	base      uint64            // the events up to it were dropped
	records   []eventlog.Record // from base+1 on, without gaps
	snapshots []eventlog.Snapshot
	open      []*Log
	// mark is the last position that was acknowledged. Back does not restore it.
	mark uint64

	left    int  // the change that fails, 1 for the next one; 0 for none
	lasting bool // and all after it
	met     bool // a change has failed
	failed  int  // the number of appends that have failed
}

// NewStorage returns an empty storage.
func NewStorage() *Storage { return &Storage{} }

// Open opens the log that is stored, or begins one. It returns an error of code usage if a log is
// open already, and one that wraps [eventlog.ErrDamaged] if acknowledged events are missing.
func (s *Storage) Open(o eventlog.Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 {
		return nil, noregret.Errorf(noregret.Usage, place, "a log is open in the storage: close it first")
	}
	return s.join(o)
}

// Join opens the log beside those that are open, as a process does that shares a replicated log
// with others. Each of them appends, reads and fails by itself. They share the snapshots: one that
// is older than the latest is not kept.
func (s *Storage) Join(o eventlog.Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.join(o)
}

// join opens a log. The caller holds mu.
func (s *Storage) join(o eventlog.Options) (*Log, error) {
	if last := s.last(); last < s.mark {
		return nil, noregret.BadInputf(place, "%w: it ends at position %d, but %d was acknowledged",
			eventlog.ErrDamaged, last, s.mark)
	}
	l := newLog(s, o)
	s.open = append(s.open, l)
	return l, nil
}

// Crash ends the logs that are open, as the end of their processes does.
func (s *Storage) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.open) > 0 {
		s.open[0].end()
	}
}

// Break makes the n-th change from now on fail, 1 for the next one, and with it all later ones if
// lasting is set. 0 ends that. Changes are appends, snapshots, compactions and the attempts of
// [Log.Reopen].
func (s *Storage) Break(n int, lasting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.lasting, s.met = n, lasting, false
}

// Met reports whether a change has failed since the latest call of Break.
func (s *Storage) Met() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met
}

// Keep notes what is stored and returns a function that restores it, without the mark of what was
// acknowledged: as if the storage had lost its end. No log may be open in both calls.
func (s *Storage) Keep() (back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, records, snapshots := s.base, slices.Clone(s.records), slices.Clone(s.snapshots)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.base, s.records, s.snapshots = base, records, snapshots
	}
}

// Check returns an error if the positions stored have gaps or a snapshot lies after the end.
func (s *Storage) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.records {
		if want := s.base + uint64(i) + 1; r.Position != want {
			return fmt.Errorf("position %d in the place of %d", r.Position, want)
		}
	}
	for i, n := range s.snapshots {
		if n.Position > s.last() || i > 0 && n.Position <= s.snapshots[i-1].Position {
			return fmt.Errorf("the snapshot at %d: the log ends at %d", n.Position, s.last())
		}
	}
	return nil
}

// add stores events behind the last one, and shows them to the logs that are open and connected,
// but to one that has failed only after its Reopen. The caller holds mu.
func (s *Storage) add(events []eventlog.Event) {
	first := s.last() + 1
	for i, e := range events {
		e.Payload = bytes.Clone(e.Payload)
		s.records = append(s.records, eventlog.Record{Position: first + uint64(i), Event: e})
	}
	for _, l := range s.open {
		l.catchUp()
	}
}

// last returns the position of the last event. The caller holds mu.
func (s *Storage) last() uint64 { return s.base + uint64(len(s.records)) }

// change reports whether a change succeeds. The caller holds mu.
func (s *Storage) change() bool {
	if s.left == 0 {
		return true
	}
	if s.left--; s.left > 0 {
		return true
	}
	if s.met = true; s.lasting {
		s.left = 1
	}
	return false
}
