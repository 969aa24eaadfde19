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

// Lease is a lease in a key-value bucket of the log's servers, which ends by itself after
// [LeaseTime]. The term is the revision of the key when the holder took it, which grows for ever.
type Lease struct {
	o     Options
	wire  *wire
	id    string // of this process
	lasts time.Duration

	mu       sync.Mutex
	keys     js.KeyValue
	term     uint64 // 0 unless this process holds the lease
	revision uint64 // of the key
}

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
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if s.term > 0 {
		err := s.keep(ctx, holder)
		if err == nil {
			return eventlog.Tenure{Term: s.term, Holder: holder, Held: true}, nil
		}
		if !errors.Is(err, js.ErrKeyExists) { // perhaps it was kept: the next call finds out
			return eventlog.Tenure{}, s.failed(err)
		}
	}
	const tries = 3 // a holder may end, or another one begin, between two requests
	var err error
	for range tries {
		var now held
		var revision uint64
		if now, revision, err = s.look(ctx); err != nil {
			return eventlog.Tenure{}, s.failed(err)
		}
		switch {
		case revision > 0 && now.ID == s.id: // this process took it or kept it, without an answer
			s.term, s.revision = now.Term, revision
			if err = s.keep(ctx, holder); err == nil {
				return eventlog.Tenure{Term: s.term, Holder: holder, Held: true}, nil
			}
		case revision > 0:
			s.term, s.revision = 0, 0
			return eventlog.Tenure{Term: now.Term, Holder: now.Holder}, nil
		default:
			s.term, s.revision = 0, 0
			var b []byte
			if b, err = json.Marshal(held{Holder: holder, ID: s.id}); err == nil {
				revision, err = s.keys.Create(ctx, leaseKey, b)
			}
			if err == nil {
				s.term, s.revision = revision, revision
				return eventlog.Tenure{Term: s.term, Holder: holder, Held: true}, nil
			}
		}
		if !errors.Is(err, js.ErrKeyExists) {
			break
		}
	}
	return eventlog.Tenure{}, s.failed(err)
}

// keep makes the lease last for longer. The error matches js.ErrKeyExists if the key has another
// revision, or none.
func (s *Lease) keep(ctx context.Context, holder string) error {
	b, err := json.Marshal(held{Holder: holder, ID: s.id, Term: s.term})
	if err != nil {
		return err
	}
	revision, err := s.keys.Update(ctx, leaseKey, b, s.revision)
	if err == nil {
		s.revision = revision
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
	stream, err := s.wire.js.Stream(ctx, "KV_"+s.keys.Bucket())
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
