package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// model is the expected state of the log: all events ever appended, and how many are certain.
type model struct {
	events []Event // events[i] is at position i+1
	sure   int     // number of acknowledged events
	groups []int   // ends of the appended batches, to detect torn ones
	base   uint64
	// The base of a failed Compact, which may have taken effect.
	maybeBase uint64
	snapshots map[uint64]string // certainly saved
	maybeSnap map[uint64]string
}

func newModel() *model {
	return &model{snapshots: map[uint64]string{}, maybeSnap: map[uint64]string{}}
}

// reconcile compares a freshly opened log with the model and resolves what was uncertain.
func (m *model) reconcile(s *Store) error {
	st := s.Stats()
	if st.Last < uint64(m.sure) || st.Last > uint64(len(m.events)) {
		return fmt.Errorf("it ends at %d, want %d (acknowledged) to %d (tried)", st.Last, m.sure, len(m.events))
	}
	if st.First != m.base+1 && st.First != m.maybeBase+1 {
		return fmt.Errorf("it begins at %d, want %d or %d", st.First, m.base+1, m.maybeBase+1)
	}
	torn := st.Last != 0
	for _, end := range m.groups {
		torn = torn && uint64(end) != st.Last
	}
	if torn {
		return fmt.Errorf("it ends at %d, inside a batch: %v", st.Last, m.groups)
	}
	m.events, m.sure = m.events[:st.Last], int(st.Last)
	for len(m.groups) > 0 && m.groups[len(m.groups)-1] > m.sure {
		m.groups = m.groups[:len(m.groups)-1]
	}
	m.base = st.First - 1
	m.maybeBase = m.base
	snap, err := s.LatestSnapshot(context.Background())
	if err != nil {
		return err
	}
	want, ok := m.snapshots[snap.Position]
	if maybe, ok2 := m.maybeSnap[snap.Position]; ok2 && string(snap.State) == maybe {
		want, ok = maybe, true
	}
	if snap.Position > 0 && (!ok || want != string(snap.State)) {
		return fmt.Errorf("the snapshot at %d is %q, want %q", snap.Position, snap.State, want)
	}
	for p := range m.snapshots {
		if p > snap.Position {
			return fmt.Errorf("the latest snapshot is at %d, but one was saved at %d", snap.Position, p)
		}
	}
	m.snapshots, m.maybeSnap = map[uint64]string{}, map[uint64]string{}
	if snap.Position > 0 {
		m.snapshots[snap.Position] = string(snap.State)
	}
	return m.compare(s, m.base+1)
}

// compare reads the log from a position and compares it with the model.
func (m *model) compare(s *Store, from uint64) error {
	next := from
	for r, err := range s.Read(context.Background(), from) {
		if err != nil {
			return err
		}
		if r.Position != next || int(next) > len(m.events) {
			return fmt.Errorf("position %d, want %d of %d", r.Position, next, len(m.events))
		}
		want := m.events[next-1]
		if r.Kind != want.Kind || r.Time != want.Time || !bytes.Equal(r.Payload, want.Payload) {
			return fmt.Errorf("position %d is %+v, want %+v", next, r.Event, want)
		}
		next++
	}
	if int(next) != m.sure+1 {
		return fmt.Errorf("reading ended before %d, want before %d", next, m.sure+1)
	}
	return nil
}

func (m *model) batch(rng *rand.Rand) []Event {
	out := make([]Event, 1+rng.IntN(4))
	for i := range out {
		size := rng.IntN(40)
		if i == 0 && rng.IntN(10) == 0 {
			size = rng.IntN(40_000) // larger than a block of the write-ahead log
		}
		p := make([]byte, size)
		for j := range p {
			p[j] = byte(rng.Uint32())
		}
		out[i] = Event{Kind: []string{"a", "b/c", "feedback"}[rng.IntN(3)], Time: rng.Int64(), Payload: p}
	}
	return out
}

// smallOptions make pebble replace its files often.
func smallOptions() Options {
	return Options{
		MaxEventBytes: 50_000, GroupEvents: 4096, GroupBytes: 64_000, QueueBytes: 256_000, FlushBytes: 256_000,
		KeepSnapshots: 2,
	}
}

// faults fails the n-th change of the disk after it is armed: only that one or, like a dead disk,
// all later ones as well.
type faults struct {
	left   atomic.Int64 // 0: not armed
	forced bool
}

func (f *faults) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRemove || op.Kind == errorfs.OpFileClose ||
		op.Kind == errorfs.OpFilePreallocate {
		return nil
	}
	if f.left.Load() == 0 {
		return nil
	}
	switch n := f.left.Add(-1); {
	case n == 0:
		if f.forced {
			f.left.Store(1) // the next change, too
		}
		return errorfs.ErrInjected
	}
	return nil
}

func (f *faults) String() string { return "faults" }

// player runs a random history against the model.
type player struct {
	*testing.T
	seed     uint64
	rng      *rand.Rand
	mem      *vfs.MemFS
	faults   *faults
	log      *Store
	model    *model
	trace    []string
	clones   int
	injected int
}

func (p *player) did(format string, args ...any) {
	p.trace = append(p.trace, fmt.Sprintf(format, args...))
}

func (p *player) fatal(format string, args ...any) {
	p.Helper()
	p.Fatalf("seed %d after %s: %s", p.seed, strings.Join(p.trace, " "), fmt.Sprintf(format, args...))
}

// crash simulates a kill or a power loss and opens the remaining log.
func (p *player) crash() {
	p.clones++
	clone := p.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[p.rng.IntN(3)], RNG: p.rng})
	_ = p.log.Close()
	p.mem = clone
	p.open("after a crash")
}

func (p *player) open(when string) {
	*p.faults = faults{}
	var err error
	if p.log, err = Open(errorfs.Wrap(p.mem, p.faults), "log", smallOptions()); err != nil {
		p.fatal("open %s: %v", when, err)
	}
	if err := p.model.reconcile(p.log); err != nil {
		p.fatal("%s: %v", when, err)
	}
}

// step takes one random action and reports whether the log has failed.
func (p *player) step() (failed bool) {
	switch op := p.rng.IntN(100); {
	case op < 55:
		return p.append()
	case op < 63:
		from := p.model.base + 1 + uint64(p.rng.IntN(int(uint64(p.model.sure)-p.model.base+1)))
		p.did("read(%d)", from)
		err := p.model.compare(p.log, from)
		if failed = errors.Is(err, ErrFailed); err != nil && !failed {
			p.fatal("%v", err)
		}
	case op < 71:
		return p.snapshot()
	case op < 77:
		return p.compact()
	case op < 86:
		p.did("crash")
		p.crash()
	case op < 92:
		p.did("reopen")
		if p.log.Close() != nil {
			return true
		}
		if _, err := Check(p.Context(), p.mem, "log"); err != nil {
			p.fatal("check: %v", err)
		}
		p.open("after reopening")
	case p.faults.left.Load() == 0:
		n := 1 + p.rng.IntN(30)
		p.faults.forced = p.rng.IntN(2) == 0
		p.faults.left.Store(int64(n))
		p.did("fault(%d)", n)
		p.injected++
	}
	return failed
}

func (p *player) append() (failed bool) {
	m := p.model
	b := m.batch(p.rng)
	p.did("append(%d)", len(b))
	first, last, err := p.log.Append(p.Context(), b...)
	m.events = append(m.events, b...)
	m.groups = append(m.groups, len(m.events))
	if err != nil {
		if !errors.Is(err, ErrFailed) || !errors.Is(err, errorfs.ErrInjected) {
			p.fatal("append: %v", err)
		}
		return true
	}
	if first != uint64(m.sure+1) || last != uint64(m.sure+len(b)) {
		p.fatal("positions %d to %d, want %d to %d", first, last, m.sure+1, m.sure+len(b))
	}
	m.sure = len(m.events)
	return false
}

func (p *player) snapshot() (failed bool) {
	m, low := p.model, max(1, p.model.base)
	for at := range m.snapshots {
		low = max(low, at)
	}
	if int(low) > m.sure {
		return false
	}
	at := low + uint64(p.rng.IntN(m.sure-int(low)+1))
	state := fmt.Sprintf("state %d %d", at, p.rng.Uint32())
	p.did("snapshot(%d)", at)
	if err := p.log.SaveSnapshot(p.Context(), at, []byte(state)); err != nil {
		m.maybeSnap[at] = state
		if p.faults.left.Load() != 0 && !p.faults.forced {
			p.fatal("a snapshot failed, but the fault has not come yet: %v", err)
		}
		if left := temps(p, p.mem, "log"); len(left) > 0 {
			p.fatal("a snapshot that failed has left %v", left)
		}
		return p.log.Stats().Failed != "" // the log goes on, unless pebble has met the fault
	}
	m.snapshots[at] = state
	delete(m.maybeSnap, at)
	return false
}

func (p *player) compact() (failed bool) {
	m, top := p.model, uint64(0)
	for at := range m.snapshots {
		top = max(top, at)
	}
	if top <= m.base {
		return false
	}
	at := m.base + 1 + uint64(p.rng.IntN(int(top-m.base)))
	p.did("compact(%d)", at)
	m.maybeBase = at
	if p.log.Compact(p.Context(), at) != nil {
		return true
	}
	m.base = at
	return false
}

// history runs one random history against the model and returns its numbers of crash clones and
// faults.
func history(t *testing.T, seed uint64, steps int) (clones, injected int) {
	p := &player{T: t, seed: seed, rng: seeded(seed), mem: vfs.NewCrashableMem(), model: newModel(), faults: &faults{}}
	p.log = mustOpen(t, errorfs.Wrap(p.mem, p.faults))
	for range steps {
		if !p.step() {
			continue
		}
		p.did("failed")
		if p.faults.left.Load() != 0 && !p.faults.forced {
			p.fatal("a call failed, but the fault has not come yet: %+v", p.log.Stats())
		}
		if _, _, err := p.log.Append(t.Context(), event(1)); !errors.Is(err, ErrFailed) && !errors.Is(err, ErrClosed) {
			p.fatal("an append after the failure: %v", err)
		}
		p.crash()
	}
	*p.faults = faults{}
	closeOrAbandon(p.log)
	report, err := Check(t.Context(), p.mem, "log")
	if err != nil || report.Damaged() {
		p.fatal("check at the end: %v, %+v", err, report)
	}
	return p.clones, p.injected
}

func closeOrAbandon(s *Store) { _ = s.Close() }

func mustOpen(t testing.TB, fs FS) *Store {
	t.Helper()
	s, err := Open(fs, "log", smallOptions())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Random histories against the model: acknowledged events are neither lost nor repeated nor
// reordered, and batches that were not acknowledged are in the log as a whole or not at all. A
// failure names its seed.
func TestHistories(t *testing.T) {
	n := testsize.Of(40, 12)
	if full() {
		n = 1000
	}
	var clones, injected atomic.Int64
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for seed := w; seed < n && !t.Failed(); seed += 2 {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					c, i := history(t, uint64(seed), 80)
					clones.Add(int64(c))
					injected.Add(int64(i))
				})
			}
		})
	}
	wg.Wait()
	t.Logf("%d histories, %d crash clones, %d faults", n, clones.Load(), injected.Load())
}

func seeded(seed uint64) *rand.Rand { return rand.New(random.New(seed, "eventlog")) }
