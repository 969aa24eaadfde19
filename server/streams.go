package server

import (
	"net/http"
	"time"

	"github.com/noregret/noregret"
)

// stream is a kind of request that takes its time. Each kind has places of its own, so that who may
// open one cannot take those of another.
type stream int

const (
	brief      stream = iota // no stream
	polls                    // a policy's, that wait for a change
	exports                  // of the log
	dashboards               // pages that are kept up to date
	streamKinds
)

// String is the kind in words.
func (k stream) String() string {
	return [streamKinds]string{"short requests", "long polls", "exports", "dashboards"}[k]
}

// hold takes one of the places of a kind, and returns what gives it back. What bounds the request
// is then no time of its own, but its client, which has to read, and the shutdown.
func (s *Server) hold(w http.ResponseWriter, kind stream) (release func(), err error) {
	open := &s.streams[kind]
	if open.Add(1) > int64(s.config.MaxStreams) {
		open.Add(-1)
		return nil, withStatus(http.StatusServiceUnavailable, noregret.Usage, "streams",
			"%d %v are open, the most there may be", s.config.MaxStreams, kind)
	}
	if rec, ok := w.(*recorder); ok {
		rec.patience = s.config.RequestTime
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	return func() { open.Add(-1) }, nil
}
