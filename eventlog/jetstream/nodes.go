package jetstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// Node is a node that has said from where it could begin again: no later event is dropped.
type Node struct {
	Name string `json:"name"` // as the file "node" of its directory has it
	// Position is that of the node's latest snapshot, Told when the node saved it, by the servers'
	// clock.
	Position uint64    `json:"position"`
	Told     time.Time `json:"told"`
	// Here says that it is the node of Options.Dir.
	Here bool `json:"here,omitempty"`
}

// Nodes lists the nodes of the log in a stream, in the order of their names. Options.Dir may be "".
func Nodes(ctx context.Context, o Options) (nodes []Node, err error) {
	here := ""
	if o.Dir != "" {
		if here, err = ownName(o.Dir); err != nil {
			return nil, err
		}
	}
	err = insist(ctx, o, func(l *Log) error {
		nodes = nil
		names, err := l.nodeNames(ctx)
		for _, name := range names {
			var latest entry
			told, err := l.keys.lookUp(ctx, nodePrefix+name, &latest)
			if err != nil {
				return err
			}
			if told != nil { // it may have been forgotten meanwhile
				nodes = append(nodes, Node{
					Name: name, Position: latest.Position, Told: told.Created().UTC(), Here: name == here,
				})
			}
		}
		return err
	})
	return nodes, err
}

// nodeFile is the file of a node's directory that has its name.
const nodeFile = "node"

// ownName is the name of the node with a directory, "" if it has none yet.
func ownName(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, nodeFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", noregret.Errorf(noregret.Internal, dir, "%w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Forget removes a node that never returns from what [Log.Compact] waits for. If it does return, it
// begins with a snapshot of the bucket where its own are too old, and Compact waits for it again
// once it has saved one.
func Forget(ctx context.Context, o Options, name string) error {
	asked := false
	return insist(ctx, o, func(l *Log) error {
		names, err := l.nodeNames(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(names, name) {
			if asked {
				return nil // the answer was lost
			}
			return l.errorf(noregret.NotFound, "it knows no node %q: want one of %s", name, strings.Join(names, ", "))
		}
		ctx, cancel := context.WithTimeout(ctx, o.Timeout)
		defer cancel()
		asked = true
		if err := l.keys.Purge(ctx, nodePrefix+name); err != nil {
			return l.errorf(noregret.Internal, "the bucket of the nodes: %w", err)
		}
		return nil
	})
}

// visit calls a function with a log that was not opened: it has the stream and the buckets only.
func visit(ctx context.Context, o Options, use func(l *Log) error) error {
	return connect(ctx, o, func(l *Log, t *tries) error {
		if err := l.await(ctx, t); err != nil {
			return err
		}
		return use(l)
	})
}

// insist is visit, and calls the function again that got no answer: the buckets have leaders of
// their own, which servers that have just begun elect after that of the stream.
func insist(ctx context.Context, o Options, use func(l *Log) error) error {
	return connect(ctx, o, func(l *Log, t *tries) error {
		for {
			err := l.await(ctx, t)
			if err == nil {
				err = use(l)
			}
			if err == nil || noregret.CodeOf(err) != noregret.Internal || !t.again() {
				return err
			}
		}
	})
}

// connect calls a function with a log that has nothing but the connection.
func connect(ctx context.Context, o Options, use func(l *Log, t *tries) error) error {
	o.Dir = filepath.Join(o.Dir, "none")
	if err := o.Validate(); err != nil {
		return err
	}
	life, end := context.WithCancel(ctx)
	defer end()
	l := &Log{o: o, events: eventlog.DefaultOptions(), place: place(o.Stream), life: life, reads: true}
	t := l.tries(ctx)
	defer t.stop()
	var err error
	if l.wire, err = dial(t.limit, o); err != nil {
		return err
	}
	defer l.wire.conn.Close()
	return use(l, t)
}

// nodeNames returns the names of the nodes, in order.
func (l *Log) nodeNames(ctx context.Context) (names []string, err error) {
	list, cancel := context.WithTimeout(ctx, 10*l.o.Timeout)
	defer cancel()
	keys, err := l.keys.ListKeysFiltered(list, nodePrefix+"*")
	if err != nil {
		return nil, l.errorf(noregret.Internal, "the bucket of the nodes: %w", err)
	}
	defer func() { _ = keys.Stop() }() // it has ended
	for key := range keys.Keys() {
		names = append(names, strings.TrimPrefix(key, nodePrefix))
	}
	slices.Sort(names)
	return names, list.Err()
}
