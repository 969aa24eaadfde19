package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/noregret/noregret"
)

// CheckListen returns an error for an address that other machines can reach if no access tokens are
// required.
func (l Limits) CheckListen(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return noregret.Errorf(noregret.Usage, "listen", "%q is no address: want HOST:PORT, such as 127.0.0.1:8080",
			address)
	}
	if l.Tokens == "" && !loopback(address) {
		return noregret.Errorf(noregret.Usage, "listen",
			"%s can be reached by others: want a loopback address, such as 127.0.0.1, or a file of access tokens",
			address)
	}
	return nil
}

// Listen opens the address, if [Limits.CheckListen] allows it.
func (s *Server) Listen(address string) (net.Listener, error) {
	if err := s.config.CheckListen(address); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, "listen", "the address cannot be used: %w", err)
	}
	return l, nil
}

// loopback reports whether only this machine can reach an address, which may have a port.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// maxHeader bounds a request's line and headers.
const maxHeader = 16 << 10

// Serve answers on the listener until the context ends, with bounds on the connections
// ([Limits.MaxConnections]). It then drains: it accepts no new connections, waits for running
// requests for at most the given time, and closes the service. A nil certificate means plain HTTP.
// If the log has failed for good, so that /livez fails, Serve drains as well and returns an error:
// the process should end with it and be started again.
func (s *Server) Serve(ctx context.Context, l net.Listener, certificate *tls.Certificate, drain time.Duration) error {
	limits := &s.config.Limits
	h, served := serveOn(limitConnections(l, limits, s.connections, s.proxies), limits, s.Handler(), certificate)
	return s.serveUntil(ctx, h, served, drain)
}

// serveOn begins to answer on the listener. The channel has the reason of the end.
func serveOn(l net.Listener, c *Limits, handler http.Handler, certificate *tls.Certificate,
) (h *http.Server, served <-chan error) {
	h = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: min(5*time.Second, c.RequestTime),
		ReadTimeout:       c.RequestTime,
		WriteTimeout:      3 * c.RequestTime,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader - 4<<10, // net/http gives 4 KiB more
		ErrorLog:          slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	serve := func() error { return h.Serve(l) }
	if certificate != nil {
		h.TLSConfig = tlsConfig(certificate, c.GetCertificate)
		serve = func() error { return h.ServeTLS(l, "", "") }
	}
	end := make(chan error, 1)
	go func() { end <- serve() }()
	return h, end
}

// serveUntil waits for the end of the context, or of serving, drains and closes the service.
func (s *Server) serveUntil(ctx context.Context, h *http.Server, served <-chan error, drain time.Duration) error {
	err := serveUntil(ctx, &s.config.Limits, h, served, s.hopeless, drain, s.Drain)
	return errors.Join(err, s.Close())
}

// serveUntil waits for the end of the context, for an error of hopeless, or for the end of serving.
// It then calls begin and waits for running requests, for at most the given time.
func serveUntil(ctx context.Context, c *Limits, h *http.Server, served, hopeless <-chan error, drain time.Duration,
	begin func(),
) error {
	var err, failed error
	finish := func() {
		end, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		begin()
		err = h.Shutdown(end)
		if errors.Is(err, context.DeadlineExceeded) {
			err = h.Close()
		}
		<-served
	}
	select {
	case err = <-served:
	case <-ctx.Done():
		c.Logger.Info("draining")
		finish()
	case failed = <-hopeless:
		c.Logger.Error("draining: the process ends, to be started again", "error", failed)
		finish()
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(failed, err)
}
