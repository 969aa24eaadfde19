package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret"
)

// gate counts the flushes of the write-ahead log and blocks them while it is shut.
type gate struct {
	mu      sync.Mutex
	opened  *sync.Cond
	shut    bool
	waiting int
	syncs   atomic.Int64
}

func newGate() *gate {
	g := &gate{}
	g.opened = sync.NewCond(&g.mu)
	return g
}

func (g *gate) String() string { return "gate" }

func (g *gate) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
	default:
		return nil
	}
	if !strings.HasSuffix(op.Path, ".log") {
		return nil
	}
	g.syncs.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting++
	g.opened.Broadcast()
	for g.shut {
		g.opened.Wait()
	}
	g.waiting--
	return nil
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.opened.Broadcast()
}

// await returns when a flush waits at the gate.
func (g *gate) await() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.waiting == 0 {
		g.opened.Wait()
	}
}

// until spins until other goroutines have made a condition true.
func until(s *Store, holds func(Stats) bool) {
	for !holds(s.Stats()) {
		yieldCPU()
	}
}

// Appends that arrive during a flush share the next one.
func TestAppendsShareFlushes(t *testing.T) {
	noLeaks(t)
	g := newGate()
	s := open(t, errorfs.Wrap(vfs.NewMem(), g))
	g.set(true)
	before := g.syncs.Load()
	const n = 100
	var wg sync.WaitGroup
	positions := make([]uint64, n)
	size := 0
	for i := range n {
		if size += recordSize(event(uint64(i))); i == 1 {
			g.await() // the first one is at the gate, the others must wait for it
		}
		wg.Go(func() {
			var err error
			if positions[i], _, err = s.Append(t.Context(), event(uint64(i))); err != nil {
				t.Error(err)
			}
		})
	}
	until(s, func(st Stats) bool { return st.QueueBytes == int64(size) })
	if st := s.Stats(); st.Last != 0 || st.Appends != 0 {
		t.Errorf("before the flush: %+v", st)
	}
	for r, err := range s.Read(t.Context(), 1) {
		t.Errorf("an event that is not durable was read: %+v, %v", r, err)
	}
	g.set(false)
	wg.Wait()
	if got := g.syncs.Load() - before; got != 2 {
		t.Errorf("%d appends took %d flushes of the disk, want 2", n, got)
	}
	if st := s.Stats(); st.Groups != 2 || st.Appends != n || st.Events != n || st.Last != n || st.QueueBytes != 0 {
		t.Errorf("after the flush: %+v", st)
	}
	seen := map[uint64]bool{}
	for i, p := range positions {
		if p < 1 || p > n || seen[p] {
			t.Errorf("append %d got position %d", i, p)
		}
		seen[p] = true
	}
	closeLog(t, s)
}

// A full queue blocks further appends. A context that ends removes events that are not being
// written yet, and no others.
func TestBackPressure(t *testing.T) {
	noLeaks(t)
	g := newGate()
	s, err := Open(errorfs.Wrap(vfs.NewMem(), g), "log",
		with(func(o *Options) {
			o.MaxEventBytes, o.GroupBytes, o.QueueBytes, o.FlushBytes = 1000, 2024, 5000, 1<<20
		}))
	if err != nil {
		t.Fatal(err)
	}
	g.set(true)
	big := Event{Kind: "big", Payload: make([]byte, 1000-recordHeader-3)} // 1000 bytes as a record
	errs := make(chan error, 7)
	for i := range 5 { // one is being written and four are queued: the queue is full
		go func() { _, _, err := s.Append(context.Background(), big); errs <- err }()
		if i == 0 {
			g.await()
		}
	}
	until(s, func(st Stats) bool { return st.QueueBytes == 5000 })
	ctx, cancel := context.WithCancelCause(t.Context())
	held := make(chan error, 1)
	go func() { _, _, err := s.Append(ctx, big); held <- err }()
	boom := errors.New("boom")
	cancel(boom)
	if err := <-held; !errors.Is(err, boom) || !strings.Contains(err.Error(), "nothing was appended") {
		t.Errorf("append to a full queue: %v", err)
	}
	if st := s.Stats(); st.QueueBytes != 5000 || st.Last != 0 {
		t.Errorf("%+v", st)
	}
	for range 2 { // these wait until the queue has space
		go func() { _, _, err := s.Append(context.Background(), big); errs <- err }()
	}
	g.set(false)
	for range 7 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if st := s.Stats(); st.Last != 7 || st.Groups < 4 {
		t.Errorf("%+v, want 7 events in groups of at most 2", st)
	}
	// Queued behind a group that is being written: removed.
	g.set(true)
	go func() { _, _, err := s.Append(context.Background(), big); errs <- err }()
	g.await()
	ctx, cancel = context.WithCancelCause(t.Context())
	go func() { _, _, err := s.Append(ctx, big); held <- err }()
	until(s, func(st Stats) bool { return st.QueueBytes == 2000 })
	cancel(boom)
	if err := <-held; !errors.Is(err, boom) {
		t.Errorf("a queued append whose context has ended: %v", err)
	}
	g.set(false)
	if err := <-errs; err != nil {
		t.Error(err)
	}
	closeLog(t, s)
	if st := s.Stats(); st.Last != 8 {
		t.Errorf("%+v, want the cancelled event not to be in the log", st)
	}
}

// Close completes waiting appends and rejects later ones.
func TestCloseFinishesAppends(t *testing.T) {
	noLeaks(t)
	g := newGate()
	mem := vfs.NewMem()
	s := open(t, errorfs.Wrap(mem, g))
	g.set(true)
	errs := make(chan error, 10)
	for i := range 10 {
		go func() { _, _, err := s.Append(context.Background(), event(uint64(i))); errs <- err }()
		if i == 0 {
			g.await()
		}
	}
	until(s, func(st Stats) bool { return st.QueueBytes == int64(10*recordSize(event(1))) })
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.closed
	if _, _, err := s.Append(t.Context(), event(1)); !errors.Is(err, ErrClosed) ||
		noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("append while closing: %v", err)
	}
	g.set(false)
	for range 10 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	s = open(t, mem)
	if st := s.Stats(); st.Last != 10 {
		t.Errorf("%+v, want 10 events", st)
	}
	closeLog(t, s)
}

// A failed write or flush is final: the failed append and all waiting and later ones return its
// cause.
func TestFailurePoisons(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpFileWrite, errorfs.OpFileSyncData, errorfs.OpFileWriteAt} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var armed atomic.Bool
			s := open(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				// The disk fails once and then works again.
				if op.Kind == kind && armed.CompareAndSwap(true, false) {
					return errorfs.ErrInjected
				}
				return nil
			})))
			appendN(t, s, 3)
			tailed := make(chan error, 1)
			go func() {
				for _, err := range s.Tail(context.Background(), 4) {
					tailed <- err
				}
			}()
			armed.Store(true)
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					_, _, err := s.Append(context.Background(), event(uint64(i)))
					if !errors.Is(err, ErrFailed) || !errors.Is(err, errorfs.ErrInjected) ||
						noregret.CodeOf(err) != noregret.Internal {
						t.Errorf("append: %v", err)
					}
				})
			}
			wg.Wait()
			if err := <-tailed; !errors.Is(err, ErrFailed) {
				t.Errorf("tail: %v", err)
			}
			if _, err := s.LatestSnapshot(t.Context()); !errors.Is(err, ErrFailed) {
				t.Errorf("snapshot: %v", err)
			}
			if st := s.Stats(); st.Last != 3 || !strings.Contains(st.Failed, "injected error") {
				t.Errorf("%+v", st)
			}
			if err := s.Close(); !errors.Is(err, ErrFailed) {
				t.Errorf("close: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close again: %v", err)
			}
			s = open(t, mem) // the lock was released
			got, err := readAll(s)
			if err != nil || len(got) < 3 {
				t.Errorf("%d events, %v", len(got), err)
			}
			closeLog(t, s)
		})
	}
}

// syncFaults fails the flushes of the disk from the n-th on.
type syncFaults struct{ left atomic.Int64 }

func (f *syncFaults) String() string { return "sync" }

func (f *syncFaults) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		if f.left.Add(-1) < 0 {
			return errorfs.ErrInjected
		}
	}
	return nil
}

// An append whose flush failed is never acknowledged. The log accepts no more events until it is
// opened again; then it has all acknowledged events, even if the disk kept only flushed data.
func TestFailedSync(t *testing.T) {
	for n := range int64(12) {
		mem := vfs.NewCrashableMem()
		f := &syncFaults{}
		f.left.Store(1 << 40)
		s, err := Open(errorfs.Wrap(mem, f), "log", smallOptions())
		if err != nil {
			t.Fatal(err)
		}
		appendN(t, s, 3)
		f.left.Store(n)
		acknowledged := uint64(3)
		for {
			_, last, err := s.Append(t.Context(), event(acknowledged+1))
			if err != nil {
				if !errors.Is(err, ErrFailed) || !errors.Is(err, errorfs.ErrInjected) {
					t.Fatalf("flush %d: %v", n, err)
				}
				break
			}
			acknowledged = last
		}
		if acknowledged != 3+uint64(n) {
			t.Errorf("flush %d failed, and %d appends were acknowledged", n, acknowledged)
		}
		f.left.Store(1 << 40) // the disk works again, but the failed log does not
		if _, _, err := s.Append(t.Context(), event(1)); !errors.Is(err, ErrFailed) {
			t.Errorf("flush %d: an append after the failure: %v", n, err)
		}
		if err := s.SaveSnapshot(t.Context(), 2, nil); !errors.Is(err, ErrFailed) {
			t.Errorf("flush %d: a snapshot after the failure: %v", n, err)
		}
		clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: seeded(uint64(n))})
		closeOrAbandon(s)
		s = mustOpen(t, clone)
		got, err := readAll(s)
		if err != nil || uint64(len(got)) < acknowledged {
			t.Errorf("flush %d: %d events, %v, but %d were acknowledged", n, len(got), err, acknowledged)
		}
		appendN(t, s, 2)
		closeLog(t, s)
	}
}
