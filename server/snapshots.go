package server

import (
	"context"
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
	every     uint64        // events between two snapshots
	retain    time.Duration // how long events are kept, unless retainAll
	retainAll bool
	now       func() time.Time
	logger    *slog.Logger
	saved     func() // counts a snapshot

	last    uint64 // position of the latest snapshot begun; only the writer uses it
	saving  atomic.Bool
	running sync.WaitGroup
}

// maintain saves a snapshot in a goroutine of its own if enough events have come since the last one
// and none is being saved. Only the writer calls it.
func (s *snapshotter) maintain(state *experiment.State) {
	if state.Position() < s.last+s.every || !s.saving.CompareAndSwap(false, true) {
		return
	}
	frozen, err := state.Freeze()
	if err != nil {
		s.saving.Store(false)
		s.logger.Error("the state cannot be written", "error", err)
		return
	}
	s.last = frozen.Position()
	s.running.Go(func() {
		defer s.saving.Store(false)
		if err := s.save(frozen); err != nil {
			s.logger.Error("a snapshot failed", "error", err)
		}
	})
}

// save saves a snapshot. It then drops the events that are older than the retention time and
// covered by the previous snapshot.
func (s *snapshotter) save(state *experiment.Frozen) error {
	b, err := state.MarshalBinary()
	if err != nil {
		return err
	}
	ctx := context.Background()
	before := s.log.Stats().Snapshot
	if err := s.log.SaveSnapshot(ctx, state.Position(), b); err != nil {
		return err
	}
	s.saved()
	if s.retainAll || before == 0 {
		return nil
	}
	oldest := s.now().Add(-s.retain).UnixNano()
	upTo := uint64(0)
	for r, err := range s.log.Read(ctx, s.log.Stats().First) {
		if err != nil {
			return err
		}
		if r.Time >= oldest || r.Position > before {
			break
		}
		upTo = r.Position
	}
	if upTo == 0 {
		return nil
	}
	return s.log.Compact(ctx, upTo)
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
