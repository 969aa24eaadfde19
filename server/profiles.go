package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/noregret/noregret"
)

// Profiles serves the profiles of the process on a port of its own, for go tool pprof.
type Profiles struct {
	listener net.Listener
	http     *http.Server
	end      chan error
}

// CheckProfiles returns an error for an address that other machines can reach: profiles need no
// access token.
func CheckProfiles(address string) error {
	if loopback(address) {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "pprof",
		"%s: want a loopback address, such as 127.0.0.1:6060; others reach it by ssh -L or kubectl port-forward",
		address)
}

// OpenProfiles serves profiles on a loopback address until Close.
func OpenProfiles(address string) (*Profiles, error) {
	if err := CheckProfiles(address); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, "pprof", "the address cannot be used: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	p := &Profiles{listener: l, end: make(chan error, 1), http: &http.Server{
		Handler: ownHost(mux), ReadHeaderTimeout: 5 * time.Second,
	}}
	go func() { p.end <- p.http.Serve(l) }()
	return p, nil
}

// ownHost refuses requests for a host that is not this machine's own name: a page whose name
// resolves to a loopback address may have sent them.
func ownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) || crossSite(r) {
			http.Error(w, "want a loopback address or localhost", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Address is where the profiles are.
func (p *Profiles) Address() net.Addr { return p.listener.Addr() }

// Close ends the running profiles and closes the port.
func (p *Profiles) Close() error {
	end, cancel := context.WithCancel(context.Background())
	cancel() // no waiting for a profile of half a minute
	err := p.http.Shutdown(end)
	if errors.Is(err, context.Canceled) {
		err = p.http.Close()
	}
	<-p.end
	return err
}
