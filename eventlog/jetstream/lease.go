package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// LeaseTime is how long a lease lasts that its holder does not keep: Hold is called several times
// meanwhile.
const LeaseTime = 2 * time.Second

const leaseKey = "holder"

// silenceTime is how long a holder goes on with a lease whose bucket does not answer, if the stream
// of the log does: as long as some elections take.
const silenceTime = 30 * time.Second

// contactTime is how long ago a server that leads has heard of another one at most, if it reaches
// it: their heartbeats are a second apart.
const contactTime = 3 * time.Second

// Lease is a lease in a key-value bucket of the log's servers, which ends after [LeaseTime] without
// its holder. The term is the revision of the key when the holder took it, which grows for ever.
//
// The servers drop the key by their own clock. One who waits for the lease also takes it when he
// has seen the same revision for LeaseTime, since that clock may be set back.
//
// The bucket elects a leader of its own. While it has none, nobody can take the lease, and its
// holder keeps it if the stream answers: an election of the bucket does not end the appends. The
// others then wait for LeaseTime if they could not take it meanwhile, so that the holder goes
// first, whose key the servers may have dropped. Should the bucket be out of reach for the holder
// alone, the log refuses what it appends once another one leads.
type Lease struct {
	o     Options
	wire  *wire
	id    string // of this process
	lasts time.Duration

	mu       sync.Mutex
	keys     js.KeyValue
	term     uint64 // 0 unless this process holds the lease
	revision uint64 // of the key
	seen     uint64 // the revision of another holder that was seen last
	// unchanged ends when another holder has not kept the lease in time, silence when the holder
	// has been without the bucket for too long.
	unchanged, silence limit
	settling           int // attempts that are left to let the servers lead as they should
	kept               int // how many times the holder has kept the lease

	// blocked says that the lease could not be taken for want of an answer. Once the bucket has a
	// leader again, who held the lease goes first, for as long as first lasts.
	blocked bool
	first   limit
}

// limit is a length of time. It is over before it has begun.
type limit struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// begin begins the time, again if it has begun.
func (l *limit) begin(d time.Duration) {
	l.end()
	l.ctx, l.cancel = context.WithTimeout(context.Background(), d)
}

// end ends the time.
func (l *limit) end() {
	if l.cancel != nil {
		l.cancel()
	}
}

// over reports whether the time is over.
func (l *limit) over() bool { return l.ctx == nil || l.ctx.Err() != nil }

var (
	_ eventlog.Lease      = (*Lease)(nil)
	_ eventlog.LeaseClock = (*Lease)(nil)
)

// held is the value of the key. The term is 0 in the first revision of a holder, whose number it
// is.
type held struct {
	Holder string `json:"holder"`
	ID     string `json:"id"`
	Term   uint64 `json:"term,omitempty"`
}

// NewLease returns the lease of the writer of a log. It connects when it is used.
func NewLease(o Options) (*Lease, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Lease{o: o, id: rand.Text(), lasts: LeaseTime}, nil
}

// Close ends the connection. It does not release the lease, which ends by itself.
func (s *Lease) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unchanged.end()
	s.silence.end()
	s.first.end()
	if s.wire != nil {
		s.wire.conn.Close()
	}
}

// bucket finds or makes the bucket. The caller holds mu.
func (s *Lease) bucket(ctx context.Context) (err error) {
	if s.wire == nil {
		limit, cancel := context.WithTimeout(ctx, s.o.Timeout)
		defer cancel()
		if s.wire, err = dial(limit, s.o); err != nil {
			return err
		}
	}
	if s.keys == nil {
		s.keys, err = bucket(ctx, s.wire, s.o, false, "lease", js.KeyValueConfig{
			Description: "which node of a noregret service appends to its log", TTL: s.lasts,
		})
	}
	return err
}

// Hold implements [eventlog.Lease].
func (s *Lease) Hold(ctx context.Context, holder string) (eventlog.Tenure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.bucket(ctx); err != nil {
		return eventlog.Tenure{}, s.failed(err)
	}
	if s.term > 0 {
		err := s.keep(ctx, holder)
		if err == nil {
			s.settle(ctx)
		}
		if err == nil || !errors.Is(err, js.ErrKeyExists) && s.goesOn(ctx) {
			return eventlog.Tenure{Term: s.term, Holder: holder, Held: true}, nil
		}
		if !errors.Is(err, js.ErrKeyExists) { // perhaps it was kept: the next call finds out
			return eventlog.Tenure{}, s.failed(err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	const tries = 3 // a holder may end, or another one begin, between two requests
	var err error
	for range tries {
		var now held
		var revision uint64
		if now, revision, err = s.look(ctx); err != nil {
			return eventlog.Tenure{}, s.failed(err)
		}
		if revision > 0 && now.ID == s.id { // this process took it or kept it, without an answer
			s.term, s.revision = now.Term, revision
			err = s.keep(ctx, holder)
		} else {
			s.term, s.revision = 0, 0
			switch may := (revision == 0 || s.over(revision)) && s.mayTake(ctx); {
			case !may && revision > 0:
				return eventlog.Tenure{Term: now.Term, Holder: now.Holder}, nil
			case !may:
				return eventlog.Tenure{}, s.failed(errWaits)
			}
			err = s.take(ctx, holder, revision)
			s.blocked = err != nil && !errors.Is(err, js.ErrKeyExists)
		}
		if err == nil {
			return eventlog.Tenure{Term: s.term, Holder: holder, Held: true}, nil
		}
		if !errors.Is(err, js.ErrKeyExists) {
			break
		}
	}
	return eventlog.Tenure{}, s.failed(err)
}

// over reports whether another holder has not kept the lease in time, since this process has seen
// the revision for the first time.
func (s *Lease) over(revision uint64) bool {
	if revision != s.seen {
		s.seen = revision
		s.unchanged.begin(s.lasts)
	}
	return s.unchanged.over()
}

// errWaits is the error of a process that leaves the lease to who held it before.
var errWaits = errors.New("its bucket had no leader: who held it goes first")

// mayTake reports whether the process may take a lease that nobody keeps.
func (s *Lease) mayTake(ctx context.Context) bool {
	if s.blocked && s.wire.leads(ctx, s.stream(), func(string) bool { return true }) {
		s.blocked = false
		s.first.begin(s.lasts)
	}
	return !s.blocked && s.first.over()
}

// stream is the stream of the bucket.
func (s *Lease) stream() string { return "KV_" + s.keys.Bucket() }

// take takes the lease if the key has a revision, 0 for none.
func (s *Lease) take(ctx context.Context, holder string, revision uint64) error {
	b, err := json.Marshal(held{Holder: holder, ID: s.id})
	if err != nil {
		return err
	}
	if revision > 0 {
		revision, err = s.keys.Update(ctx, leaseKey, b, revision)
	} else {
		revision, err = s.keys.Create(ctx, leaseKey, b)
	}
	if err == nil {
		s.term, s.revision, s.kept = revision, revision, 0
		s.silence.begin(silenceTime)
	}
	return err
}

// goesOn reports whether the holder keeps the lease although the bucket does not answer: the stream
// does, and the server that leads it reaches a majority of its copies.
func (s *Lease) goesOn(ctx context.Context) bool {
	if s.silence.over() {
		return false
	}
	now, err := s.wire.look(ctx)
	if err != nil || now.cluster == nil {
		return err == nil
	}
	reached := 1 // itself
	for _, r := range now.cluster.Replicas {
		if !r.Offline && r.Active < contactTime {
			reached++
		}
	}
	return 2*reached > 1+len(now.cluster.Replicas)
}

// A holder makes settleMost attempts to let the servers lead as they should, and again each time
// that it has kept the lease settleEvery times: a server that ends or starts may move what is led.
const (
	settleMost  = 10
	settleEvery = 600 // some minutes
)

// settle lets the server beside the holder lead the stream, and another one the bucket.
func (s *Lease) settle(ctx context.Context) {
	if s.kept%settleEvery == 0 {
		s.settling = settleMost
	}
	s.kept++
	if s.o.Beside == "" || s.settling == 0 {
		return
	}
	s.settling--
	ctx, cancel := context.WithTimeout(ctx, s.lasts/4) // the lease must be kept again
	defer cancel()
	beside := func(server string) bool { return server == s.o.Beside }
	other := func(server string) bool { return server != s.o.Beside }
	log, bucket := s.wire.leads(ctx, s.o.Stream, beside), s.wire.leads(ctx, s.stream(), other)
	if log && bucket {
		s.settling = 0
	}
}

// leads reports whether a server leads a stream that may. If not, it asks for one that does.
func (w *wire) leads(ctx context.Context, stream string, may func(server string) bool) bool {
	var info js.StreamInfo
	if err := w.askOf(ctx, stream, "STREAM.INFO", "", &info); err != nil || info.Cluster == nil {
		return err == nil // a single server leads
	}
	if leader := info.Cluster.Leader; leader == "" || may(leader) {
		return leader != ""
	}
	for _, r := range info.Cluster.Replicas {
		if may(r.Name) && r.Current && !r.Offline {
			_ = w.stepDown(ctx, stream, r.Name) // the next attempt sees whether it did
			break
		}
	}
	return false
}

// keep makes the lease last for longer. The error matches js.ErrKeyExists if the key has another
// revision, or none.
func (s *Lease) keep(ctx context.Context, holder string) error {
	b, err := json.Marshal(held{Holder: holder, ID: s.id, Term: s.term})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	revision, err := s.keys.Update(ctx, leaseKey, b, s.revision)
	if err == nil {
		s.revision = revision
		s.silence.begin(silenceTime)
	}
	return err
}

// look returns who holds the lease; the revision is 0 if nobody does.
func (s *Lease) look(ctx context.Context) (now held, revision uint64, err error) {
	got, err := s.keys.Get(ctx, leaseKey)
	if errors.Is(err, js.ErrKeyNotFound) {
		return now, 0, nil
	}
	if err != nil {
		return now, 0, err
	}
	if err := json.Unmarshal(got.Value(), &now); err != nil {
		return now, 0, err
	}
	if now.Term == 0 {
		now.Term = got.Revision()
	}
	return now, got.Revision(), nil
}

// Now implements [eventlog.LeaseClock]: the time of the server that leads the bucket.
func (s *Lease) Now(ctx context.Context) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.bucket(ctx); err != nil {
		return time.Time{}, s.failed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	stream, err := s.wire.js.Stream(ctx, s.stream())
	if err != nil {
		return time.Time{}, s.failed(err)
	}
	return stream.CachedInfo().TimeStamp, nil
}

// Release implements [eventlog.Lease].
func (s *Lease) Release(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	err := s.keys.Delete(ctx, leaseKey, js.LastRevision(s.revision))
	s.term, s.revision = 0, 0
	if err != nil && !errors.Is(err, js.ErrKeyExists) {
		return s.failed(err)
	}
	return nil
}

func (s *Lease) failed(err error) error {
	return noregret.Errorf(noregret.Internal, place(s.o.Stream), "the lease: %w", err)
}
