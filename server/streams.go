package server

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server/internal/web"
)

// streamLimits bounds how many streams of each class are open at once.
type streamLimits struct {
	limit        int           // of each class
	writeTimeout time.Duration // of each write
	open         [web.StreamCount]atomic.Int64
}

// acquire opens a stream and returns the function that ends it. A stream has no time limit: it
// lasts as long as its client reads, and until the service drains.
func (l *streamLimits) acquire(w http.ResponseWriter, class web.Stream) (release func(), err error) {
	open := &l.open[class]
	if open.Add(1) > int64(l.limit) {
		open.Add(-1)
		return nil, web.WithStatus(http.StatusServiceUnavailable, noregret.Usage, "streams",
			"%d %v are open, which is the limit", l.limit, class)
	}
	if rec, ok := w.(*web.Recorder); ok {
		rec.WriteTimeout = l.writeTimeout
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	return func() { open.Add(-1) }, nil
}
