package eventlog

import (
	"context"
	"errors"
	"iter"
)

// Event is what a caller appends. The log does not look inside.
type Event struct {
	// Kind says what the payload is: 1 to 64 bytes of letters, digits and . _ - /
	Kind string
	// Time is handed in by the caller, in nanoseconds since the Unix epoch by convention. The log
	// reads no clock and does not ask that times grow.
	Time int64
	// Payload is any bytes, none too. Appending does not keep the slice.
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
	// Position is that of the last event the state has seen; 0 means that there is no snapshot.
	Position uint64
	// State is opaque to the log.
	State []byte
}

// Appender takes events.
type Appender interface {
	// Append puts the events at the end of the log, in their order and without others between them,
	// all or none, and returns the positions of the first and the last once they are durable: after
	// a nil error they survive kill -9 and power loss. After an error other than a refusal (code
	// usage) they may or may not be in the log, whole in either case. A context that ends before
	// the events are on their way takes them back; after that Append waits for the outcome. Safe
	// for concurrent use.
	Append(ctx context.Context, events ...Event) (first, last uint64, err error)
}

// Reader yields events in the order of their positions, only such as are durable. Any number of
// readers may run at once, and with Append. A pair with an error is the last one; the record beside
// it is zero.
type Reader interface {
	// Read yields the events from the given position to the end that the log had when the loop
	// began.
	Read(ctx context.Context, from uint64) iter.Seq2[Record, error]
	// Tail yields the events from the given position on and waits for more at the end. It ends with
	// ctx's error or when the log is closed ([ErrClosed]).
	Tail(ctx context.Context, from uint64) iter.Seq2[Record, error]
}

// Snapshotter keeps states, so that a fold need not begin at the first event.
type Snapshotter interface {
	// SaveSnapshot keeps the state that covers the events up to position, durably. It is refused
	// beyond the end of the log and before the latest snapshot.
	SaveSnapshot(ctx context.Context, position uint64, state []byte) error
	// LatestSnapshot returns the newest whole snapshot from which the log can go on, or one of
	// position 0 when there is none and all events are still there.
	LatestSnapshot(ctx context.Context) (Snapshot, error)
	// OldestSnapshot returns the state from which the most of the log can be folded again: none, of
	// position 0, when all events are there, or the oldest whole snapshot whose following events
	// are.
	OldestSnapshot(ctx context.Context) (Snapshot, error)
	// Compact drops the events up to the position. It is refused beyond the latest snapshot.
	Compact(ctx context.Context, upTo uint64) error
}

// Log is a durable, totally ordered log of events. [Store] implements it on one disk; a replicated
// log can do the same.
type Log interface {
	Appender
	Reader
	Snapshotter
	// Stats says how the log stands.
	Stats() Stats
	// Close ends the log: appends on their way are finished first, later calls answer ErrClosed.
	Close() error
}

// Stats is how a log stands. The counters count since it was opened.
type Stats struct {
	// First and Last are the positions of the first and last event that can be read; First is
	// Last+1 when there is none.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Snapshot is the position of the latest snapshot, 0 without one.
	Snapshot uint64 `json:"snapshot"`
	// Appends counts calls that succeeded, Events their events, Groups the commits they shared:
	// each is one flush of the disk.
	Appends uint64 `json:"appends"`
	Events  uint64 `json:"events"`
	Groups  uint64 `json:"groups"`
	// QueueBytes is the size of the events that wait.
	QueueBytes int64 `json:"queue_bytes"`
	// Failed is the failure that ended appending (see [ErrFailed]), "" for none.
	Failed string `json:"failed,omitempty"`
}

// Match these with errors.Is. The error itself is a *noregret.Error that says more.
var (
	// ErrClosed: the log is closed.
	ErrClosed = errors.New("the log is closed")
	// ErrFailed: a write or flush of the disk has failed. What was acknowledged is safe; nothing
	// can be appended or read until the log is opened again, in a new process for preference.
	ErrFailed = errors.New("the log has failed")
	// ErrCompacted: the position was dropped by Compact; begin with LatestSnapshot.
	ErrCompacted = errors.New("the position was compacted away")
	// ErrDamaged: stored bytes are not what was written. Check says what is wrong, Repair mends it.
	ErrDamaged = errors.New("the log is damaged")
)
