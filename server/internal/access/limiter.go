package access

import (
	"net/http"
	"sync"

	"golang.org/x/time/rate"
)

// Limiter bounds the requests per second of each principal, or of each address where a request has
// no named principal. It is safe for concurrent use; a nil Limiter allows everything.
type Limiter struct {
	rate  rate.Limit
	burst int
	// proxies name the clients of requests that they forward.
	proxies Proxies
	mu      sync.Mutex
	by      map[string]*rate.Limiter
}

// maxLimiters bounds the number of remembered principals and addresses. Beyond it all of them are
// forgotten.
const maxLimiters = 10_000

// NewLimiter makes a limiter of perSecond requests, and of burst requests at once. It is nil for
// the rate 0, which means no limit. The address of a request is that of its client
// ([Proxies.Client]).
func NewLimiter(perSecond float64, burst int, proxies Proxies) *Limiter {
	if perSecond == 0 {
		return nil
	}
	return &Limiter{rate: rate.Limit(perSecond), burst: burst, proxies: proxies, by: map[string]*rate.Limiter{}}
}

// Allow reports whether the principal may send one more request now, and counts it. A nil principal
// is limited by the request's address.
func (l *Limiter) Allow(p *Principal, r *http.Request) bool {
	if l == nil {
		return true
	}
	key := ""
	if p != nil {
		key = p.Name
	}
	if key == "" {
		key = "address " + l.proxies.Client(r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.by[key]
	if b == nil {
		if len(l.by) >= maxLimiters {
			clear(l.by)
		}
		b = rate.NewLimiter(l.rate, l.burst)
		l.by[key] = b
	}
	return b.Allow()
}
