package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/dashboard"
	"github.com/noregret/noregret/server/internal/web"
)

// Server is the decision service on one log. Make one with [New], serve its [Server.Handler], and
// end it with [Server.Close]. All methods are safe for concurrent use.
type Server struct {
	config   Config
	log      eventlog.Log
	tokens   *access.Tokens
	metrics  *metrics
	live     *liveState
	policies *policyTable
	writer   *writer
	streams  *streamLimits
	router   *router

	draining   atomic.Bool
	stop       chan struct{} // closed when draining begins
	background sync.WaitGroup
	closing    sync.Once
	closeErr   error
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
	tokens, err := access.Open(c.Tokens, c.Logger)
	if err != nil {
		return nil, err
	}
	log, err := eventlog.Open(c.FS, LogDir(c.Data), c.logOptions())
	if err != nil {
		return nil, err
	}
	s, err := build(c, tokens, log)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go s.writer.run()
	s.background.Go(s.tick)
	s.background.Go(func() { tokens.Watch(s.stop) })
	return s, nil
}

// build puts a service together on an open log. The log's lock is held, so that of two services
// that start for the first time only one makes the keys.
func build(c Config, tokens *access.Tokens, log eventlog.Log) (*Server, error) {
	signer, err := c.signer()
	if err != nil {
		return nil, err
	}
	state, snapshot, err := Recover(context.Background(), log)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, log: log, tokens: tokens, metrics: newMetrics(), live: newLiveState(state, signer, c.Now),
		streams: &streamLimits{limit: c.MaxStreams, writeTimeout: c.RequestTime}, stop: make(chan struct{}),
	}
	s.policies = newPolicyTable(s.metrics)
	s.writer = &writer{
		log: log, live: s.live, policies: s.policies, maxEvent: c.maxEvent(), now: c.Now, logger: c.Logger,
		snapshots: &snapshotter{
			log: log, every: c.SnapshotEvery, retain: c.Retain, retainAll: c.RetainAll, now: c.Now, logger: c.Logger,
			saved: s.metrics.snapshots.Inc, last: snapshot,
		},
		queue: make(chan *command, queueLength), ended: make(chan struct{}),
	}
	s.metrics.registry.MustRegister(&stateCollector{log, s.writer, s.live})
	if err := s.policies.publish(state); err != nil {
		return nil, err
	}
	s.router = s.newRouter(signer)
	return s, nil
}

// newRouter makes the dashboard and the parts of the API.
func (s *Server) newRouter(signer *policy.Signer) *router {
	c := &s.config
	m := &middleware{
		config: c, tokens: s.tokens, limiter: access.NewLimiter(c.Rate, c.Burst),
		cross: http.NewCrossOriginProtection(), streams: s.streams, metrics: s.metrics,
	}
	experiments := &experimentAPI{config: c, live: s.live, policies: s.policies, writer: s.writer}
	conclude := func(ctx context.Context, name, reason string) error {
		return experiments.Conclude(ctx, name, nil, reason)
	}
	d := dashboard.New(dashboard.Options{
		Source: s.live, Conclude: conclude, Changed: s.live.Changed, Draining: s.stop, Tokens: s.tokens, Now: c.Now,
		Logger: c.Logger,
	})
	decisions := &decisionAPI{
		config: c, signer: signer, policies: s.policies, writer: s.writer, streams: s.streams, draining: s.stop,
	}
	feedback := &feedbackAPI{
		config: c, signer: signer, policies: s.policies, live: s.live, writer: s.writer, metrics: s.metrics,
	}
	personalizer := &personalizerAPI{
		config: c, policies: s.policies, live: s.live, writer: s.writer, metrics: s.metrics,
	}
	log := &logAPI{config: c, log: s.log, live: s.live, policies: s.policies}
	operations := &operationsAPI{metrics: s.metrics, writer: s.writer, draining: s.stop}
	return newRouter(m, d, slices.Concat([]web.Route(nil), experiments.routes(), decisions.routes(), feedback.routes(),
		personalizer.routes(), log.routes(), operations.routes()))
}

// signer returns the signer with the configured keys, or with those in the data directory.
func (c *Config) signer() (*policy.Signer, error) {
	keys := c.Keys
	if keys == nil {
		var err error
		if keys, err = loadKeys(filepath.Join(c.Data, "keys.json")); err != nil {
			return nil, err
		}
	}
	return policy.NewSigner(*keys)
}

// maxEvent is the largest size of a command's events in bytes: the largest that a request's body
// can become, plus a margin.
func (c *Config) maxEvent() int { return min(int(2*c.MaxBody)+1<<20, 16<<20) }

// logOptions let a group hold groupBytes and one more command.
func (c *Config) logOptions() eventlog.Options {
	return eventlog.Options{
		MaxEventBytes: c.maxEvent(), GroupEvents: 1 << 16,
		GroupBytes: c.maxEvent() + groupBytes + 2<<20,
	}
}

// ReloadTokens reads the file of access tokens again, now. An error leaves them as they were;
// without a file it does nothing. The service does so itself within a second of a change.
func (s *Server) ReloadTokens() error { return s.tokens.Reload() }

// Handler serves the API and the dashboard.
func (s *Server) Handler() http.Handler { return s.router }

// Close ends the service: it completes submitted commands, saves a last snapshot and closes the
// log. Call it when no request is running any more ([Server.Serve] does). A second call does
// nothing.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.Drain()
		s.writer.close()
		s.background.Wait()
		s.writer.snapshots.running.Wait()
		var err error
		if s.writer.err() == nil {
			err = s.writer.snapshots.finish(s.live.state)
		}
		s.closeErr = errors.Join(err, s.log.Close())
	})
	return s.closeErr
}

// Drain begins the end: readiness fails, long polls and streams end. Requests are still answered,
// until the listener is closed and [Server.Close] called.
func (s *Server) Drain() {
	if !s.draining.Swap(true) {
		close(s.stop)
	}
}

// Draining returns a channel that is closed when the service drains: streams to clients end then.
func (s *Server) Draining() <-chan struct{} { return s.stop }

// Changed returns a channel that is closed at the next change of any experiment. Ask again after
// it.
func (s *Server) Changed() <-chan struct{} { return s.live.Changed() }

// Experiments lists the experiments by name.
func (s *Server) Experiments() []policy.Summary { return s.live.Experiments() }

// Definition returns an experiment's definition; do not change it.
func (s *Server) Definition(name string) (*definition.Definition, error) {
	return s.live.Definition(name)
}

// Report returns an experiment's report, with its history and its last events.
func (s *Server) Report(name string) (*policy.Report, error) { return s.live.Report(name) }

// Explain explains a decision. The error is a [policy.TokenError] if the token was not signed by
// this service or belongs to another experiment.
func (s *Server) Explain(name, token string) (*policy.Explanation, error) {
	return s.live.Explain(name, token)
}

// State returns the state's position and digest. It costs as much as a snapshot; the state is
// locked only while it is copied.
func (s *Server) State() (policy.StateName, error) { return s.live.name() }

// Optimum returns the best mixture of an experiment's arms by the present estimates, by index of
// the arms of its policy, with a certificate. It is nil if there is none
// ([experiment.State.Optimum]).
func (s *Server) Optimum(name string) (*optimum.Optimum, error) { return s.live.Optimum(name) }

// Policy returns the policy in force of an experiment, or nil.
func (s *Server) Policy(name string) *policy.Policy {
	if e := s.policies.get(name); e != nil {
		return e.policy
	}
	return nil
}

// Tick does what has become due, such as closing a round. The service calls it by itself; a test
// with its own clock may call it too.
func (s *Server) Tick() {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.RequestTime)
	defer cancel()
	if err := s.writer.closeRounds(ctx); err != nil && s.writer.err() == nil && !s.draining.Load() {
		s.config.Logger.Warn("a round could not be closed", "error", err)
	}
}

// tick calls Tick until the service drains.
func (s *Server) tick() {
	t := time.NewTicker(s.config.Tick)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
		}
		s.Tick()
	}
}
