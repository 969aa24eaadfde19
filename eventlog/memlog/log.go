package memlog

import (
	"bytes"
	"context"
	"io"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// Log is a log in a [Storage]. Its methods are safe for concurrent use. All of its state is guarded
// by the storage's mutex.
type Log struct {
	storage *Storage
	options eventlog.Options
	closed  bool
	cause   string // why the log has failed, "" if it has not
	cut     bool   // without a connection to the storage
	sent    *sent  // an append that has no answer, nil for none
	last    uint64 // the last position that readers see
	stats   eventlog.Stats
	changed chan struct{} // closed when a reader that waits should look again
}

var _ eventlog.Log = (*Log)(nil)

// newLog returns a log that is open. The caller holds the storage's mutex.
func newLog(s *Storage, o eventlog.Options) *Log {
	return &Log{storage: s, options: o, last: s.last(), changed: make(chan struct{})}
}

// end closes the log. The caller holds the storage's mutex.
func (l *Log) end() {
	l.closed = true
	l.storage.open = slices.DeleteFunc(l.storage.open, func(o *Log) bool { return o == l })
	l.wake()
}

// wake lets readers look again. The caller holds the storage's mutex.
func (l *Log) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// fail notes a failure and returns its error. The caller holds the storage's mutex.
func (l *Log) fail(cause string) error {
	l.cause = cause
	l.wake()
	return l.usable()
}

// usable returns an error if the log is closed or has failed. The caller holds the storage's mutex.
func (l *Log) usable() error {
	switch {
	case l.closed:
		return noregret.Errorf(noregret.Usage, place, "%w", eventlog.ErrClosed)
	case l.cause != "":
		return noregret.Errorf(noregret.Internal, place, "%w: %s", eventlog.ErrFailed, l.cause)
	}
	return nil
}

// Append implements [eventlog.Appender].
func (l *Log) Append(ctx context.Context, events ...eventlog.Event) (first, last uint64, err error) {
	first, err = l.append(ctx, 0, events)
	if err != nil {
		return 0, 0, err
	}
	return first, first + uint64(len(events)) - 1, nil
}

// AppendAt implements [eventlog.Appender].
func (l *Log) AppendAt(ctx context.Context, first uint64, events ...eventlog.Event) error {
	if first == 0 {
		return noregret.Errorf(noregret.Usage, "append", "position 0: positions begin at 1")
	}
	_, err := l.append(ctx, first, events)
	return err
}

// append appends the events at a position, or at any if that is 0, and returns the first position.
func (l *Log) append(ctx context.Context, at uint64, events []eventlog.Event) (uint64, error) {
	if _, err := l.options.CheckEvents(events); err != nil {
		return 0, err
	}
	s := l.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, noregret.Errorf(noregret.Internal, "append", "nothing was appended: %w", context.Cause(ctx))
	}
	if err := l.usable(); err != nil {
		return 0, err
	}
	if l.cut {
		if at != 0 {
			l.sent = &sent{at, copyOf(events)}
		}
		return 0, l.fail("the connection is cut")
	}
	first := s.last() + 1
	if at != 0 && at != first {
		if l.holds(at, events) {
			return at, nil
		}
		return 0, noregret.Errorf(noregret.Internal, place, "%w: it ends at %d, the events are those from %d on",
			eventlog.ErrFenced, s.last(), at)
	}
	fails := !s.change()
	if fails {
		s.failed++
	}
	if fails {
		err := l.fail("a write has failed")
		if s.failed%2 == 0 {
			s.add(events)
		}
		return 0, err
	}
	s.add(events)
	s.mark = l.last
	l.stats.Appends, l.stats.Groups = l.stats.Appends+1, l.stats.Groups+1
	l.stats.Events += uint64(len(events))
	return first, nil
}

// holds reports whether the log has exactly these events at a position. The caller holds the
// storage's mutex.
func (l *Log) holds(at uint64, events []eventlog.Event) bool {
	s := l.storage
	if at <= s.base || at > s.last() || uint64(len(events)) > s.last()-at+1 {
		return false
	}
	for i, e := range events {
		r := s.records[at-s.base-1+uint64(i)]
		if r.Kind != e.Kind || r.Time != e.Time || !bytes.Equal(r.Payload, e.Payload) {
			return false
		}
	}
	return true
}

// Read implements [eventlog.Reader].
func (l *Log) Read(ctx context.Context, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		to, _, err := l.begin(ctx, from)
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		for at := from; at <= to; at++ {
			if !l.yield(ctx, at, yield) {
				return
			}
		}
	}
}

// Tail implements [eventlog.Reader].
func (l *Log) Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		to, changed, err := l.begin(ctx, from)
		for at := from; err == nil; {
			for ; at <= to; at++ {
				if !l.yield(ctx, at, yield) {
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
			to, changed, err = l.begin(ctx, at)
		}
		yield(eventlog.Record{}, err)
	}
}

// begin checks that reading can begin at a position. It returns the last position, and the channel
// that is closed when there is more.
func (l *Log) begin(ctx context.Context, from uint64) (last uint64, changed <-chan struct{}, err error) {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	switch err := ctx.Err(); {
	case err != nil:
		return 0, nil, err
	case l.usable() != nil:
		return 0, nil, l.usable()
	case from == 0 || from > l.last+1:
		return 0, nil, noregret.Errorf(noregret.Usage, place, "cannot read from position %d: it must be 1 to %d", from,
			l.last+1)
	}
	return l.last, l.changed, l.kept(from)
}

// kept returns an error if a position was dropped. The caller holds the storage's mutex.
func (l *Log) kept(at uint64) error {
	if base := l.storage.base; at <= base {
		return noregret.Errorf(noregret.NotFound, place, "%w: %d, the first is %d", eventlog.ErrCompacted, at, base+1)
	}
	return nil
}

// yield yields the event at a position, or an error, and reports whether to continue.
func (l *Log) yield(ctx context.Context, at uint64, yield func(eventlog.Record, error) bool) bool {
	r, err := l.record(ctx, at)
	return yield(r, err) && err == nil
}

// record returns a copy of the event at a position.
func (l *Log) record(ctx context.Context, at uint64) (r eventlog.Record, err error) {
	s := l.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = ctx.Err(); err == nil {
		err = l.usable()
	}
	if err == nil {
		err = l.kept(at)
	}
	if err == nil {
		r = s.records[at-s.base-1]
		r.Payload = append([]byte{}, r.Payload...)
	}
	return r, err
}

// SaveSnapshot implements [eventlog.Snapshotter].
func (l *Log) SaveSnapshot(ctx context.Context, position uint64, state []byte) error {
	s := l.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return err
	}
	latest := uint64(0)
	if n := len(s.snapshots); n > 0 {
		latest = s.snapshots[n-1].Position
	}
	if position > 0 && position < latest && len(s.open) > 1 {
		return nil // another log's is newer
	}
	if position > l.last || position < latest || position == 0 {
		return noregret.Errorf(noregret.Usage, "snapshot", "position %d: it must be %d to %d", position, max(latest, 1),
			l.last)
	}
	if !l.change() {
		return noregret.Errorf(noregret.Internal, place, "the snapshot could not be written")
	}
	if position == latest {
		s.snapshots = s.snapshots[:len(s.snapshots)-1]
	}
	s.snapshots = append(s.snapshots, eventlog.Snapshot{Position: position, State: bytes.Clone(state)})
	s.snapshots = slices.Clone(s.snapshots[max(0, len(s.snapshots)-l.options.KeepSnapshots):])
	return nil
}

// ready returns an error if ctx has ended or the log is not usable. The caller holds the storage's
// mutex.
func (l *Log) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.usable()
}

// WriteSnapshot implements [eventlog.Snapshotter].
func (l *Log) WriteSnapshot(ctx context.Context, position uint64, write func(state io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return l.SaveSnapshot(ctx, position, b.Bytes())
}

// ReadSnapshot implements [eventlog.Snapshotter].
func (l *Log) ReadSnapshot(ctx context.Context, read func(state io.Reader) error) (position uint64, err error) {
	snapshot, err := l.LatestSnapshot(ctx)
	if err != nil || snapshot.Position == 0 {
		return 0, err
	}
	return snapshot.Position, read(bytes.NewReader(snapshot.State))
}

// LatestSnapshot implements [eventlog.Snapshotter].
func (l *Log) LatestSnapshot(ctx context.Context) (eventlog.Snapshot, error) {
	return l.snapshot(ctx, func(s *Storage) (eventlog.Snapshot, bool) {
		if n := len(s.snapshots); n > 0 {
			return s.snapshots[n-1], true
		}
		return eventlog.Snapshot{}, false
	})
}

// OldestSnapshot implements [eventlog.Snapshotter].
func (l *Log) OldestSnapshot(ctx context.Context) (eventlog.Snapshot, error) {
	return l.snapshot(ctx, func(s *Storage) (eventlog.Snapshot, bool) {
		for _, n := range s.snapshots {
			if s.base > 0 && n.Position >= s.base {
				return n, true
			}
		}
		return eventlog.Snapshot{}, false
	})
}

// snapshot returns a copy of one of the snapshots, one with position 0 if choose finds none.
func (l *Log) snapshot(ctx context.Context, choose func(*Storage) (eventlog.Snapshot, bool)) (out eventlog.Snapshot,
	err error,
) {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return out, err
	}
	if found, ok := choose(l.storage); ok {
		out = eventlog.Snapshot{Position: found.Position, State: bytes.Clone(found.State)}
	}
	return out, nil
}

// OpenSnapshots implements [eventlog.Snapshotter].
func (l *Log) OpenSnapshots(ctx context.Context) (out []*eventlog.SavedSnapshot, err error) {
	oldest, err := l.OldestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := l.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if oldest.Position == newest.Position {
		oldest.Position = 0
	}
	for _, n := range []eventlog.Snapshot{oldest, newest} {
		if n.Position > 0 {
			state := &openState{from: bytes.NewReader(n.State), log: l}
			out = append(out, eventlog.NewSavedSnapshot(n.Position, int64(len(n.State)), state, state.close))
		}
	}
	return out, nil
}

// openState is the state of an open snapshot.
type openState struct {
	from   *bytes.Reader
	log    *Log
	closed atomic.Bool
}

// ReadAt implements [io.ReaderAt].
func (o *openState) ReadAt(b []byte, at int64) (int, error) {
	o.log.storage.mu.Lock()
	closed := o.log.closed || o.closed.Load()
	o.log.storage.mu.Unlock()
	if closed {
		return 0, noregret.Errorf(noregret.Usage, place, "the snapshot is closed")
	}
	return o.from.ReadAt(b, at)
}

func (o *openState) close() error {
	o.closed.Store(true)
	return nil
}

// Compact implements [eventlog.Snapshotter].
func (l *Log) Compact(ctx context.Context, upTo uint64) error {
	s := l.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return err
	}
	latest := uint64(0)
	if n := len(s.snapshots); n > 0 {
		latest = s.snapshots[n-1].Position
	}
	switch {
	case upTo > latest:
		return noregret.Errorf(noregret.Usage, "compact",
			"position %d: it must be at most %d, that of the latest snapshot", upTo, latest)
	case upTo <= s.base:
		return nil
	case !l.change():
		return l.fail("events could not be dropped")
	}
	s.records = slices.Clone(s.records[upTo-s.base:])
	s.base = upTo
	return nil
}

// Stats implements [eventlog.Log].
func (l *Log) Stats() eventlog.Stats {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	out := l.stats
	out.First, out.Last, out.Failed = l.storage.base+1, l.last, l.cause
	out.Largest = l.options.MaxEventBytes
	if n := len(l.storage.snapshots); n > 0 {
		out.Snapshot = l.storage.snapshots[n-1].Position
	}
	return out
}

// Usage implements [eventlog.Log]. Nothing bounds the storage.
func (l *Log) Usage() (u eventlog.Usage, err error) {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	const header = 33 // as on a disk
	for _, r := range l.storage.records {
		u.Bytes += int64(header + len(r.Kind) + len(r.Payload))
	}
	for _, n := range l.storage.snapshots {
		u.Bytes += int64(len(n.State))
	}
	return u, nil
}

// Health implements [eventlog.Log].
func (l *Log) Health() error {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	return l.usable()
}

// Reopen implements [eventlog.Log].
func (l *Log) Reopen(ctx context.Context) error {
	s := l.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	switch err := ctx.Err(); {
	case err != nil:
		return err
	case l.closed:
		return l.usable()
	case l.cause == "":
		return nil
	case !l.change():
		return noregret.Errorf(noregret.Internal, place, "%w", eventlog.ErrNotReady)
	}
	l.cause, l.last, l.stats = "", s.last(), eventlog.Stats{}
	s.mark = l.last
	l.wake()
	return nil
}

// Close implements [eventlog.Log].
func (l *Log) Close() error {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	if l.closed {
		return nil
	}
	err := l.usable()
	l.end()
	return err
}
