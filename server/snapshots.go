package server

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// snapshotter saves snapshots of the state and drops old events that they cover.
type snapshotter struct {
	log       eventlog.Log
	every     uint64        // events between two snapshots, at most
	bytes     int64         // of events between two snapshots, at most, unless a snapshot is larger
	retain    time.Duration // how long events are kept, unless retainAll
	retainAll bool
	now       func() time.Time
	logger    *slog.Logger
	saved     func() // counts a snapshot

	last    uint64       // position of the latest snapshot begun; only the writer uses it
	since   int64        // bytes of the events since then; only the writer uses it
	checked int64        // when expire last looked for old events; only the writer uses it
	size    atomic.Int64 // of the latest snapshot
	saving  atomic.Bool
	failed  atomic.Bool  // the latest one was not saved
	kept    sync.RWMutex // held for reading by backups, which need all events
	running sync.WaitGroup

	// before are last and since as they were when the latest snapshot began.
	before struct {
		last  uint64
		since int64
	}
}

// due reports whether enough events have come since the last snapshot, by their number or by their
// bytes, on which the time of a recovery depends. A snapshot larger than that is followed by as
// many bytes of events, so that at least half of what is written are events.
func (s *snapshotter) due(position uint64) bool {
	return position >= s.last+s.every || s.since >= max(s.bytes, s.size.Load())
}

// maintain saves a snapshot in a goroutine of its own if one is due and none is being saved. The
// writer calls it, and nobody else, with the bytes of the events that it has just applied.
func (s *snapshotter) maintain(state *experiment.State, added int64) {
	s.since += added
	if s.failed.Swap(false) { // it does not count
		s.last, s.since = s.before.last, s.since+s.before.since
	}
	if !s.due(state.Position()) || !s.saving.CompareAndSwap(false, true) {
		return
	}
	frozen, err := state.Freeze()
	if err != nil {
		s.saving.Store(false)
		s.logger.Error("the state cannot be written", "error", err)
		return
	}
	s.before.last, s.before.since = s.last, s.since
	s.last, s.since = frozen.Position(), 0
	s.running.Go(func() {
		defer s.saving.Store(false)
		if err := s.save(frozen); err != nil {
			s.failed.Store(true)
			s.logger.Error("a snapshot failed", "error", err)
		}
	})
}

// save saves a snapshot. It then drops the events that are older than the retention time and
// covered by the previous snapshot.
func (s *snapshotter) save(state *experiment.Frozen) error {
	ctx := context.Background()
	before, size := s.log.Stats().Snapshot, int64(0)
	err := s.log.WriteSnapshot(ctx, state.Position(), func(w io.Writer) (err error) {
		size, err = state.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	s.saved()
	s.size.Store(size)
	if s.retainAll || before == 0 {
		return nil
	}
	upTo, err := s.expired(before)
	if err != nil || upTo == 0 {
		return err
	}
	return s.compact(ctx, upTo)
}

// compact drops the events up to a position, unless a backup reads the log: then the next one does.
func (s *snapshotter) compact(ctx context.Context, upTo uint64) error {
	if !s.kept.TryLock() {
		return nil
	}
	defer s.kept.Unlock()
	return s.log.Compact(ctx, upTo)
}

// expired returns the position of the last of the log's first events that are older than the
// retention time, but at most the given position; 0 means none.
func (s *snapshotter) expired(most uint64) (upTo uint64, err error) {
	oldest := s.now().Add(-s.retain).UnixNano()
	for r, err := range s.log.Read(context.Background(), s.log.Stats().First) {
		if err != nil {
			return 0, err
		}
		if r.Time >= oldest || r.Position > most {
			break
		}
		upTo = r.Position
	}
	return upTo, nil
}

// isOld reports whether the log has an event at a position and it is older than the retention time.
func (s *snapshotter) isOld(position uint64) (bool, error) {
	for r, err := range s.log.Read(context.Background(), position) {
		return err == nil && r.Time < s.now().Add(-s.retain).UnixNano(), err
	}
	return false, nil
}

// expiryPeriod is how often expire looks for old events: a 24th of the retention time, but every
// hour at least and every minute at most.
func (s *snapshotter) expiryPeriod() time.Duration {
	return min(max(s.retain/24, time.Minute), time.Hour)
}

// expire drops the events that are older than the retention time, also if no snapshot is due
// because few events come. Where they need one, it saves a snapshot in a goroutine of its own. The
// writer calls it, and nobody else.
func (s *snapshotter) expire(state *experiment.State) error {
	now := s.now().UnixNano()
	if s.retainAll || now-s.checked < int64(s.expiryPeriod()) || s.log.Stats().First > s.log.Stats().Last ||
		!s.saving.CompareAndSwap(false, true) {
		return nil
	}
	var frozen *experiment.Frozen
	s.checked = now
	stats := s.log.Stats()
	old, err := s.isOld(stats.First)
	if old && err == nil {
		var uncovered bool // by a snapshot
		if uncovered, err = s.isOld(max(stats.Snapshot+1, stats.First)); uncovered && err == nil {
			if frozen, err = state.Freeze(); err == nil {
				s.last, s.since = frozen.Position(), 0
			}
		}
	}
	if err != nil || !old {
		s.saving.Store(false)
		return err
	}
	s.running.Go(func() {
		defer s.saving.Store(false)
		var err error
		if frozen != nil {
			err = s.save(frozen)
		}
		upTo := uint64(0)
		if err == nil {
			upTo, err = s.expired(s.log.Stats().Snapshot)
		}
		if err == nil && upTo > 0 {
			err = s.compact(context.Background(), upTo)
		}
		if err != nil {
			s.logger.Error("events beyond the retention time could not be dropped", "error", err)
		}
	})
	return nil
}

// finish saves a last snapshot if events came after the latest one. None is being saved.
func (s *snapshotter) finish(state *experiment.State) error {
	if state.Position() <= s.log.Stats().Snapshot {
		return nil
	}
	frozen, err := state.Freeze()
	if err != nil {
		return err
	}
	return s.save(frozen)
}
