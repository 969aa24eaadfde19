package memlog

import (
	"bytes"
	"slices"

	"github.com/noregret/noregret/eventlog"
)

// sent is an append on its way.
type sent struct {
	first  uint64
	events []eventlog.Event
}

// Cut cuts the log's connection to the storage, or restores it. A log without one has no news: its
// readers wait at the last event that they know. Its changes fail; an append is on its way, and
// arrives with the connection if no other event has taken its place by then.
func (l *Log) Cut(cut bool) {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	if l.cut = cut; cut {
		return
	}
	if s := l.sent; s != nil && s.first == l.storage.last()+1 {
		l.storage.add(s.events)
	}
	l.sent = nil
	l.catchUp()
}

// catchUp shows the storage's events to the readers, unless the log has failed or has no
// connection. The caller holds the storage's mutex.
func (l *Log) catchUp() {
	if l.cause == "" && !l.cut {
		l.last = l.storage.last()
		l.wake()
	}
}

// change reports whether a change succeeds. The caller holds the storage's mutex.
func (l *Log) change() bool { return !l.cut && l.storage.change() }

// copyOf returns events that do not change with their payloads.
func copyOf(events []eventlog.Event) []eventlog.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].Payload = bytes.Clone(out[i].Payload)
	}
	return out
}
