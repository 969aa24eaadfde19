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
func (c Config) CheckListen(address string) error {
	if c.Tokens == "" && !loopback(address) {
		return noregret.Errorf(noregret.Usage, "listen",
			"%s can be reached by others: want a loopback address (127.0.0.1:8430), or a file of access tokens",
			address)
	}
	return nil
}

// Listen opens the address, if [Config.CheckListen] allows it.
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

// Serve answers on the listener until the context ends. It then drains: it accepts no new
// connections, waits for running requests for at most the given time, and closes the service. A nil
// certificate means plain HTTP.
func (s *Server) Serve(ctx context.Context, l net.Listener, certificate *tls.Certificate, drain time.Duration) error {
	h := &http.Server{
		Handler:           s.router,
		ReadHeaderTimeout: min(5*time.Second, s.config.RequestTime),
		ReadTimeout:       s.config.RequestTime,
		WriteTimeout:      3 * s.config.RequestTime,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader - 4<<10, // net/http gives 4 KiB more
		ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
	serve := func() error { return h.Serve(l) }
	if certificate != nil {
		h.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
		serve = func() error { return h.ServeTLS(l, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- serve() }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		s.config.Logger.Info("draining")
		end, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		s.Drain()
		err = h.Shutdown(end)
		if errors.Is(err, context.DeadlineExceeded) {
			err = h.Close()
		}
		<-served
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.Close())
}
