package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/server/internal/web"
)

// readLimit bounds how many heavy reads (reports, explanations, optima) are computed at once, so
// that readers leave processors to decisions and to the writer. A read holds its place while it
// computes and writes its answer into memory, not while the answer is sent. Then the place rests
// for as long as the read took: readers have half of the places' time at most, and the writer,
// which waits for the state's lock while a report is computed, the other half. A nil readLimit has
// no bound.
type readLimit struct {
	places chan struct{}
	wait   time.Duration // for a place
	// now and after are those of package time; only tests replace them.
	now   func() time.Time
	after func(d time.Duration, f func())
}

func newReadLimit(most int, wait time.Duration) *readLimit {
	return &readLimit{
		places: make(chan struct{}, most), wait: wait, now: time.Now,
		after: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
}

// A place rests after reads of leastRest or longer, for a restShare of the wait at most.
const (
	leastRest = time.Millisecond
	restShare = 4
)

// errReads is the error of a read that got no place in time.
var errReads = errors.New("too many reports are being computed")

// acquire waits for a place until ctx ends and returns the function that gives it back.
func (l *readLimit) acquire(ctx context.Context) (release func(), err error) {
	release, err = l.acquireUnless(ctx, nil)
	return release, err
}

// acquireUnless is acquire, but it returns no release and no error once done is closed.
func (l *readLimit) acquireUnless(ctx context.Context, done <-chan struct{}) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	case l.places <- struct{}{}:
		return l.releaser(), nil
	default:
	}
	t := time.NewTimer(l.wait)
	defer t.Stop()
	select {
	case l.places <- struct{}{}:
		return l.releaser(), nil
	case <-done:
		return nil, nil
	case <-ctx.Done():
		return nil, web.Unavailable(errors.New("the request has ended"))
	case <-t.C:
		return nil, web.Unavailable(errReads)
	}
}

// releaser returns the function that gives back a place which is taken now.
func (l *readLimit) releaser() func() {
	begin := l.now()
	return func() {
		if took := l.now().Sub(begin); took >= leastRest {
			l.after(min(took, l.wait/restShare), func() { <-l.places })
			return
		}
		<-l.places
	}
}

// sharedReads lets requests for the same answer that wait for a place share one computation, which
// begins after each of them has arrived.
type sharedReads struct {
	limit *readLimit

	mu      sync.Mutex
	waiting map[string]*sharedRead // not begun
}

// sharedRead is an answer that requests wait for.
type sharedRead struct {
	readers int           // that wait for a place
	gzip    bool          // one of them takes it compressed
	done    chan struct{} // closed when text and err are set
	text    *web.Text
	err     error
}

func newSharedReads(limit *readLimit) *sharedReads {
	return &sharedReads{limit: limit, waiting: map[string]*sharedRead{}}
}

// join adds a request to those that wait for an answer.
func (s *sharedReads) join(key string, gzip bool) *sharedRead {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.waiting[key]
	if x == nil {
		x = &sharedRead{done: make(chan struct{})}
		s.waiting[key] = x
	}
	x.readers++
	x.gzip = x.gzip || gzip
	return x
}

// leave removes a request from those that wait for an answer. It reports whether nobody has begun
// to compute it; if begin is set, the request does so now.
func (s *sharedReads) leave(key string, x *sharedRead, begin bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[key] != x {
		return false
	}
	if x.readers--; begin || x.readers == 0 {
		delete(s.waiting, key)
	}
	return true
}

// do returns the answer with the given key, the JSON of what compute returns.
func (s *sharedReads) do(ctx context.Context, key string, gzip bool, compute func() (any, error)) (*web.Text, error) {
	x := s.join(key, gzip)
	release, err := s.limit.acquireUnless(ctx, x.done)
	if err != nil {
		if s.leave(key, x, false) || ctx.Err() != nil {
			return nil, err
		}
		release = nil // it is being computed
	}
	if release != nil {
		if s.leave(key, x, true) {
			s.compute(x, release, compute)
		} else {
			release()
		}
	}
	select {
	case <-x.done:
		return x.text, x.err
	case <-ctx.Done():
		return nil, web.Unavailable(errors.New("the request has ended"))
	}
}

// compute computes an answer and gives the place back.
func (s *sharedReads) compute(x *sharedRead, release func(), compute func() (any, error)) {
	x.err = errors.New("the report cannot be computed") // a panic leaves it
	defer func() {
		release()
		close(x.done)
	}()
	v, err := compute()
	if err != nil {
		x.err = err
		return
	}
	b, err := web.EncodeJSON(v)
	if x.err = err; err != nil {
		return
	}
	x.text = web.NewText(b)
	if x.gzip {
		x.text.Prepare()
	}
}

// stateNamer computes the digest of the state, which costs as much as a snapshot, once at a time.
// Requests that wait share a computation that began after they arrived.
type stateNamer struct {
	public bool          // names by what is public
	busy   chan struct{} // holds a value during a computation

	mu   sync.Mutex
	last api.StateName // the latest result
}

func newStateNamer(public bool) *stateNamer {
	return &stateNamer{public: public, busy: make(chan struct{}, 1)}
}

// known returns the latest result if it covers the position.
func (n *stateNamer) known(position uint64) (api.StateName, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last, n.last.Digest != "" && n.last.Position >= position
}

// name returns the position and the digest of a state that covers the given position. freeze copies
// the present state.
func (n *stateNamer) name(ctx context.Context, position uint64,
	freeze func() (*experiment.Frozen, error),
) (api.StateName, error) {
	if v, ok := n.known(position); ok {
		return v, nil
	}
	select {
	case n.busy <- struct{}{}:
		defer func() { <-n.busy }()
	case <-ctx.Done():
		return api.StateName{}, web.Unavailable(errors.New("the digest of the state was not computed in time"))
	}
	if v, ok := n.known(position); ok {
		return v, nil
	}
	frozen, err := freeze()
	if err != nil {
		return api.StateName{}, err
	}
	of, at := frozen.Digest, frozen.Position()
	if n.public {
		of, at = frozen.PublicDigest, frozen.PublicPosition()
	}
	digest, err := of()
	if err != nil {
		return api.StateName{}, err
	}
	v := api.StateName{Position: at, Digest: digest}
	n.mu.Lock()
	n.last = v
	n.mu.Unlock()
	return v, nil
}

// sharedSnapshots lets the downloads that run at once share the bytes of the snapshot.
type sharedSnapshots struct {
	log eventlog.Log

	mu   sync.Mutex // held while a snapshot is read
	open map[snapshotKey]*sharedSnapshot
}

// snapshotKey changes with every snapshot that is saved and with every compaction.
type snapshotKey struct{ first, snapshot uint64 }

// sharedSnapshot is a snapshot that is being sent.
type sharedSnapshot struct {
	eventlog.Snapshot
	readers int
}

// oldest returns the oldest snapshot of the log, and the function to call when its bytes are no
// longer needed. A snapshot with position 0 has no bytes.
func (s *sharedSnapshots) oldest(ctx context.Context) (v eventlog.Snapshot, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.log.Stats()
	key := snapshotKey{stats.First, stats.Snapshot}
	x := s.open[key]
	if x == nil {
		saved, err := s.log.OldestSnapshot(ctx)
		if err != nil {
			return saved, nil, err
		}
		x = &sharedSnapshot{Snapshot: saved}
		if s.open == nil {
			s.open = map[snapshotKey]*sharedSnapshot{}
		}
		s.open[key] = x
	}
	x.readers++
	return x.Snapshot, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.readers--; x.readers == 0 {
			delete(s.open, key)
		}
	}, nil
}
