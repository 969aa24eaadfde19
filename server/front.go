package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// Front is what another service of this module than the decision service shows its clients: its
// routes, behind the same access tokens, limits, errors, metrics and listener as those of a
// [Server]. It adds GET /metrics, /livez and /readyz. Make one with [NewFront] and Close it.
type Front struct {
	limits  Limits
	tokens  *access.Tokens
	proxies access.Proxies
	metrics *httpMetrics
	counts  *connectionCounts
	router  *router

	detail   func() any // of GET /readyz, nil for none
	draining chan struct{}
	drain    func() // closes draining
	watching sync.WaitGroup
}

// NewFront makes the front of the routes; listed is where people find them, for errors. Routes have
// no streams and no pages of other sites.
func NewFront(l Limits, listed string, routes []web.Route) (*Front, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	l = l.resolve()
	tokens, err := access.Open(l.Tokens, l.Logger)
	if err != nil {
		return nil, err
	}
	proxies, err := access.ParseProxies(l.TrustedProxies)
	if err != nil {
		return nil, err
	}
	f := &Front{
		limits: l, tokens: tokens, proxies: proxies, metrics: newHTTPMetrics(), counts: &connectionCounts{},
		draining: make(chan struct{}),
	}
	f.drain = sync.OnceFunc(func() { close(f.draining) })
	f.metrics.registry.MustRegister(f.counts)
	m := &middleware{
		config: &f.limits, tokens: tokens, limiter: access.NewLimiter(l.Rate, l.Burst, proxies), proxies: proxies,
		cross: http.NewCrossOriginProtection(), listed: listed, metrics: f.metrics,
		failures: access.NewFailures(l.Logger, time.Now, proxies),
	}
	own := []web.Route{
		{Method: "GET", Pattern: "/metrics", Role: access.Read, Serve: f.showMetrics},
		{Method: "GET", Pattern: "/livez", Serve: livez},
		{Method: "GET", Pattern: "/readyz", Serve: f.readyz},
	}
	f.router = newRouter(m, nil, append(own, routes...))
	f.watching.Go(func() { tokens.Watch(f.draining) })
	return f, nil
}

// Registry takes further metrics.
func (f *Front) Registry() *prometheus.Registry { return f.metrics.registry }

// Detail makes what GET /readyz answers with. Call it before the front serves.
func (f *Front) Detail(detail func() any) { f.detail = detail }

// ReloadTokens is [Server.ReloadTokens].
func (f *Front) ReloadTokens() error { return f.tokens.Reload() }

// Handler serves the routes.
func (f *Front) Handler() http.Handler { return f.limits.observe(f.proxies, f.router) }

// Close ends the watch of the access tokens. A second call does nothing.
func (f *Front) Close() {
	f.drain()
	f.watching.Wait()
}

// Run opens the address, calls ready and serves until the context ends, as [Run] does for the
// decision service. It then drains and closes the front.
func (f *Front) Run(ctx context.Context, address string, certificate *tls.Certificate, drain time.Duration,
	ready func(address net.Addr) error,
) error {
	defer f.Close()
	if err := f.limits.CheckListen(address); err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return noregret.Errorf(noregret.Usage, "listen", "the address cannot be used: %w", err)
	}
	h, served := serveOn(limitConnections(l, &f.limits, f.counts, f.proxies), &f.limits, f.Handler(), certificate)
	if err := ready(l.Addr()); err != nil {
		_ = h.Close()
		<-served
		return err
	}
	return serveUntil(ctx, &f.limits, h, served, nil, drain, f.drain)
}

func livez(w http.ResponseWriter, _ *http.Request) error { return writeOK(w) }

func (f *Front) showMetrics(w http.ResponseWriter, r *http.Request) error {
	return f.metrics.answer(w, r, f.metrics.registry)
}

func (f *Front) readyz(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-f.draining:
		return web.Unavailable(errDraining)
	default:
		if f.detail != nil {
			return web.WriteJSON(w, http.StatusOK, f.detail())
		}
		return writeOK(w)
	}
}
