package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// starting answers requests while the service recovers: /livez says that the process works, all
// others how far the recovery is. Then it hands requests to the service.
type starting struct {
	config         *Config
	position, last atomic.Uint64
	ready          atomic.Pointer[router]
}

// ServeHTTP implements [http.Handler].
func (s *starting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if next := s.ready.Load(); next != nil {
		next.ServeHTTP(w, r)
		return
	}
	setHeaders(w, r)
	if r.URL.Path == "/livez" {
		_ = writeOK(w) // it reports no errors
		return
	}
	web.WriteError(w, r, s.config.Logger, web.Unavailable(fmt.Errorf(
		"the service is starting: it has read %d of %d events", s.position.Load(), s.last.Load())))
}

// Run opens the address and then makes the service, so that orchestrators can see from the
// beginning that it starts: until it is ready, /livez has status 200 and every other path 503, with
// the progress of the recovery. It calls ready once the service accepts requests, and serves as
// [Server.Serve] does until the context ends, which ends a recovery, too. The address must be one
// that [Limits.CheckListen] allows.
func Run(ctx context.Context, c Config, address string, certificate *tls.Certificate, drain time.Duration,
	ready func(s *Server, address net.Addr) error,
) error {
	c, err := c.resolve()
	if err != nil {
		return err
	}
	if err := c.CheckListen(address); err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return noregret.Errorf(noregret.Usage, "listen", "the address cannot be used: %w", err)
	}
	proxies, err := access.ParseProxies(c.TrustedProxies)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	begin, counts := &starting{config: &c}, &connectionCounts{}
	h, served := serveOn(limitConnections(l, &c.Limits, counts, proxies), &c.Limits,
		c.observe(proxies, begin), certificate)
	s, err := newServer(ctx, c, counts, func(position, last uint64) {
		begin.position.Store(position)
		begin.last.Store(last)
	})
	if err == nil {
		begin.ready.Store(s.router)
		if err = ready(s, l.Addr()); err != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if err != nil {
		_ = h.Close()
		<-served
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // the end came during the recovery
		}
		return err
	}
	return s.serveUntil(ctx, h, served, drain)
}
