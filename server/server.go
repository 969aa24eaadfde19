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
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/dashboard"
	"github.com/noregret/noregret/server/internal/personalizer"
	"github.com/noregret/noregret/server/internal/web"
)

// Server is the decision service on one log. Make one with [New], serve its [Server.Handler], and
// end it with [Server.Close]. All methods are safe for concurrent use.
type Server struct {
	config   Config
	log      eventlog.Log
	tokens   *access.Tokens
	proxies  access.Proxies
	metrics  *metrics
	failures *access.Failures
	live     *liveState
	policies *policyTable
	intake   *intake
	writer   *writer
	node     *node // nil for a service that is alone
	streams  *streamLimits
	router   *router
	alerts   *alerter
	// connections counts those of all listeners.
	connections *connectionCounts
	storage     *storage

	draining   atomic.Bool
	stop       chan struct{} // closed when draining begins
	ended      chan struct{} // closed when no request is running any more
	hopeless   chan error    // gets the error with which the process should end: see [recovery.end]
	background sync.WaitGroup
	closing    sync.Once
	closeErr   error
}

// New opens the log in the data directory, folds it into the state, and starts the service. On a
// disk that is full or read-only it decides and answers reads, and accepts events once the disk
// takes writes. The error says what is wrong with the configuration, the directory or the log.
func New(c Config) (*Server, error) {
	c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	return newServer(context.Background(), c, &connectionCounts{}, nil)
}

// newServer is New with a configuration that is resolved, and with the counts of a listener that is
// open. It reports the progress of the recovery, unless progress is nil, and gives up with ctx.
func newServer(ctx context.Context, c Config, counts *connectionCounts, progress func(position, last uint64),
) (*Server, error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, noregret.Errorf(noregret.Internal, c.Data, "the data directory cannot be made: %w", err)
	}
	tokens, err := access.Open(c.Tokens, c.Logger)
	if err != nil {
		return nil, err
	}
	log, err := c.openLog()
	if err != nil {
		return nil, err
	}
	failure := log.Health()
	s, err := build(ctx, c, tokens, log, counts, progress)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if failure != nil {
		s.writer.fail("the disk takes no writes: the service decides and answers reads only, until it does",
			outage{err: failure, fromStart: true}, nil)
	}
	c.warnOfReadable()
	go s.writer.run()
	trail := newTokenTrail(&c, tokens, s.writer)
	tokens.Changed = trail.look
	trail.look()
	s.background.Go(s.tick)
	if s.node != nil {
		s.node.led = trail.look
		s.node.look()
		s.background.Go(func() { s.node.run(s.ended) })
	}
	s.background.Go(s.runAlerts)
	s.background.Go(func() { tokens.Watch(s.stop) })
	return s, nil
}

// removeLeftovers removes what killed backups and restores have left.
func removeLeftovers(c *Config) {
	if err := cleanRestores(c.Data); err != nil {
		c.Logger.Warn("what a restore has left, which was killed, cannot be removed: it has secrets", "error", err)
	}
}

// build puts a service together on an open log. The log's lock is held, so that of two services
// that start for the first time only one makes the keys.
func build(ctx context.Context, c Config, tokens *access.Tokens, log eventlog.Log, counts *connectionCounts,
	progress func(position, last uint64),
) (*Server, error) {
	signer, err := c.signer(log.Stats().Last == 0 || c.NewKeys)
	if err != nil {
		return nil, err
	}
	removeLeftovers(&c)
	pool := openRoom(&c)
	state, snapshot, err := recoverState(ctx, log, pool, watch{progress, c.skipped.note})
	if err != nil {
		return nil, errors.Join(err, closeRoom(&c, pool))
	}
	s := &Server{
		config: c, log: log, tokens: tokens, metrics: newMetrics(), live: newLiveState(state, signer, &c),
		streams: newStreamLimits(&c), stop: make(chan struct{}), ended: make(chan struct{}),
		hopeless:    make(chan error, 1),
		connections: counts, storage: newStorage(&c, log),
	}
	s.policies = newPolicyTable(s.metrics)
	privacy, err := newPrivacyHost(&c, state)
	if err != nil {
		return nil, err
	}
	s.intake = newIntake(&c, s.live, tokens, pool)
	s.intake.private, s.live.spent, s.live.definitionAt = privacy.private, privacy.spent, definitionIn(log)
	s.live.problems = func(name string) []string {
		out := s.intake.problems(name)
		if text := c.clock.problem(); text != "" {
			out = append(out, text)
		}
		if text := privacy.problem(name); text != "" {
			out = append(out, text)
		}
		return out
	}
	s.writer = &writer{
		log: log, recovery: &recovery{now: c.Now, grace: c.LogRetry}, live: s.live, policies: s.policies,
		intake: s.intake, privacy: privacy, maxEvent: c.maxEvent(), noteTime: c.RequestTime,
		largest: log.Stats().Largest,
		now:     c.Now, logger: c.Logger, refused: map[string]string{},
		snapshots: &snapshotter{
			log: log, every: c.SnapshotEvery, bytes: c.SnapshotBytes, retain: c.Retain, retainAll: c.RetainAll,
			now: c.Now, logger: c.Logger,
			saved: s.snapshotSaved, unsaved: s.metrics.unsaved.Inc, last: snapshot,
			free: func() (uint64, bool) {
				u, err := log.Usage()
				return u.Free, err == nil && u.Total > 0
			},
		},
		queue: make(chan *command, queueLength), ended: make(chan struct{}),
	}
	s.writer.snapshots.drops = s.writer.leads.Load
	s.live.lost = s.writer.lost
	s.writer.latest = state.Time()
	s.writer.leads.Store(c.Cluster == nil)
	if n := s.writer.largest; n < mostEvent {
		c.Logger.Warn("the log takes no larger events, and so no larger policies: max_payload of the NATS servers "+
			"bounds them", "bytes", n, "largest", mostEvent)
	}
	if c.Cluster != nil {
		s.node = newNode(&c, log, s.live, s.writer, signer)
		s.writer.node = s.node
		s.writer.digests = newComparison(c.SnapshotEvery, func(err error) {
			s.writer.fail(stateDiffers, outage{err: err, defect: true}, nil)
		})
		if err := s.node.check(&c, state); err != nil {
			return nil, errors.Join(err, closeRoom(&c, pool))
		}
	}
	if state.Position() > snapshot {
		// After a crash the next event begins a snapshot.
		s.writer.snapshots.since = c.SnapshotBytes
	}
	sender, err := newSender(&c)
	if err != nil {
		return nil, err
	}
	s.alerts = &alerter{
		sender: sender, live: s.live, intake: s.intake, writer: s.writer, storage: s.storage, skipped: c.skipped,
		clock: c.clock, now: c.Now,
	}
	s.alerts.begin()
	if s.proxies, err = access.ParseProxies(c.TrustedProxies); err != nil {
		return nil, err
	}
	s.failures = access.NewFailures(c.Logger, c.Now, s.proxies)
	s.metrics.registry.MustRegister(&stateCollector{
		log, s.writer, s.live, s.intake, counts, c.clock, s.storage, sender, s.failures,
	})
	names := append(state.Names(), state.Deleted.Names()...)
	if err := s.policies.publish(state, slices.Values(names)); err != nil {
		return nil, err
	}
	origins, err := access.ParseOrigins(c.CORSOrigins)
	if err != nil {
		return nil, err
	}
	s.router = s.newRouter(signer, s.proxies, origins)
	return s, nil
}

// newRouter makes the dashboard and the parts of the API.
func (s *Server) newRouter(signer *policy.Signer, proxies access.Proxies, origins access.Origins) *router {
	c := &s.config
	m := &middleware{
		config: &c.Limits, tokens: s.tokens, limiter: access.NewLimiter(c.Rate, c.Burst, proxies), proxies: proxies,
		cross: http.NewCrossOriginProtection(), listed: "/openapi.json", origins: origins, streams: s.streams,
		metrics:  s.metrics.httpMetrics,
		failures: s.failures, mayUse: s.policies.mayUse, node: s.node,
	}
	forms := ""
	if s.node != nil {
		forms = signer.Derive("forms")
	}
	experiments := &experimentAPI{config: c, live: s.live, policies: s.policies, writer: s.writer}
	d := dashboard.New(dashboard.Options{
		Source: s.live, Editor: experiments, Read: s.live.reads.acquire, Changed: s.live.Changed, Draining: s.stop,
		Tokens: s.tokens, Failures: s.failures, Now: c.Now, Logger: c.Logger,
		FormKey: forms,
	})
	decisions := &decisionAPI{
		config: c, signer: signer, policies: s.policies, intake: s.intake, writer: s.writer, metrics: s.metrics,
		streams: s.streams, draining: s.stop,
	}
	feedback := &feedbackAPI{
		config: c, signer: signer, policies: s.policies, live: s.live, intake: s.intake, writer: s.writer,
		metrics: s.metrics,
	}
	ranks := personalizer.New(&byUnit{
		config: c, policies: s.policies, live: s.live, intake: s.intake, writer: s.writer, metrics: s.metrics,
	})
	log := &logAPI{
		config: c, log: s.log, live: s.live, policies: s.policies, snapshots: &sharedSnapshots{log: s.log},
		tokens: s.tokens, signer: signer, positions: &positions{log: s.log, live: s.live},
		private: s.writer.privacy.private,
	}
	backups := &backupAPI{config: c, backup: s.newBackup(), writer: s.writer, private: s.writer.privacy.any}
	audits := &auditAPI{live: s.live, policies: s.policies, tokens: s.tokens}
	alerts := &alertAPI{sender: s.alerts.sender, policies: s.policies}
	operations := &operationsAPI{
		metrics: s.metrics, policies: s.policies, tokens: s.tokens, private: s.writer.privacy.any,
		writer: s.writer, draining: s.stop,
	}
	nodes := &nodeAPI{node: s.node, tokens: s.tokens}
	return newRouter(m, d, slices.Concat([]web.Route(nil), experiments.routes(), decisions.routes(), feedback.routes(),
		ranks.Routes(), log.routes(), backups.routes(), audits.routes(), alerts.routes(), nodes.routes(),
		operations.routes()))
}

// signer returns the signer with the configured keys, or with those in the data directory, which it
// makes if there are none and create is set.
func (c *Config) signer(create bool) (*policy.Signer, error) {
	keys := c.Keys
	if keys == nil {
		var err error
		if keys, err = loadKeys(c.keyFile(), create); err != nil {
			return nil, err
		}
	}
	return policy.NewSigner(*keys)
}

// keyFile is the path of the keys that sign tokens.
func (c *Config) keyFile() string { return filepath.Join(c.Data, "keys.json") }

// maxEvent is the largest size of a command's events in bytes: the largest that a request's body
// can become, plus a margin.
func (c *Config) maxEvent() int { return min(int(2*c.MaxBody)+1<<20, mostEvent) }

// mostEvent is the largest size of an event, which says what a large contextual policy is.
const mostEvent = 16 << 20

// logOptions let a group hold groupBytes and one more command.
func (c *Config) logOptions() eventlog.Options {
	o := eventlog.DefaultOptions()
	o.MaxEventBytes, o.GroupEvents = mostEvent, 1<<16
	o.GroupBytes = mostEvent + groupBytes + 2<<20
	o.QueueBytes, o.FlushBytes = 4*o.GroupBytes, max(o.FlushBytes, 4*o.GroupBytes)
	return o
}

// ReloadTokens reads the file of access tokens again, now. An error leaves them as they were;
// without a file it does nothing. The service does so itself within a second of a change.
func (s *Server) ReloadTokens() error { return s.tokens.Reload() }

// Handler serves the API and the dashboard.
func (s *Server) Handler() http.Handler { return s.config.observe(s.proxies, s.router) }

// Close ends the service: it completes submitted commands, saves a last snapshot and closes the
// log. Call it when no request is running any more ([Server.Serve] does). A second call does
// nothing.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.Drain()
		close(s.ended)
		ctx, cancel := context.WithTimeout(context.Background(), s.config.RequestTime)
		s.node.end(ctx)
		cancel()
		s.writer.close()
		s.background.Wait()
		s.writer.snapshots.running.Wait()
		if s.writer.digests != nil {
			s.writer.digests.running.Wait()
		}
		s.alerts.finish()
		var err error
		if s.writer.err() == nil {
			err = s.writer.snapshots.finish(s.live.state)
		}
		s.closeErr = errors.Join(err, s.log.Close(), closeRoom(&s.config, s.intake.pool))
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

// Definition returns an experiment's definition; do not change it.
func (s *Server) Definition(name string) (*definition.Definition, error) {
	return s.live.Definition(name)
}

// Report returns an experiment's report, with its history and its last events.
func (s *Server) Report(name string) (*api.Report, error) { return s.live.Report(name) }

// Explain explains a decision. The error is a [policy.TokenError] if the token was not signed by
// this service or belongs to another experiment.
func (s *Server) Explain(name, token string) (*api.Explanation, error) {
	return s.live.Explain(name, token)
}

// State returns the state's position and digest. It costs as much as a snapshot, unless the
// position is the same as at the last call; the state is locked only while it is copied. Concurrent
// calls share one computation.
func (s *Server) State() (api.StateName, error) { return s.live.name(context.Background()) }

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

// Tick does what has become due, such as closing a round or opening a log again that has failed. A
// node that follows leaves to the one that leads what appends to the log. The service calls it by
// itself; a test with its own clock may call it too.
func (s *Server) Tick() {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.RequestTime)
	defer cancel()
	s.intake.watch()
	defer s.alerts.look()
	s.intake.retry()
	if err := s.writer.reopen(ctx); err != nil {
		s.config.Logger.Debug("the log cannot be opened again yet", "error", err)
	}
	if s.writer.leads.Load() {
		s.propose(ctx)
	}
	s.storage.look()
	if err := s.writer.recovery.end(); err != nil {
		select {
		case s.hopeless <- err:
		default: // it is there already
		}
	}
}

// propose appends the events that have become due, and drops old ones.
func (s *Server) propose(ctx context.Context) {
	if err := s.writer.release(ctx); err != nil && s.writer.err() == nil && !s.draining.Load() {
		s.config.Logger.Debug("a release of a private experiment waits", "error", err)
	}
	if err := s.writer.expire(ctx); err != nil && s.writer.err() == nil && !s.draining.Load() {
		s.config.Logger.Warn("events beyond the retention time could not be dropped", "error", err)
	}
	if err := s.writer.closeRounds(ctx); err != nil && s.writer.err() == nil && !s.draining.Load() {
		s.config.Logger.Warn("a round could not be closed", "error", err)
	}
}

// snapshotSaved counts a snapshot.
func (s *Server) snapshotSaved() {
	s.metrics.snapshots.Inc()
	s.storage.saved()
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
