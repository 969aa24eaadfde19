// Package eventlog is a durable, totally ordered log of opaque events, on which a service's state
// is a pure fold.
//
// # Use
//
//	log, err := eventlog.Open(nil, "data/log", eventlog.Options{})
//	first, last, err := log.Append(ctx, eventlog.Event{Kind: "feedback", Time: now, Payload: data})
//	for record, err := range log.Read(ctx, 1) { ... }      // to the end
//	for record, err := range log.Tail(ctx, last+1) { ... } // and on, waiting
//	err = log.SaveSnapshot(ctx, last, state)               // shortens the next fold
//	err = log.Compact(ctx, last)                           // drops the events that it covers
//
// [Log] is the interface, of [Appender], [Reader] and [Snapshotter], so that a part can be handed
// to who needs only that. [Store] implements it on one disk. A replicated log (NATS JetStream, say)
// can implement it too: one total order, positions without gaps, several readers, nothing in it
// that only a disk has.
//
// The log has no clock and draws nothing at random: an event's time is what the caller says, and
// the bytes on disk that matter are a function of the appends.
//
// # What it promises
//
//   - Order. Positions are 1, 2, 3, ... without a gap. They grow in the order in which appends are
//     acknowledged: an append that begins after another has returned comes behind it. The events of one
//     append stand together, and are there all or not at all.
//   - Durability. When Append returns nil, the events are on the disk: written and flushed. They survive
//     kill -9 and the loss of power, as far as the disk keeps what it says it has flushed. Readers see
//     only what is durable.
//   - Group commit. Appends that come while the disk is being flushed wait, and share the next flush:
//     the more callers, the fewer flushes an event. Options bound the size of a group and of the queue;
//     a full queue holds callers back.
//   - Failure is final. After the first write or flush that fails, nothing more is written, and every
//     call answers with [ErrFailed] and the cause. After a failed flush nobody knows what the disk
//     holds; the way on is a new process that opens the log again, which then shows what was kept. An
//     append that failed may be there, whole.
//   - Damage is named. Every record carries its position, a checksum and that of the record before. A
//     flipped bit, a missing or repeated position, a truncated file is found when the log is opened or
//     at the latest by the reader that comes to it, as [ErrDamaged] with the position and what is wrong.
//     Checksums are CRC-32C: they find accidents, not forgers.
//
// It does not tell a repeated append from a new one: who retries an append that failed may append
// twice. Events that must count once carry an identity of their own (a token; source and sequence
// number), which the fold looks at: it has to, as the same event may also come from a client twice.
//
// # Checking and repairing
//
// [Check] reads everything and changes nothing. [Repair] truncates the log before the first damage,
// or, where a whole snapshot covers the damage, keeps what follows the snapshot. It works even when
// pebble refuses its own files, as each record is known wherever its bytes stand. It drops
// acknowledged events only with leave, counts them, and sets the old files aside.
//
// [Export] and [Import] write and read the events as JSON lines.
//
// # On disk
//
// A directory holds the pebble store "events", the snapshots, and the file "mark", which says up to
// where the log was acknowledged. DESIGN.md describes the formats and says why it is built so.
package eventlog
