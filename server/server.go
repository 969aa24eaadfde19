package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/policy"
)

// Server is the decision service on one log. Make one with [New], serve its [Server.Handler], and
// end it with [Server.Close]. All methods are safe for concurrent use.
type Server struct {
	config  Config
	log     eventlog.Log
	signer  *policy.Signer
	auth    *auth
	metrics *metrics
	mux     *http.ServeMux
	handler http.Handler // mux, and what stands before it

	sessions   sessions // of browsers
	cross      *http.CrossOriginProtection
	optima     optima
	renderings renderings
	streams    [streamKinds]atomic.Int64 // that are open

	table   atomic.Pointer[table]
	changed atomic.Pointer[chan struct{}] // closed when the state changes
	renewed atomic.Pointer[chan struct{}] // closed when a policy does

	mu    sync.RWMutex // the writer holds it to apply events, readers to look at the state
	state *experiment.State

	queue      chan *command
	submitting sync.RWMutex // Close holds it to close the queue
	drained    bool         // the queue is closed
	draining   atomic.Bool
	failed     atomic.Pointer[error]
	written    chan struct{}
	stop       chan struct{}
	closing    sync.Once
	closeErr   error
	background sync.WaitGroup
	snapshotAt uint64
	saving     atomic.Bool
}

// New opens the log in the data directory, folds it into the state, and starts the service. The
// error says what is wrong with the configuration, the directory or the log.
func New(c Config) (*Server, error) {
	c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, noregret.Errorf(noregret.Internal, c.Data, "the data directory cannot be made: %w", err)
	}
	s := &Server{
		config: c, cross: http.NewCrossOriginProtection(), queue: make(chan *command, queueLength),
		written: make(chan struct{}), stop: make(chan struct{}),
	}
	if s.auth, err = newAuth(c); err != nil {
		return nil, err
	}
	log, err := eventlog.Open(c.FS, LogDir(c.Data), c.logOptions())
	if err != nil {
		return nil, err
	}
	s.log = log
	if err := s.loadSigner(); err != nil { // with the log's lock held: two first starts make one set of keys
		return nil, errors.Join(err, log.Close())
	}
	if s.state, s.snapshotAt, err = Recover(context.Background(), log); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	s.metrics = newMetrics(s)
	s.table.Store(&table{entries: map[string]*entry{}})
	first := make(chan struct{})
	s.changed.Store(&first)
	second := make(chan struct{})
	s.renewed.Store(&second)
	if err := s.publish(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if s.handler, err = s.routesHandler(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go s.write()
	s.background.Add(2)
	go s.tick()
	go s.auth.watch(s.stop, &s.background, c.Logger)
	return s, nil
}

// loadSigner makes the signer of the configured keys, or of those in the data directory.
func (s *Server) loadSigner() (err error) {
	keys := s.config.Keys
	if keys == nil {
		if keys, err = loadKeys(filepath.Join(s.config.Data, "keys.json")); err != nil {
			return err
		}
	}
	s.signer, err = policy.NewSigner(*keys)
	return err
}

// ReloadTokens reads the file of access tokens again, now. An error leaves them as they were;
// without a file it does nothing. The service does so itself within a second of a change.
func (s *Server) ReloadTokens() error { return s.auth.renew(s.config.Logger) }

// maxEvent is the greatest size of a command's events: what a request's body can become, and some
// room.
func (c *Config) maxEvent() int { return min(int(2*c.MaxBody)+1<<20, 16<<20) }

// logOptions let a group hold groupBytes and one command more.
func (c *Config) logOptions() eventlog.Options {
	return eventlog.Options{
		MaxEventBytes: c.maxEvent(), GroupEvents: 1 << 16,
		GroupBytes: c.maxEvent() + groupBytes + 2<<20,
	}
}

// LogDir is where the log is in a data directory.
func LogDir(data string) string { return filepath.Join(data, "log") }

// Recover is the state of a log: its latest snapshot, and the events behind it folded into it.
// Where the snapshot cannot be read and all events are still there, it folds them all.
func Recover(ctx context.Context, log eventlog.Log) (state *experiment.State, snapshot uint64, err error) {
	saved, err := log.LatestSnapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	state = experiment.NewState()
	if saved.Position > 0 {
		if err := state.UnmarshalBinary(saved.State); err != nil || state.Position() != saved.Position {
			if log.Stats().First != 1 {
				return nil, 0, noregret.BadInputf("snapshot",
					"that of position %d cannot be read, and events before it are gone: %w", saved.Position, err)
			}
			state, saved.Position = experiment.NewState(), 0
		}
	}
	err = Fold(ctx, log, state, log.Stats().Last)
	return state, saved.Position, err
}

// Fold applies the events after the state's position, up to the given one.
func Fold(ctx context.Context, log eventlog.Reader, state *experiment.State, upTo uint64) error {
	if upTo <= state.Position() {
		return nil
	}
	for r, err := range log.Read(ctx, state.Position()+1) {
		if err != nil {
			return err
		}
		if _,
			err := state.Apply(r.Position, experiment.Event{
			Kind: r.Kind, Time: r.Time,
			Payload: r.Payload,
		}); err != nil {
			return err
		}
		if r.Position >= upTo {
			break
		}
	}
	return nil
}

// keyFile is the form of keys.json.
type keyFile struct {
	Current byte            `json:"current"`
	Secrets map[byte][]byte `json:"secrets"` // base64
}

// loadKeys reads the keys that sign tokens, or makes some.
func loadKeys(path string) (*policy.Keys, error) {
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 0 {
		err = os.ErrNotExist // a crash between the two steps below
	}
	if errors.Is(err, os.ErrNotExist) {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		k := keyFile{1, map[byte][]byte{1: secret}}
		data, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		// The mode is that of a file that is there already.
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return nil, noregret.Errorf(noregret.Internal, path, "the keys cannot be written: %w", err)
		}
		if err := atomicfile.WriteBytes(path, data); err != nil {
			return nil, noregret.Errorf(noregret.Internal, path, "the keys cannot be written: %w", err)
		}
		return &policy.Keys{Current: k.Current, Secrets: k.Secrets}, nil
	}
	if err != nil {
		return nil, noregret.Errorf(noregret.Internal, path, "the keys cannot be read: %w", err)
	}
	var k keyFile
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, noregret.BadInputf(path,
			"it does not hold keys: want {\"current\": 1, \"secrets\": {\"1\": base64}}")
	}
	keys := &policy.Keys{Current: k.Current, Secrets: k.Secrets}
	if err := keys.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// Handler serves the API.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends the service: what was taken is finished, a last snapshot is saved and the log closed.
// Call it when no request is running any more ([Server.Serve] does). A second call does nothing.
func (s *Server) Close() error {
	s.closing.Do(func() { s.closeErr = s.end() })
	return s.closeErr
}

func (s *Server) end() error {
	s.Drain()
	s.submitting.Lock()
	s.drained = true
	close(s.queue)
	s.submitting.Unlock()
	<-s.written
	s.background.Wait()
	var err error
	if s.failed.Load() == nil && s.state.Position() > s.log.Stats().Snapshot {
		var state *experiment.Frozen
		if state, err = s.state.Freeze(); err == nil {
			err = s.save(state)
		}
	}
	return errors.Join(err, s.log.Close())
}

// Drain begins the end: readiness fails, long polls and streams end. Requests are still answered,
// until the listener is closed and [Server.Close] called.
func (s *Server) Drain() {
	if !s.draining.Swap(true) {
		close(s.stop)
	}
}

// Draining is closed when the service drains: what streams to a client ends then.
func (s *Server) Draining() <-chan struct{} { return s.stop }

// Changed is closed at the next change of any experiment; ask again after it.
func (s *Server) Changed() <-chan struct{} { return *s.changed.Load() }

// Experiments lists the experiments by name.
func (s *Server) Experiments() []policy.Summary {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := []policy.Summary{}
	for _, name := range s.state.Names() {
		p := s.state.Policy(name)
		out = append(out, policy.Summary{
			Name: name, Description: s.state.Definition(name).Description,
			State: p.State, Version: p.Version, Round: p.Round,
		})
	}
	return out
}

// Definition is an experiment's definition; do not change it.
func (s *Server) Definition(name string) (*experiment.Definition, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if d := s.state.Definition(name); d != nil {
		return d, nil
	}
	return nil, noSuch(name)
}

// Report is an experiment's report, with its history and its last events.
func (s *Server) Report(name string) (*policy.Report, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.Report(name)
}

// Explain says why a decision was what it was. The error is an [policy.TokenError] for a token
// that is not genuine or of another experiment.
func (s *Server) Explain(name, token string) (*policy.Explanation, error) {
	t, err := s.signer.Verify(token, s.config.Now())
	if err == nil && t.Experiment != name {
		err = policy.Foreign
	}
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.Explain(t)
}

// State is the state's position and digest. It costs as much as a snapshot; the state is held up
// for the time of a copy only.
func (s *Server) State() (policy.StateName, error) {
	s.mu.RLock()
	frozen, err := s.state.Freeze()
	s.mu.RUnlock()
	if err != nil {
		return policy.StateName{}, err
	}
	digest, err := frozen.Digest()
	return policy.StateName{Position: frozen.Position(), Digest: digest}, err
}

func noSuch(name string) error {
	return noregret.Errorf(noregret.NotFound, "experiment", "there is no experiment %q", name)
}

// Optimum is the best mixture of an experiment's arms by the means as they are known now, by index
// of the arms of its policy, with a certificate; nil where none can be told
// ([experiment.State.Optimum]).
func (s *Server) Optimum(name string) (*pasto.Optimum, error) {
	s.mu.RLock()
	solve, err := s.state.Optimum(name)
	s.mu.RUnlock()
	if err != nil || solve == nil {
		return nil, err
	}
	return solve() // while others go on
}

// Policy is the policy in force of an experiment, or nil.
func (s *Server) Policy(name string) *policy.Policy {
	if e := s.table.Load().entries[name]; e != nil {
		return e.policy
	}
	return nil
}
