package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/internal/logtest"
)

// A log in a stream keeps the contract of all logs.
func TestContract(t *testing.T) {
	h, n := newHost(t), 0
	logtest.Run(t, func(t testing.TB) logtest.Bed {
		n++
		b := &bed{t: t, host: h, options: h.options(t, fmt.Sprint("log", n))}
		b.failed.Store(int64(n))         // in every second bed the first change that fails is made
		t.Cleanup(func() { b.Crash(1) }) // of a history that was given up
		return b
	})
}

// bed is a stream and the directory of a node.
type bed struct {
	t       testing.TB
	host    *host
	options Options
	log     *Log
	opened  []byte // the mark when the log was opened

	// left counts the changes before the one that fails, which is the first at 1. 0: none fails.
	left    atomic.Int64
	lasting atomic.Bool
	met     atomic.Bool
	failed  atomic.Int64
}

// Open implements [logtest.Bed].
func (b *bed) Open(o eventlog.Options) (eventlog.Log, error) {
	b.options.Connect = []nats.Option{nats.InProcessServer(b.host.server)}
	log, err := Open(context.Background(), b.options, o)
	if err != nil {
		return nil, err
	}
	log.wire.change = b.change
	b.log = log
	b.opened, err = os.ReadFile(filepath.Join(b.options.Dir, markName))
	return log, err
}

// change lets the change that was chosen fail. Every second one that fails is made all the same:
// its answer was lost.
func (b *bed) change(apply func() error) error {
	if b.left.Load() == 0 || b.left.Add(-1) > 0 {
		return apply()
	}
	if b.met.Store(true); b.lasting.Load() {
		b.left.Store(1)
	}
	if b.failed.Add(1)%2 == 0 {
		_ = apply() // perhaps a refusal, of which nobody hears either
	}
	return errors.New("no answer")
}

// Crash implements [logtest.Bed]. It is a kill, or a loss of the node's power after which the mark
// is older.
func (b *bed) Crash(seed uint64) {
	if b.log == nil {
		return
	}
	if err := b.log.kill(false); err != nil {
		b.t.Error(err)
	}
	if seed%3 == 0 {
		if err := os.WriteFile(filepath.Join(b.options.Dir, markName), b.opened, 0o600); err != nil {
			b.t.Error(err)
		}
	}
}

// Break implements [logtest.Bed]. An append is one change here, and many on a disk: so few changes
// as the kit lets pass there seldom come together.
func (b *bed) Break(n int, lasting bool) {
	b.left.Store(0)
	b.lasting.Store(lasting)
	b.met.Store(false)
	b.left.Store(int64(n+2) / 3)
}

// Met implements [logtest.Bed].
func (b *bed) Met() bool { return b.met.Load() }

// Keep implements [logtest.Bed]: the servers lose what came later, and keep the stream.
func (b *bed) Keep() (back func()) {
	kept, files := b.t.TempDir(), b.host.files(b.options.Stream)
	b.host.stop()
	copyFiles(b.t, files, kept)
	b.host.start(b.t)
	return func() {
		b.host.stop()
		copyFiles(b.t, kept, files)
		b.host.start(b.t)
	}
}

// Verify implements [logtest.Bed].
func (b *bed) Verify(ctx context.Context, _ bool) error {
	err := fs.WalkDir(os.DirFS(b.options.Dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.Contains(path, ".tmp") {
			return fmt.Errorf("a temporary file is left: %s", path)
		}
		return err
	})
	return errors.Join(err, b.chain(ctx))
}

// chain checks that the messages of the stream follow each other.
func (b *bed) chain(ctx context.Context) error {
	w, err := dial(ctx, b.options)
	if err != nil {
		return err
	}
	defer w.conn.Close()
	s, err := w.look(ctx)
	if err != nil {
		return err
	}
	var last *message
	for next := max(s.first, 1); next <= s.last; {
		raws, err := w.fetch(ctx, next, fetchMost)
		if err != nil {
			return err
		}
		if len(raws) == 0 {
			return fmt.Errorf("message %d of %d is missing", next, s.last)
		}
		for _, r := range raws {
			m, err := decode(r.sequence, r.data)
			switch {
			case err != nil:
				return fmt.Errorf("message %d: %w", r.sequence, err)
			case m.sequence != next || last != nil && !m.follows(last.end()):
				return fmt.Errorf("message %d does not follow %d", m.sequence, next-1)
			}
			last = m
			next++
		}
	}
	return nil
}
