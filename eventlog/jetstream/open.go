package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/internal/appendqueue"
	"github.com/noregret/noregret/internal/atomicfile"
)

// oldest is the first version of the server that flushes every append of a stream if it is told to.
const oldestMajor, oldestMinor = 2, 15

// Open opens the log in a stream, or makes the stream with the first node that asks for it. It
// waits for the servers as long as Options.Patience says. If the stream is not what this node has
// seen, the error wraps [eventlog.ErrDamaged] and [eventlog.ErrGone].
func Open(ctx context.Context, o Options, events eventlog.Options) (*Log, error) {
	return start(ctx, o, events, func(*Log) {})
}

// Create makes a log that begins after a position, for the events and the snapshots of another log
// that has dropped those before. The stream must be new, or begun by such a call that was
// interrupted. After position 0 it is Open. Snapshots that are saved go to the bucket at once, as
// other nodes cannot begin without one.
func Create(ctx context.Context, o Options, after uint64, events eventlog.Options) (*Log, error) {
	return start(ctx, o, events, func(l *Log) { l.begins = after })
}

// OpenReadOnly opens the log in a stream for reading. It makes neither the stream nor buckets, and
// what changes the log returns [eventlog.ErrReadOnly]. Without Options.Dir it keeps its files in a
// temporary directory until it is closed, and knows nothing of what was there before.
func OpenReadOnly(ctx context.Context, o Options, events eventlog.Options) (*Log, error) {
	temporary := ""
	if o.Dir == "" {
		var err error
		if temporary, err = os.MkdirTemp("", "noregret-stream-"); err != nil {
			return nil, noregret.Errorf(noregret.Internal, place(o.Stream), "%w", err)
		}
		o.Dir = temporary
	}
	log, err := start(ctx, o, events, func(l *Log) { l.reads, l.temporary = true, temporary })
	if err != nil && temporary != "" {
		err = errors.Join(err, os.RemoveAll(temporary))
	}
	return log, err
}

// start opens the log that a function has prepared.
func start(ctx context.Context, o Options, events eventlog.Options, prepare func(*Log)) (*Log, error) {
	if err := errors.Join(o.Validate(), events.Validate()); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	l := &Log{
		o: o, events: events, place: place(o.Stream), life: life, end: end, changed: make(chan struct{}),
		queue: appendqueue.New[eventlog.Event](events.QueueBytes), drained: make(chan struct{}),
		hint: hinted{told: make(chan struct{}, 1)},
	}
	prepare(l)
	if l.reads {
		l.queue.Close(l.writable())
	}
	if err := l.open(ctx); err != nil {
		end()
		if l.wire != nil {
			l.wire.conn.Close()
		}
		if l.marks != nil {
			err = errors.Join(err, l.marks.file.Close())
		}
		if l.lock != nil {
			err = errors.Join(err, l.lock.Release())
		}
		return nil, err
	}
	go l.write()
	l.ended.Go(l.followStream)
	return l, nil
}

// open makes the log ready.
func (l *Log) open(ctx context.Context) (err error) {
	for _, dir := range []string{l.o.Dir, filepath.Join(l.o.Dir, snapshotDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return noregret.Errorf(noregret.Internal, l.o.Dir, "%w", err)
		}
	}
	if l.lock, err = atomicfile.Hold(filepath.Join(l.o.Dir, "lock")); err != nil {
		return err
	}
	if l.node, err = nodeName(l.o.Dir); err != nil {
		return err
	}
	wait := l.tries(ctx)
	defer wait.stop()
	if l.wire, err = dial(wait.limit, l.o); err != nil {
		return err
	}
	if err := l.suits(); err != nil {
		return err
	}
	if err := l.await(ctx, wait); err != nil {
		return err
	}
	if l.begins > 0 {
		if err := l.beginAfter(ctx); err != nil {
			return err
		}
	}
	if _, err = l.wire.conn.Subscribe(l.wire.hint(), l.hint.hear); err != nil {
		return l.errorf(noregret.Internal, "%w", err)
	}
	for {
		// A server that has just begun may say that the stream is shorter than it is. A node that
		// has seen nothing of it learns so from the snapshots only.
		err := l.findEnds(ctx)
		if err == nil {
			err = l.findSnapshots(ctx)
		}
		if err == nil || !errors.Is(err, eventlog.ErrGone) || !wait.again() {
			return err
		}
	}
}

// await finds the stream and the bucket of the nodes as soon as the servers answer.
func (l *Log) await(ctx context.Context, wait *tries) error {
	for {
		err := l.find(ctx)
		if err == nil || noregret.CodeOf(err) != noregret.Internal || !wait.again() {
			return err
		}
	}
}

// nodeName returns the name of the node with a directory, which it gets at first.
func nodeName(dir string) (string, error) {
	name, err := ownName(dir)
	if err != nil || name != "" {
		return name, err
	}
	name = rand.Text()
	if err := atomicfile.WritePrivate(filepath.Join(dir, nodeFile), []byte(name+"\n")); err != nil {
		return "", err
	}
	return name, nil
}

// suits checks that the server can hold the log.
func (l *Log) suits() error {
	version, most := l.wire.conn.ConnectedServerVersion(), l.wire.conn.MaxPayload()
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d.", &major, &minor); n < 2 || major < oldestMajor ||
		major == oldestMajor && minor < oldestMinor {
		return l.errorf(noregret.Usage, "the server has version %q: want %d.%d or newer, which keep what "+
			"they acknowledge with sync_interval: always", version, oldestMajor, oldestMinor)
	}
	// The leader's answer holds a message in base64.
	if need := min(int64(l.events.GroupBytes)*4/3+64<<10, 8<<20); most < need {
		return l.errorf(noregret.Usage, "max_payload of the server is %d: want %d or more, for groups of "+
			"%d bytes", most, need, l.events.GroupBytes)
	}
	l.largest = min(l.events.GroupBytes, int(most-64<<10)/4*3)
	return nil
}

// config is that of the stream. It has no limits, as these would drop what nobody has read, and it
// lets nobody delete a message.
func (l *Log) config() js.StreamConfig {
	return js.StreamConfig{
		Name: l.o.Stream, Subjects: []string{l.wire.subject()}, Storage: js.FileStorage, Replicas: l.o.Replicas,
		AllowDirect: true, DenyDelete: true, Discard: js.DiscardNew,
		Description: "the log of a noregret service: do not change, do not delete",
	}
}

// find finds the stream and the bucket of the nodes, or makes them.
func (l *Log) find(ctx context.Context) error {
	state, err := l.wire.look(ctx)
	if errors.Is(err, errNoStream) {
		if _, err := os.Stat(filepath.Join(l.o.Dir, markName)); err == nil {
			return l.lost("there is no such stream, and this node has seen it")
		}
		if l.reads {
			return l.errorf(noregret.NotFound, "%w", err)
		}
		if err := l.make(ctx); err != nil {
			return l.errorf(noregret.Internal, "making it: %w", err)
		}
		state, err = l.wire.look(ctx)
	}
	if err != nil {
		return l.errorf(noregret.Internal, "%w", err)
	}
	if err := l.check(state.config); err != nil {
		return err
	}
	l.created, l.firstSeq = state.created, max(state.first, 1)
	keys, err := bucket(ctx, l.wire, l.o, l.reads, "nodes", js.KeyValueConfig{
		Description: "what the nodes of a noregret service have of its log",
	})
	if err != nil {
		return l.errorf(noregret.Internal, "the bucket of the nodes: %w", err)
	}
	l.keys = nodeKeys{keys, l.place, l.o.Timeout}
	return nil
}

// make makes the stream.
func (l *Log) make(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*l.o.Timeout) // the servers elect a leader for it
	defer cancel()
	_, err := l.wire.js.CreateStream(ctx, l.config())
	return err
}

// bucket finds a bucket of the log, or makes it unless it must exist. A server that has just
// started may lose a request without an answer, so that it asks again after a while.
func bucket(ctx context.Context, w *wire, o Options, exists bool, name string, c js.KeyValueConfig) (js.KeyValue,
	error,
) {
	ctx, cancel := context.WithTimeout(ctx, 10*o.Timeout)
	defer cancel()
	c.Bucket, c.Replicas, c.Storage = o.Stream+"-"+name, o.Replicas, js.FileStorage
	for {
		attempt, end := context.WithTimeout(ctx, o.Timeout)
		keys, err := w.js.KeyValue(attempt, c.Bucket)
		end()
		switch {
		case errors.Is(err, js.ErrBucketNotFound) && !exists:
			return w.js.CreateKeyValue(ctx, c)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			continue
		}
		return keys, err
	}
}

// check returns an error that says how a stream differs from what the log needs.
func (l *Log) check(c js.StreamConfig) error {
	want := l.config()
	for _, d := range []struct {
		what      string
		got, want any
	}{
		{"subjects", c.Subjects, want.Subjects},
		{"storage", c.Storage, want.Storage},
		{"replicas", c.Replicas, want.Replicas},
		{"allow_direct", c.AllowDirect, true},
		{"deny_delete", c.DenyDelete, true},
		{"discard", c.Discard, want.Discard},
		{"retention", c.Retention, js.LimitsPolicy},
		{"sources and mirror", len(c.Sources) > 0 || c.Mirror != nil, false},
		{"max_age", c.MaxAge, want.MaxAge},
		{"max_bytes", max(c.MaxBytes, 0), int64(0)},
		{"max_msgs", max(c.MaxMsgs, 0), int64(0)},
		{"max_msgs_per_subject", max(c.MaxMsgsPerSubject, 0), int64(0)},
		{"sealed", c.Sealed, false},
		{"persist_mode", c.PersistMode, want.PersistMode},
	} {
		if fmt.Sprint(d.got) != fmt.Sprint(d.want) {
			return l.errorf(noregret.Usage, "%s of the stream is %v: want %v; it is no log of noregret, or "+
				"it was changed", d.what, d.got, d.want)
		}
	}
	return nil
}

// beginAfter notes that the log of a new stream begins after a position.
func (l *Log) beginAfter(ctx context.Context) error {
	state, err := l.wire.look(ctx)
	if err == nil {
		err = l.readBase(ctx)
	}
	switch {
	case err != nil:
		return l.errorf(noregret.Internal, "%w", err)
	case l.base == point{position: l.begins}: // this call is repeated
		return nil
	case state.last > 0 || l.base.position > 0:
		return l.errorf(noregret.Usage, "a log is here already, and it does not begin with position %d: want a new "+
			"stream", l.begins+1)
	}
	if err := l.keys.put(ctx, baseKey, entry{Position: l.begins}, 0); err != nil {
		return l.errorf(noregret.Internal, "the bucket of the nodes: %w", err)
	}
	return l.readBase(ctx)
}

// findEnds reads the last message and the first one, and compares the log with the mark. The leader
// that answers may have been deposed and be behind the mark, so it looks again.
func (l *Log) findEnds(ctx context.Context) error {
	t := l.tries(ctx)
	defer t.stop()
	for {
		err := l.readEnds(ctx)
		other := l.marks != nil && l.seen.created != l.created // which no look changes
		if err == nil || other || !t.again() {
			return err
		}
	}
}

func (l *Log) readEnds(ctx context.Context) error {
	state, err := l.wire.look(ctx)
	if err != nil {
		return l.errorf(noregret.Internal, "%w", err)
	}
	if err := l.readBase(ctx); err != nil {
		return err
	}
	end := point{}
	switch {
	case state.last == 0 && l.base.sequence > 0:
		return l.lost("it is empty, and the events up to %d were dropped from it", l.base.position)
	case state.last == 0:
		end = l.base // of a log that begins after a position
	default:
		found, err := l.messages(ctx, state.last, state.last)
		if err != nil {
			return l.missing(err, state.last)
		}
		end = found[0].end()
		if found, err = l.messages(ctx, max(state.first, 1), state.last); err != nil {
			return l.missing(err, state.first)
		}
		if first := found[0].first; first > l.base.position+1 {
			return l.damaged("it begins with position %d, and only the events up to %d were dropped on purpose", first,
				l.base.position)
		}
	}
	if l.marks == nil {
		if l.marks, l.seen, err = openMarks(l.o.Dir, mark{end, l.created}); err != nil {
			return err
		}
	}
	seen := l.seen
	switch {
	case seen.created != l.created:
		if end.position < seen.position {
			return l.lost("it ends at position %d, but %d was acknowledged", end.position, seen.position)
		}
		return l.otherStream(l.created, seen.created)
	case end.sequence < seen.sequence:
		return l.lost("it ends at position %d, but %d was acknowledged", end.position, seen.position)
	case seen.sequence >= max(state.first, 1) && seen.sequence > 0:
		found, err := l.messages(ctx, seen.sequence, seen.sequence)
		if err != nil {
			return l.missing(err, seen.sequence)
		}
		if got := found[0].end(); got != seen.point {
			return l.lost("message %d ends at position %d with the checksum %08x: this node has seen one that "+
				"ends at %d with %08x", got.sequence, got.position, got.sum, seen.position, seen.sum)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.firstSeq = end, max(state.first, 1)
	return l.writeMark(end)
}

// missing makes the error of a message at an end of the stream that is not there.
func (l *Log) missing(err error, sequence uint64) error {
	if errors.Is(err, errPurged) {
		return l.errorf(noregret.Internal, "message %s was dropped meanwhile",
			strconv.FormatUint(sequence, 10))
	}
	return err
}
