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
	limits       [web.StreamCount]int
	writeTimeout time.Duration // of each write
	open         [web.StreamCount]atomic.Int64
}

func newStreamLimits(c *Config) *streamLimits {
	l := &streamLimits{writeTimeout: c.RequestTime}
	for class := range l.limits {
		l.limits[class] = c.MaxStreams
	}
	l.limits[web.Exports] = min(c.MaxStreams, c.MaxExports)
	return l
}

// acquire opens a stream and returns the function that ends it. A stream has no time limit: it
// lasts as long as its client reads, and until the service drains.
func (l *streamLimits) acquire(w http.ResponseWriter, class web.Stream) (release func(), err error) {
	open := &l.open[class]
	if open.Add(1) > int64(l.limits[class]) {
		open.Add(-1)
		return nil, web.WithStatus(http.StatusServiceUnavailable, noregret.Usage, "streams",
			"%d %v are open, which is the limit", l.limits[class], class)
	}
	if rec, ok := w.(*web.Recorder); ok {
		rec.WriteTimeout = l.writeTimeout
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	return func() { open.Add(-1) }, nil
}
