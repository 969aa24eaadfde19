package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// snapshotter saves snapshots of the state and drops old events that they cover.
type snapshotter struct {
	log       eventlog.Log
	every     uint64        // events between two snapshots, at most
	bytes     int64         // of events between two, at most, unless one is large: see due
	retain    time.Duration // how long events are kept, unless retainAll
	retainAll bool
	now       func() time.Time
	logger    *slog.Logger
	saved     func() // counts a snapshot
	unsaved   func() // counts one that failed
	// free returns the bytes that are free on the disk, if it says.
	free func() (bytes uint64, known bool)

	// drops reports whether this process drops old events: on a cluster, only the node that leads.
	drops func() bool

	last    uint64       // position of the latest snapshot begun; only the writer uses it
	since   int64        // bytes of the events since then; only the writer uses it
	checked int64        // when expire last looked for old events; only the writer uses it
	size    atomic.Int64 // of the latest snapshot
	saving  atomic.Bool
	failed  atomic.Bool  // the latest one was not saved, and the writer has not seen it yet
	kept    sync.RWMutex // held for reading by backups, which need all events
	running sync.WaitGroup

	mu    sync.Mutex
	pause time.Duration // after the latest one, which failed; 0 if it did not
	next  time.Time     // when another one may begin

	// before are last and since as they were when the latest snapshot began.
	before struct {
		last  uint64
		since int64
	}
}

// due reports whether enough events have come since the last snapshot, by their number or by their
// bytes, on which the time of a recovery depends. After a large snapshot these are half as many
// bytes as it has, but at most twice as many as otherwise, however large it is.
func (s *snapshotter) due(position uint64) bool {
	return position >= s.last+s.every || s.since >= max(s.bytes, min(s.size.Load()/2, 2*s.bytes))
}

// The pauses after a snapshot that failed: the first one, and the longest one.
const (
	firstSnapshotPause = time.Minute
	lastSnapshotPause  = 16 * time.Minute
)

// fail notes that a snapshot was not saved. The log does not need it, so the service goes on. The
// next one waits, as the disk may be full.
func (s *snapshotter) fail(err error) {
	s.mu.Lock()
	s.pause = min(max(2*s.pause, firstSnapshotPause), lastSnapshotPause)
	s.next = s.now().Add(s.pause)
	pause := s.pause
	s.mu.Unlock()
	s.failed.Store(true)
	s.unsaved()
	s.logger.Error("a snapshot failed: the service goes on, and needs longer to start after a crash",
		"error", err, "next", pause)
}

// failing reports whether the latest snapshot failed, and whether the next one has to wait.
func (s *snapshotter) failing() (failing, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pause > 0, s.pause > 0 && s.now().Before(s.next)
}

// again saves a snapshot in the place of one that failed, if it is time for that. The writer calls
// it, and nobody else.
func (s *snapshotter) again(state *experiment.State) {
	if failing, waits := s.failing(); failing && !waits {
		s.maintain(state, 0)
	}
}

// discount takes a snapshot that failed out of last and since. Only the writer calls it.
func (s *snapshotter) discount() {
	if s.failed.Swap(false) {
		s.last, s.since = s.before.last, s.since+s.before.since
	}
}

// maintain saves a snapshot in a goroutine of its own if one is due and none is being saved. The
// writer calls it, and nobody else, with the bytes of the events that it has just applied.
func (s *snapshotter) maintain(state *experiment.State, added int64) {
	s.since += added
	s.discount()
	if _, waits := s.failing(); waits || !s.due(state.Position()) || !s.saving.CompareAndSwap(false, true) {
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
	keep := s.retainAll || onlyExpire(state) || !s.drops()
	s.running.Go(func() {
		defer s.saving.Store(false)
		_ = s.saveAndDrop(frozen, keep) // logged
	})
}

// onlyExpire reports whether only [snapshotter.expire] may drop events, by the clock: when a
// snapshot is due depends on the feedback of private experiments, and readers see which events
// there are.
func onlyExpire(state *experiment.State) bool { return len(experiment.PrivateNames(state)) > 0 }

// saveAndDrop saves a snapshot. Unless keep is set, it then drops the events that are older than
// the retention time and covered by the previous snapshot.
func (s *snapshotter) saveAndDrop(state *experiment.Frozen, keep bool) error {
	before := s.log.Stats().Snapshot
	err := s.save(state)
	if err == nil && !keep && before > 0 {
		s.dropExpired(before)
	}
	return err
}

// save saves a snapshot and notes whether it was saved.
func (s *snapshotter) save(state *experiment.Frozen) error {
	size, err := int64(0), s.fits(state)
	if err == nil {
		err = s.log.WriteSnapshot(context.Background(), state.Position(), func(w io.Writer) (err error) {
			size, err = state.Save(w)
			return err
		})
	}
	if err != nil {
		s.fail(err)
		return err
	}
	s.size.Store(size)
	s.mu.Lock()
	s.pause = 0
	s.mu.Unlock()
	s.saved()
	return nil
}

// fits returns an error if the disk has no room for a snapshot. It compares with the size of the
// latest one. If that does not fit, it computes the size of this one, which may be smaller.
func (s *snapshotter) fits(state *experiment.Frozen) error {
	free, known := s.free()
	if !known || free >= uint64(s.size.Load())+eventlog.Reserve {
		return nil
	}
	size, err := state.Save(io.Discard)
	if need := uint64(size) + eventlog.Reserve; err == nil && free < need {
		err = noregret.Errorf(noregret.Internal, "snapshot", "%w: %d MiB are free, want %d MiB", eventlog.ErrNoRoom,
			free>>20, need>>20)
	}
	return err
}

// dropExpired drops the events up to a position that are older than the retention time.
func (s *snapshotter) dropExpired(most uint64) {
	upTo, err := s.expired(most)
	if err == nil && upTo > 0 {
		err = s.compact(context.Background(), upTo)
	}
	if err != nil {
		s.logger.Error("events beyond the retention time could not be dropped", "error", err)
	}
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
		_, waits := s.failing()
		if uncovered, err = s.isOld(max(stats.Snapshot+1, stats.First)); uncovered && err == nil && !waits {
			s.discount()
			if frozen, err = state.Freeze(); err == nil {
				s.before.last, s.before.since = s.last, s.since
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
		if frozen != nil {
			_ = s.save(frozen) // logged; without it some events can still be dropped
		}
		s.dropExpired(s.log.Stats().Snapshot)
	})
	return nil
}

// finish saves a last snapshot if events came after the latest one. None is being saved. On a disk
// without room the service ends without it.
func (s *snapshotter) finish(state *experiment.State) error {
	if state.Position() <= s.log.Stats().Snapshot {
		return nil
	}
	frozen, err := state.Freeze()
	if err != nil {
		return err
	}
	err = s.saveAndDrop(frozen, s.retainAll || onlyExpire(state) || !s.drops())
	if errors.Is(err, eventlog.ErrNoRoom) || eventlog.IsUnwritable(err) {
		return nil
	}
	return err
}
