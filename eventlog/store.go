package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog/internal/appendqueue"
)

// Store is the [Log] on one disk: pebble behind a file system that stops at the first failure. Open
// makes one. All methods are safe for concurrent use.
//
// One goroutine of its own writes the groups; pebble has some more. Close ends them all, unless the
// log has failed: pebble cannot be closed after a failure of the disk, so its goroutines stay until
// the process ends; its files and its lock are released in any case.
type Store struct {
	dir  string
	opts Options
	// readOnly: the log takes no changes.
	readOnly bool
	// begin, if above 0, is the position before the first one of a log that Create makes.
	begin uint64

	fs    *failStop
	lock  io.Closer
	db    *pebble.DB
	marks *markFile

	use      sync.RWMutex // held for reading while db is read, for writing by Close
	commitMu sync.Mutex   // held while a group is written, and by Compact
	snapMu   sync.Mutex   // held while snapshots change
	wait     sync.WaitGroup

	// queue has the appends that wait. It is stopped and closed with mu held, as cause and closing
	// are set.
	queue  *appendqueue.Queue[Event]
	failed chan struct{} // closed when cause is set

	mu        sync.Mutex
	cause     error
	closing   bool
	closed    chan struct{} // closed when closing is set
	grown     chan struct{} // closed and replaced when last grows
	base      mark
	last      mark
	snapshots []uint64 // positions, ascending
	stats     Stats
}

var _ Log = (*Store)(nil)

// The names in a log's directory.
const (
	lockName     = "LOCK"
	eventsName   = "events"
	snapshotName = "snapshots"
)

// Open opens the log in dir on fs (nil: the machine's disk), or creates one if there is none. It
// first reads without changing anything and returns [ErrDamaged] with a description if the log is
// damaged: see [Check] and [Repair]. It does not read all events; a reader that reaches a damaged
// event reports it, and so does Check.
func Open(fs FS, dir string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return start(newStore(fs, dir, o))
}

// start opens the log and begins to write.
func start(s *Store) (*Store, error) {
	if err := s.open(); err != nil {
		s.fail(err)
		_ = s.fs.abandon() // the first error is the one to return
		return nil, err
	}
	s.wait.Go(s.commit)
	return s, nil
}

// Create makes a log in dir that begins after the given position, 0 for the beginning, as if the
// events up to it had been compacted away: for an export whose first events are gone. The directory
// must be empty or new, or have a log that Create has made. Save the snapshot that covers those
// events before the log is closed; without one the log counts as damaged.
func Create(fs FS, dir string, after uint64, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := newStore(fs, dir, o)
	s.begin = after
	return start(s)
}

func newStore(fs FS, dir string, o Options) *Store {
	s := &Store{
		dir: dir, opts: o, queue: appendqueue.New[Event](o.QueueBytes),
		failed: make(chan struct{}), closed: make(chan struct{}), grown: make(chan struct{}),
	}
	s.fs = newFailStop(disk(fs), s.fail)
	return s
}

func (s *Store) path(name string) string { return s.fs.PathJoin(s.dir, name) }

func (s *Store) open() error {
	if err := makeDirs(s.fs, s.dir); err != nil {
		return s.ioError("making the directory", err)
	}
	lock, err := s.fs.Lock(s.path(lockName))
	if err != nil {
		return lockError(s.dir, err)
	}
	s.lock = lock
	found, err := readLayout(s.fs, s.dir)
	if err != nil {
		return err
	}
	if !found.store {
		if err := s.create(); err != nil {
			return err
		}
	} else if err := s.check(&found); err != nil {
		return err
	} else if !found.hasMark && s.last.position > 0 {
		return damaged(s.dir, nil, "%s; a repair writes a new one", lostMark)
	}
	if s.begin > 0 && s.base.position != s.begin {
		return noregret.Errorf(noregret.Usage, s.dir,
			"a log is here already: a log that begins at position %d needs a new directory", s.begin+1)
	}
	removeTemps(s.fs, s.dir)
	if s.db == nil {
		if s.db, err = s.pebble(false); err != nil {
			return s.ioError("opening the store", err)
		}
	}
	if found.hasMark {
		s.marks, err = openMark(s.fs, s.path(markFileName), found.slot)
	} else if err = createMark(s.fs, s.dir, s.last); err == nil {
		s.marks, err = openMark(s.fs, s.path(markFileName), 0)
	}
	if err != nil {
		return s.ioError("opening the mark file", err)
	}
	return openSnapshots(s)
}

// ioError returns the error for a failure of the machine while doing something.
func (s *Store) ioError(doing string, err error) error {
	return noregret.Errorf(noregret.Internal, s.dir, "%s: %w", doing, err)
}

func lockError(dir string, err error) error {
	return noregret.Errorf(noregret.Internal, dir, "the log is in use by another process or cannot be locked: %w", err)
}

// layout describes the content of a log's directory.
type layout struct {
	store   bool // pebble is there
	hasMark bool
	mark    mark
	slot    int64
}

// readLayout reads the directory. It returns an error if this is neither a log nor a place for a
// new one.
func readLayout(fs FS, dir string) (l layout, err error) {
	ioErr := func(err error) error {
		return noregret.Errorf(noregret.Internal, dir, "reading the directory: %w", err)
	}
	l.mark, l.slot, l.hasMark, err = readMark(fs, fs.PathJoin(dir, markFileName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return l, ioErr(err)
	}
	markThere := err == nil
	events := fs.PathJoin(dir, eventsName)
	names, err := fs.List(events)
	if errors.Is(err, os.ErrNotExist) {
		if names, err = nil, nil; markThere {
			return l, damaged(dir, nil, "the directory %s is missing", eventsName)
		}
	}
	if err != nil {
		return l, ioErr(err)
	}
	if names != nil {
		desc, err := pebble.Peek(events, fs)
		if err != nil {
			return l, ioErr(err)
		}
		l.store = desc.Exists
	}
	if !l.store && (markThere || holdsTables(fs, names)) {
		return l, damaged(dir, nil, "%s has lost the name of its manifest (marker.manifest.*)", eventsName)
	}
	if !l.store && len(names) == 0 {
		return l, refuseForeign(fs, dir)
	}
	return l, nil
}

func holdsTables(fs FS, names []string) bool {
	for _, n := range names {
		if isTable(n) {
			return true
		}
	}
	return false
}

// refuseForeign returns an error if the directory holds foreign files.
func refuseForeign(fs FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return noregret.Errorf(noregret.Internal, dir, "reading the directory: %w", err)
	}
	for _, n := range names {
		switch n {
		case lockName, eventsName, snapshotName, markFileName + tempSuffix:
		default:
			return noregret.Errorf(noregret.Usage, dir,
				"the directory holds %q and no log: use an empty or a new directory",
				n)
		}
	}
	return nil
}

// create makes an empty store.
func (s *Store) create() error {
	if err := makeDirs(s.fs, s.path(eventsName)); err != nil {
		return s.ioError("making the directory", err)
	}
	var err error
	if s.db, err = s.pebble(false); err != nil {
		return s.ioError("making the store", err)
	}
	if s.begin == 0 {
		return nil
	}
	base := mark{position: s.begin}
	err = s.guard(func() error { return s.db.Set(baseKey, encodeMark(baseMagic, base), pebble.Sync) })
	if err != nil {
		return s.ioError("making the store", err)
	}
	s.base, s.last = base, base
	return nil
}

// check verifies the log without changing a byte.
func (s *Store) check(l *layout) error {
	db, err := s.verify(l)
	if err != nil {
		return err
	}
	return s.guard(db.Close)
}

// verify opens the store to read it, reads both ends of the log and compares them with the mark.
func (s *Store) verify(l *layout) (*pebble.DB, error) {
	db, err := s.pebble(true)
	if err != nil {
		if fault := s.fs.readFault(); fault != nil {
			return nil, s.ioError("opening the store", fault)
		}
		return nil, damaged(s.dir, err, "the store cannot be opened: %s", firstLine(err))
	}
	err = s.guard(func() error {
		e, err := readEnds(db, s.dir)
		if err == nil && l.hasMark {
			err = e.verifyAgainst(db, s.dir, l.mark)
		}
		s.base, s.last = e.base, e.last
		if err != nil {
			err = errors.Join(err, db.Close())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return db, nil
}

// pebble opens the store.
func (s *Store) pebble(readOnly bool) (*pebble.DB, error) { return s.pebbleAt(eventsName, readOnly) }

func (s *Store) pebbleAt(name string, readOnly bool) (*pebble.DB, error) {
	var db *pebble.DB // a call that guard has abandoned may still set it
	err := s.guard(func() (err error) {
		db, err = pebble.Open(s.path(name), pebbleOptions(s.fs.forPebble(), s.opts.FlushBytes, readOnly, s.fail))
		return err
	})
	if err != nil {
		return nil, err
	}
	return db, nil
}

// pebbleOptions returns pebble's options for a log. Keys only grow, so tables never overlap and
// compaction in the background would gain nothing. Data are not compressed, so that records can be
// found in a table that pebble refuses to read.
func pebbleOptions(fs FS, flushBytes int, readOnly bool, fail func(error)) *pebble.Options {
	never := 1 << 20 // sublevels: tables overlap only for a moment, in Compact
	o := &pebble.Options{
		FS:                          fs,
		ReadOnly:                    readOnly,
		ErrorIfNotExists:            readOnly,
		FormatMajorVersion:          pebble.FormatWALSyncChunks,
		MemTableSize:                uint64(flushBytes),
		MemTableStopWritesThreshold: 4,
		DisableAutomaticCompactions: true,
		DisableTableStats:           true,
		L0CompactionThreshold:       never,
		L0StopWritesThreshold:       never,
		CacheSize:                   8 << 20,
		Logger:                      fatal{fail},
		EventListener: &pebble.EventListener{
			// The reader that meets the damage gets an error.
			DataCorruption: func(pebble.DataCorruptionInfo) {},
		},
	}
	for i := range o.Levels {
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	return o
}

// fatal is pebble's logger. pebble logs an error as fatal if it cannot continue, and expects the
// process to end; here the log fails and the goroutine blocks.
type fatal struct{ fail func(error) }

func (fatal) Infof(string, ...any)  {}
func (fatal) Errorf(string, ...any) {}
func (l fatal) Fatalf(format string, args ...any) {
	l.fail(fmt.Errorf(format, args...))
	blockForever()
}

// guard calls pebble on a goroutine of its own, because pebble does not return after a failure of
// the disk (see failStop): then guard returns the failure. What f writes must not be read after
// that.
func (s *Store) guard(f func() error) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("pebble: %v", r)
				s.fail(err)
			}
			done <- err
		}()
		err = f()
	}()
	select {
	case err := <-done:
		return err
	case <-s.failed:
		return s.failure()
	}
}

// fail makes the first failure of the log final.
func (s *Store) fail(err error) {
	s.mu.Lock()
	first := s.cause == nil
	if first {
		s.cause = err
		close(s.failed)
		s.queue.Stop(s.failureLocked())
	}
	s.mu.Unlock()
	if first {
		_ = s.fs.fail(err)
	}
}

// failure returns the error of all calls after the log has failed.
func (s *Store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failureLocked()
}

func (s *Store) failureLocked() error {
	return &noregret.Error{
		Code: noregret.Internal, Place: s.dir, Message: fmt.Sprintf("%v: %v", ErrFailed, s.cause),
		Err: errors.Join(ErrFailed, s.cause),
	}
}

// writable is usable for a change of the log.
func (s *Store) writable() error {
	err := s.usable()
	if err == nil && s.readOnly {
		err = noregret.Errorf(noregret.Internal, s.dir, "%w", ErrReadOnly)
	}
	return err
}

// usable returns an error if the log is closed or has failed. The caller holds s.mu.
func (s *Store) usable() error {
	switch {
	case s.closing:
		return noregret.Errorf(noregret.Usage, s.dir, "%w", ErrClosed)
	case s.cause != nil:
		return s.failureLocked()
	}
	return nil
}

// reading runs f and keeps Close waiting meanwhile.
func (s *Store) reading(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.use.RLock()
	defer s.use.RUnlock()
	s.mu.Lock()
	err := s.usable()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.guard(f)
}

// Stats implements [Log]. It may be called after Close.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.First, out.Last, out.QueueBytes = s.base.position+1, s.last.position, int64(s.queue.Bytes())
	out.Largest = s.opts.MaxEventBytes
	if n := len(s.snapshots); n > 0 {
		out.Snapshot = s.snapshots[n-1]
	}
	if s.cause != nil {
		out.Failed = s.cause.Error()
	}
	return out
}

// Close implements [Log]. It returns the failure of a log that has failed. A second call has no
// effect.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil
	}
	s.closing = true
	s.queue.Close(s.usable()) // first: whoever sees closed has its appends refused
	close(s.closed)
	s.mu.Unlock()
	s.wait.Wait()
	s.commitMu.Lock() // wait for a running Compact
	defer s.commitMu.Unlock()
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	s.use.Lock()
	defer s.use.Unlock()
	s.mu.Lock()
	failed := s.cause != nil
	s.mu.Unlock()
	if !failed {
		err := s.guard(func() error {
			err := s.db.Close()
			if !s.readOnly {
				err = errors.Join(err, s.marks.close())
			}
			return errors.Join(err, s.lock.Close())
		})
		if err != nil {
			s.fail(err)
			failed = true
		}
	}
	if failed {
		_ = s.fs.abandon() // the failure is the error to return
		return s.failure()
	}
	return nil
}
