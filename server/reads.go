package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/web"
)

// readLimit bounds how many heavy reads (reports, explanations, optima) are computed at once, so
// that readers leave processors to decisions and to the writer. A read holds its place while it
// computes, not while its answer is sent. A nil readLimit has no bound.
type readLimit struct {
	places chan struct{}
	wait   time.Duration // for a place
}

func newReadLimit(most int, wait time.Duration) *readLimit {
	return &readLimit{make(chan struct{}, most), wait}
}

// acquire waits for a place until ctx ends and returns the function that gives it back.
func (l *readLimit) acquire(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	release = func() { <-l.places }
	select {
	case l.places <- struct{}{}:
		return release, nil
	default:
	}
	t := time.NewTimer(l.wait)
	defer t.Stop()
	select {
	case l.places <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, web.Unavailable(errors.New("the request has ended"))
	case <-t.C:
		return nil, web.Unavailable(errors.New("too many reports are being computed"))
	}
}

// stateNamer computes the digest of the state, which costs as much as a snapshot, once at a time.
// Requests that wait share a computation that began after they arrived.
type stateNamer struct {
	busy chan struct{} // holds a value during a computation

	mu   sync.Mutex
	last policy.StateName // the latest result
}

func newStateNamer() *stateNamer { return &stateNamer{busy: make(chan struct{}, 1)} }

// known returns the latest result if it covers the position.
func (n *stateNamer) known(position uint64) (policy.StateName, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last, n.last.Digest != "" && n.last.Position >= position
}

// name returns the position and the digest of a state that covers the given position. freeze copies
// the present state.
func (n *stateNamer) name(ctx context.Context, position uint64,
	freeze func() (*experiment.Frozen, error),
) (policy.StateName, error) {
	if v, ok := n.known(position); ok {
		return v, nil
	}
	select {
	case n.busy <- struct{}{}:
		defer func() { <-n.busy }()
	case <-ctx.Done():
		return policy.StateName{}, web.Unavailable(errors.New("the digest of the state was not computed in time"))
	}
	if v, ok := n.known(position); ok {
		return v, nil
	}
	frozen, err := freeze()
	if err != nil {
		return policy.StateName{}, err
	}
	digest, err := frozen.Digest()
	if err != nil {
		return policy.StateName{}, err
	}
	v := policy.StateName{Position: frozen.Position(), Digest: digest}
	n.mu.Lock()
	n.last = v
	n.mu.Unlock()
	return v, nil
}

// sharedSnapshots lets the downloads that run at once share the bytes of the snapshot.
type sharedSnapshots struct {
	log eventlog.Log

	mu   sync.Mutex // held while a snapshot is read
	open map[snapshotKey]*sharedSnapshot
}

// snapshotKey changes with every snapshot that is saved and with every compaction.
type snapshotKey struct{ first, snapshot uint64 }

// sharedSnapshot is a snapshot that is being sent.
type sharedSnapshot struct {
	eventlog.Snapshot
	readers int
}

// oldest returns the oldest snapshot of the log, and the function to call when its bytes are no
// longer needed. A snapshot with position 0 has no bytes.
func (s *sharedSnapshots) oldest(ctx context.Context) (v eventlog.Snapshot, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.log.Stats()
	key := snapshotKey{stats.First, stats.Snapshot}
	x := s.open[key]
	if x == nil {
		saved, err := s.log.OldestSnapshot(ctx)
		if err != nil {
			return saved, nil, err
		}
		x = &sharedSnapshot{Snapshot: saved}
		if s.open == nil {
			s.open = map[snapshotKey]*sharedSnapshot{}
		}
		s.open[key] = x
	}
	x.readers++
	return x.Snapshot, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.readers--; x.readers == 0 {
			delete(s.open, key)
		}
	}, nil
}
