// Package jetstream is a replicated log on NATS JetStream: an [eventlog.Log] in a stream, and its
// writer's [eventlog.Lease] in a key-value bucket.
//
//	o := jetstream.DefaultOptions()
//	o.Servers, o.Stream, o.Dir = servers, "noregret", "data/log"
//	log, err := jetstream.Open(ctx, o, eventlog.DefaultOptions())
//	lease, err := jetstream.NewLease(o)
//	tenure, err := lease.Hold(ctx, "http://10.0.0.1:8430")
//
// Several nodes open the same stream, each with a directory of its own. One of them appends at a
// time; the others see its events as they come.
//
// # Writing
//
// The events that wait together are one message, so that they are stored all or none. One message
// is in flight, and it is published with the number of the message that it must follow: of two
// writers one is refused, and [Log.AppendAt] tells it so. An attempt without an answer is repeated,
// with the same bytes and the same number, until there is one. That settles what has become of it;
// to read would not, as it may still be stored. If there is no answer for [Options].Patience, the
// log fails, and Reopen goes on with the same message.
//
// # Reading
//
// A read is answered by any replica, which may be behind, and which skips in silence what its disk
// has damaged. So every message names its positions and the checksum of the message before, and the
// reader asks again, and then the leader, before it says that the log is damaged. It never passes
// over a gap. What a node has seen and what the stream has may differ: [Log.Stats] tells of the
// former.
//
// # What is noticed
//
// The directory of each node has a mark: the last position that it has seen, its checksum, and when
// the stream was created. A stream that comes back shorter, with other messages or made again, as
// servers that do not flush each append do after a loss of the power, stops the node with an error
// that wraps [eventlog.ErrDamaged] and [eventlog.ErrGone]. The servers must flush each append
// (sync_interval: always), which a client cannot see.
//
// # Snapshots and dropped events
//
// Snapshots are files in the node's directory. The node that appends copies its own to a bucket,
// for nodes that begin without one. Another bucket has the position of each node's latest snapshot:
// [Log.Compact] drops no event that a node needs to start again.
package jetstream
