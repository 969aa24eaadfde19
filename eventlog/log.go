package eventlog

import (
	"context"
	"errors"
	"io"
	"iter"
)

// Event is what a caller appends. It is opaque to the log.
type Event struct {
	// Kind is the type of the payload: 1 to 64 bytes of letters, digits and . _ - /
	Kind string
	// Time is set by the caller, by convention in nanoseconds since the Unix epoch. The log reads
	// no clock and does not require times to increase.
	Time int64
	// Payload may be any bytes, including none. Append does not retain the slice.
	Payload []byte
}

// Record is an event in the log.
type Record struct {
	// Position is the event's place in the total order: 1 for the first event ever appended, and
	// one more for each that follows.
	Position uint64
	Event
}

// Snapshot is the state of a fold over the events 1 to Position.
type Snapshot struct {
	// Position is that of the last event in the state. It is 0 without a snapshot.
	Position uint64
	// State is opaque to the log.
	State []byte
}

// Appender appends events to a log.
type Appender interface {
	// Append adds the events to the end of the log, in order, without others between them, all or
	// none. It returns the positions of the first and the last once they are durable: after a nil
	// error they survive kill -9 and power loss. After an error other than one of code usage the
	// log holds either all of the events or none. If ctx ends while the events are queued, they are
	// removed; once they are being written, Append waits for the outcome. Append is safe for
	// concurrent use.
	Append(ctx context.Context, events ...Event) (first, last uint64, err error)
	// AppendAt is Append for a log with one writer: the events become those from position first on,
	// or it returns [ErrFenced] and has appended nothing, because the log ends elsewhere. A writer
	// that another one has replaced thereby learns it before it can do harm.
	//
	// It may be repeated. If the log holds exactly these events at these positions, AppendAt
	// appends nothing and returns nil. So a writer whose append has an unknown outcome (it has
	// failed, or the connection broke off) opens the log again and calls AppendAt with the same
	// events and the same position: afterwards they are in the log once, or another writer's are.
	// Reading instead proves nothing in a replicated log, where the first attempt may still arrive.
	// A writer has one call in progress at a time: of two, the second could be appended behind a
	// foreign event that has taken the place of the first.
	AppendAt(ctx context.Context, first uint64, events ...Event) error
}

// Reader yields durable events in the order of their positions. Any number of readers may run
// concurrently with each other and with Append. A pair with an error is the last one and has a zero
// record.
type Reader interface {
	// Read yields the events from the given position to the end that the log had when the loop
	// began.
	Read(ctx context.Context, from uint64) iter.Seq2[Record, error]
	// Tail yields the events from the given position on and waits for more at the end. It ends with
	// ctx's error, or with [ErrClosed] when the log is closed.
	Tail(ctx context.Context, from uint64) iter.Seq2[Record, error]
}

// Snapshotter stores states, so that a fold need not begin at the first event.
type Snapshotter interface {
	// SaveSnapshot durably stores the state that covers the events up to position. It fails if the
	// position lies after the end of the log or before the latest snapshot. After a failure the log
	// goes on without the snapshot.
	SaveSnapshot(ctx context.Context, position uint64, state []byte) error
	// WriteSnapshot is SaveSnapshot for a state that write writes in pieces. If write returns an
	// error, nothing is stored and WriteSnapshot returns it.
	WriteSnapshot(ctx context.Context, position uint64, write func(state io.Writer) error) error
	// ReadSnapshot is LatestSnapshot for a state that read reads in pieces; read is not called if
	// the position is 0. It returns the error of read with the position.
	ReadSnapshot(ctx context.Context, read func(state io.Reader) error) (position uint64, err error)
	// LatestSnapshot returns the newest intact snapshot after which the log has all events, or one
	// with position 0 if there is none and the log has all events.
	LatestSnapshot(ctx context.Context) (Snapshot, error)
	// OldestSnapshot returns the state from which most of the log can be folded again: one with
	// position 0 if the log has all events, or else the oldest intact snapshot after which it has
	// all events.
	OldestSnapshot(ctx context.Context) (Snapshot, error)
	// OpenSnapshots returns the snapshots of OldestSnapshot and LatestSnapshot, in the order of
	// their positions: none, one or two. The caller closes them. Others can be saved meanwhile.
	OpenSnapshots(ctx context.Context) ([]*SavedSnapshot, error)
	// Compact drops the events up to the position. It fails if the position lies after the latest
	// snapshot.
	Compact(ctx context.Context, upTo uint64) error
}

// Log is a durable, totally ordered log of events. [Disk] implements it in a directory; a
// replicated log can do the same. A [Store] that has failed stays so.
type Log interface {
	Appender
	Reader
	Snapshotter
	// Stats returns the state and the counters of the log.
	Stats() Stats
	// Usage returns how much the log takes where it is stored, and how much room there is.
	Usage() (Usage, error)
	// Health returns nil if the log takes events as far as it knows, and otherwise why it does not:
	// [ErrFailed], [ErrReadOnly], [ErrGone] or [ErrClosed]. It does not wait.
	Health() error
	// Reopen ends a failure of which Health tells, if what the log is stored in works again;
	// otherwise the error is [ErrNotReady], and nothing has changed. After any other error the next
	// attempt may fail as well, and cost memory. Once it has returned nil, the log has all events
	// that were acknowledged, and the events of each append that failed are in it for good or never
	// will be: the caller reads what follows the last position that it knows, or repeats AppendAt.
	// Only the writer calls it.
	Reopen(ctx context.Context) error
	// Close closes the log. It completes queued appends first; later calls return ErrClosed.
	Close() error
}

// Stats is the state of a log. The counters begin at 0 when it is opened.
type Stats struct {
	// First and Last are the positions of the first and last event that can be read; First is
	// Last+1 if there are none.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Snapshot is the position of the latest snapshot, 0 without one.
	Snapshot uint64 `json:"snapshot"`
	// Appends counts successful calls of Append, Events their events, and Groups the commits they
	// shared, each of which is one flush of the disk.
	Appends uint64 `json:"appends"`
	Events  uint64 `json:"events"`
	Groups  uint64 `json:"groups"`
	// QueueBytes is the size of the waiting events.
	QueueBytes int64 `json:"queue_bytes"`
	// Largest is the largest payload of an event that fits into the log, in bytes: that of the
	// options, or less where what the log is stored in takes less.
	Largest int `json:"-"`
	// Failed is the failure that ended appending (see [ErrFailed]), or "".
	Failed string `json:"failed,omitempty"`
}

// Match these with errors.Is. The errors returned are of type *noregret.Error and say more.
var (
	// ErrClosed: the log is closed.
	ErrClosed = errors.New("the log is closed")
	// ErrFailed: a write or flush of the disk has failed. Acknowledged events are safe; nothing can
	// be appended or read until the log is opened again (see [Log].Reopen).
	ErrFailed = errors.New("the log has failed")
	// ErrFenced: AppendAt was called for a position that does not follow the last event: another
	// writer has appended to the log.
	ErrFenced = errors.New("the log does not end before the expected position: another writer appends to it")
	// ErrNotReady: what the log is stored in does not work yet, so that opening it was not tried.
	ErrNotReady = errors.New("what the log is stored in does not work")
	// ErrGone: what the log is stored in is not what was opened. What was appended last may be
	// lost.
	ErrGone = errors.New("what the log is stored in has been removed, renamed or replaced")
	// ErrReadOnly: the log takes no events, because it was opened by OpenReadOnly or its disk takes
	// no writes.
	ErrReadOnly = errors.New("the log is open for reading only")
	// ErrNoRoom: the disk has no room for a snapshot, or to drop events. The log goes on.
	ErrNoRoom = errors.New("too little room on the disk")
	// ErrCompacted: the position was dropped by Compact; begin with LatestSnapshot.
	ErrCompacted = errors.New("the position was compacted away")
	// ErrDamaged: stored bytes differ from those written. Check describes the damage, Repair
	// repairs it.
	ErrDamaged = errors.New("the log is damaged")
)
