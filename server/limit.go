package server

import (
	"net"
	"net/http"
	"sync"

	"golang.org/x/time/rate"
)

// limiter bounds the requests per second of each principal, or of each address where there are
// none.
type limiter struct {
	rate  rate.Limit
	burst int
	mu    sync.Mutex
	by    map[string]*rate.Limiter
}

// keepLimits bounds how many are remembered; beyond, all begin anew.
const keepLimits = 10_000

func newLimiter(c Config) *limiter {
	if c.Rate == 0 {
		return nil
	}
	return &limiter{rate: rate.Limit(c.Rate), burst: c.Burst, by: map[string]*rate.Limiter{}}
}

// allow takes one request of who comes, if there is room for it.
func (l *limiter) allow(p *principal, r *http.Request) bool {
	if l == nil {
		return true
	}
	who := p.name
	if who == "" {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		who = "address " + host
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.by[who]
	if b == nil {
		if len(l.by) >= keepLimits {
			clear(l.by)
		}
		b = rate.NewLimiter(l.rate, l.burst)
		l.by[who] = b
	}
	return b.Allow()
}
