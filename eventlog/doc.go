// Package eventlog is a durable, totally ordered log of opaque events, on which a service's state
// is a pure fold.
//
// # Use
//
//	log, err := eventlog.OpenDisk(nil, "data/log", eventlog.DefaultOptions())
//	first, last, err := log.Append(ctx, eventlog.Event{Kind: "feedback", Time: now, Payload: data})
//	for record, err := range log.Read(ctx, 1) { ... }      // to the end
//	for record, err := range log.Tail(ctx, last+1) { ... } // and on, waiting
//	err = log.SaveSnapshot(ctx, last, state)               // shortens the next fold
//	err = log.Compact(ctx, last)                           // drops the events that it covers
//
// The interface [Log] is composed of [Appender], [Reader] and [Snapshotter], so that code can ask
// for the part that it needs. [Disk] implements Log in a directory. It is a [Store] that is opened
// again after the disk has failed. Package memlog implements it in memory, for tests, and
// package jetstream in a replicated stream: the interface needs one total order, positions without
// gaps and several readers, and nothing specific to a disk. What concerns files stays outside it:
// [Check], [Repair] and [OpenReadOnly].
//
// The log has no clock and no randomness: the caller sets an event's time, and all relevant bytes
// on disk are a function of the appends.
//
// # What it promises
//
//   - Order. Positions are 1, 2, 3, ... without gaps, in the order in which appends are acknowledged: an
//     append that begins after another has returned has higher positions. The events of one append are
//     adjacent, and the log holds all of them or none.
//   - Durability. When Append returns nil, the events have been written and flushed. They survive kill
//     -9 and the loss of power, provided that the disk keeps what it reports as flushed. Readers see
//     only durable events.
//   - Group commit. Appends that arrive while the disk is being flushed share the next flush: the more
//     callers, the fewer flushes per event. Options bound the size of a group and of the queue; callers
//     wait while the queue is full.
//   - Failure is final. After the first failed write or flush nothing more is written, and every call
//     returns [ErrFailed] with the cause. After a failed flush the content of the disk is uncertain; the
//     log must be opened again, which finds what was kept: [Log].Health tells of the failure, and Reopen
//     ends it. An append that failed may be in
//     the log as a whole. [OpenReadOnly] reads a log on a disk that is full or read-only.
//   - Damage is detected. Every record holds its position, its checksum and that of the previous record.
//     A flipped bit, a missing or repeated position or a truncated file is reported when the log is
//     opened, or at the latest by the reader that reaches it, as [ErrDamaged] with the position and the
//     problem. Checksums are CRC-32C: they detect accidents, not forgery.
//   - One writer. AppendAt names the position that its first event must get. If another writer has
//     appended, it appends nothing and returns [ErrFenced]. If these very events are at these positions
//     already, it succeeds, so that an append with an unknown outcome can be repeated.
//
// Append, without a position, does not recognise repeated appends: a caller that retries a failed
// one may append twice. Events that must count once carry an identity of their own (a token; source
// and sequence number), which the fold checks. It must do so anyway, as a client may also send the
// same event twice.
//
// # Checking and repairing
//
// [Check] reads everything and changes nothing. [Repair] truncates the log before the first damage
// or, if an intact snapshot covers the damage, keeps the events after the snapshot. It works even
// if pebble cannot open its own files, since each record can be recognised by its bytes alone. It
// drops acknowledged events only if the caller allows it, counts them, and sets the old files
// aside.
//
// [Export] and [Import] write and read the events as JSON lines.
//
// # On disk
//
// A directory holds the pebble store "events", the snapshots, and the file "mark", which records
// the last acknowledged position. DESIGN.md explains the design, docs/formats/log.md the formats.
package eventlog
