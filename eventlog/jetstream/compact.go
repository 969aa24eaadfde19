package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
)

const (
	baseKey    = "base"
	nodePrefix = "node."
)

// entry is the value of a key of the nodes' bucket: the base of the log, or the latest snapshot of
// a node.
type entry struct {
	Position uint64 `json:"position"`
	Sequence uint64 `json:"sequence"`
	Sum      uint32 `json:"sum"`
}

func (e entry) point() point { return point{e.Position, e.Sequence, e.Sum} }

func entryOf(p point) entry { return entry{p.position, p.sequence, p.sum} }

// nodeKeys is the bucket of the nodes.
type nodeKeys struct {
	js.KeyValue
	place   string // names the log in errors
	timeout time.Duration
}

// get reads a key; the revision is 0 if there is none.
func (k nodeKeys) get(ctx context.Context, key string, value any) (revision uint64, err error) {
	got, err := k.lookUp(ctx, key, value)
	if got == nil {
		return 0, err
	}
	return got.Revision(), nil
}

// lookUp reads a key; the entry is nil if there is none, and after an error.
func (k nodeKeys) lookUp(ctx context.Context, key string, value any) (js.KeyValueEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	got, err := k.Get(ctx, key)
	if errors.Is(err, js.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, errorAt(k.place, noregret.Internal, "the bucket of the nodes: %w", err)
	}
	if err := json.Unmarshal(got.Value(), value); err != nil {
		return nil, damagedAt(k.place, "the key %s of the bucket of the nodes: %v", key, err)
	}
	return got, nil
}

// put writes a key that had a revision.
func (k nodeKeys) put(ctx context.Context, key string, value any, revision uint64) error {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if revision == 0 {
		_, err = k.Create(ctx, key, b) // also if it was there before
		return err
	}
	_, err = k.Update(ctx, key, b, revision)
	return err
}

// base reads up to where events were dropped, in as many tries as there are.
func (k nodeKeys) base(ctx context.Context, t *tries) (point, error) {
	for {
		var base entry
		_, err := k.get(ctx, baseKey, &base)
		if err == nil || noregret.CodeOf(err) != noregret.Internal || !t.again() {
			return base.point(), err
		}
	}
}

// readBase reads up to where events were dropped.
func (l *Log) readBase(ctx context.Context) error {
	t := l.tries(ctx)
	defer t.stop()
	base, err := l.keys.base(ctx, t)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rebase(base)
	return nil
}

// rebase notes a base, which never becomes less. The caller holds mu.
func (l *Log) rebase(base point) {
	if base.position > l.base.position {
		l.base = base
	}
}

// Compact implements [eventlog.Snapshotter]. It drops what every node has a snapshot of, and so at
// most as much as the slowest one allows: the rest is dropped by a later call. If the bucket has no
// snapshot of it, it puts the latest one of this node there.
func (l *Log) Compact(ctx context.Context, upTo uint64) error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	err, base, latest := l.writable(), l.base.position, uint64(0)
	if n := len(l.snapshots); n > 0 {
		latest = l.snapshots[n-1]
	}
	l.mu.Unlock()
	switch {
	case err != nil:
		return err
	case upTo > latest:
		return noregret.Errorf(noregret.Usage, "compact",
			"position %d: it must be at most %d, that of the latest snapshot", upTo, latest)
	case upTo <= base:
		return nil
	}
	if err := l.cover(ctx, upTo, latest); err != nil {
		return err
	}
	upTo, err = l.slowest(ctx, upTo)
	if err != nil || upTo <= base {
		return err
	}
	c := cursor{next: upTo}
	m, err := l.at(ctx, &c)
	if err != nil {
		return err
	}
	if err := l.drop(ctx, point{upTo, m.sequence, m.sum}, m.last()); err != nil {
		return l.fail(err)
	}
	return nil
}

// slowest returns the position up to which all nodes have snapshots, at most the given one.
func (l *Log) slowest(ctx context.Context, upTo uint64) (uint64, error) {
	names, err := l.nodeNames(ctx)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		var latest entry
		revision, err := l.keys.get(ctx, nodePrefix+name, &latest)
		if err != nil {
			return 0, err
		}
		if name != l.node && revision > 0 { // it may have been forgotten meanwhile
			upTo = min(upTo, latest.Position)
		}
	}
	return upTo, nil
}

// drop drops the events up to a base, which is in a message that ends at a position: first the base
// is written, by which readers know that nothing is lost, then the stream drops whole messages, but
// never its last one. After an error it may have happened.
func (l *Log) drop(ctx context.Context, base point, ends uint64) error {
	t := l.tries(ctx)
	defer t.stop()
	for {
		err := l.dropOnce(ctx, base, ends)
		if err == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.rebase(base)
			return nil
		}
		if !t.again() {
			return l.errorf(noregret.Internal, "dropping events: %w", err)
		}
	}
}

func (l *Log) dropOnce(ctx context.Context, base point, ends uint64) error {
	var now entry
	revision, err := l.keys.get(ctx, baseKey, &now)
	if err != nil {
		return err
	}
	if now.Position < base.position {
		if err := l.wire.change(func() error { return l.keys.put(ctx, baseKey, entryOf(base), revision) }); err != nil {
			return err
		}
	}
	l.mu.Lock()
	l.rebase(base)
	first := base.sequence // the first message that stays
	if ends == base.position && base.sequence < l.last.sequence {
		first++
	}
	l.mu.Unlock()
	return l.wire.change(func() error {
		var ok struct{}
		return l.wire.purge(ctx, first, &ok)
	})
}

// tell tells the other nodes up to where this one has a snapshot, and so could begin. If that fails
// they keep events for longer.
func (l *Log) tell(ctx context.Context, at point) {
	key := nodePrefix + l.node
	var now entry
	if revision, err := l.keys.get(ctx, key, &now); err == nil && (revision == 0 || now.Position < at.position) {
		_ = l.keys.put(ctx, key, entryOf(at), revision)
	}
}
