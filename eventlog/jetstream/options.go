package jetstream

import (
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/noregret/noregret"
)

// Options say which stream a log is, and where this node keeps its own files.
type Options struct {
	// Servers are the addresses of the servers, as nats://HOST:PORT. All of them should be named:
	// the client goes on with another one when one ends.
	Servers []string
	// Stream is the name of the stream, of letters, digits, - and _. The log's buckets have names
	// that begin with it.
	Stream string
	// Dir is the directory of this node: the mark of what it has seen, its snapshots, its name. It
	// belongs to the stream.
	Dir string
	// Replicas is the number of copies that the stream has: 3, or 1 for a single server, whose loss
	// is that of the log. It must be that of a stream that exists.
	Replicas int
	// Connect are further options of the connections: credentials, TLS, names.
	Connect []nats.Option
	// Beside is the name of the server that ends with this process, as it runs in it; "" for none.
	// While the process holds the lease, it asks now and then that this server leads the stream, if
	// it has a copy, and another one the bucket of the lease: then the end of another process stops
	// nothing, and that of this one costs one election rather than two.
	Beside string
	// Timeout bounds one attempt to append or read, Patience all attempts together, which go on
	// while the servers elect a leader. After that the log fails, and Reopen is tried.
	Timeout, Patience time.Duration
	// Poll is the time between two looks for events of other nodes, which are looked for at once
	// when their writer tells of them.
	Poll time.Duration
}

// DefaultOptions returns options for three copies, attempts of one second and the patience of half
// a minute: an election takes up to 10 seconds.
func DefaultOptions() Options {
	return Options{
		Servers: []string{nats.DefaultURL}, Replicas: 3, Timeout: time.Second, Patience: 30 * time.Second,
		Poll: 250 * time.Millisecond,
	}
}

// Validate returns an error that names the first option out of its range.
func (o Options) Validate() error {
	bad := func(format string, args ...any) error {
		return noregret.Errorf(noregret.Usage, "jetstream.Options", format, args...)
	}
	name := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	}
	switch {
	case len(o.Servers) == 0 || slices.Contains(o.Servers, ""):
		return bad("Servers has no address: want nats://HOST:PORT")
	case o.Stream == "" || len(o.Stream) > 64 || strings.ContainsFunc(o.Stream, name):
		return bad("Stream is %.80q: it must be 1 to 64 letters, digits, - and _", o.Stream)
	case o.Dir == "":
		return bad("Dir is empty: this node needs a directory of its own")
	case o.Replicas != 1 && o.Replicas != 3 && o.Replicas != 5:
		return bad("Replicas is %d: it must be 3 or 5, or 1 for a single server", o.Replicas)
	case o.Timeout < time.Millisecond || o.Patience < time.Millisecond || o.Poll < time.Millisecond:
		return bad("Timeout %v, Patience %v, Poll %v: each must be at least 1ms", o.Timeout, o.Patience, o.Poll)
	}
	return nil
}
