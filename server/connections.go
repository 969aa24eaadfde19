package server

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/noregret/noregret/server/internal/access"
)

// connections bounds the connections that a listener accepts: of all clients together, so that the
// log keeps its file descriptors, and of each address. A connection beyond the bounds is closed at
// once. The bound of each address does not hold for trusted proxies, which have many clients.
type connections struct {
	net.Listener
	total   int
	address int // of each; 0 for no bound
	proxies access.Proxies
	counts  *connectionCounts
	logger  *slog.Logger

	mu     sync.Mutex
	open   int
	by     map[string]int
	logged time.Time // when a refusal was last logged
}

// connectionCounts are what metrics show of connections.
type connectionCounts struct{ open, refused atomic.Int64 }

// Describe implements prometheus.Collector.
func (c *connectionCounts) Describe(ch chan<- *prometheus.Desc) {
	ch <- connectionsDesc
	ch <- turnedAwayDesc
}

// Collect implements prometheus.Collector.
func (c *connectionCounts) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

func (c *connectionCounts) collect(to metricSink) {
	to.gauge(connectionsDesc, float64(c.open.Load()))
	to.counter(turnedAwayDesc, float64(c.refused.Load()))
}

// limitConnections returns the listener with the configured bounds.
func limitConnections(l net.Listener, c *Limits, counts *connectionCounts, proxies access.Proxies) *connections {
	return &connections{
		Listener: l, total: c.MaxConnections, address: c.MaxConnectionsPerAddress, proxies: proxies, counts: counts,
		logger: c.Logger, by: map[string]int{},
	}
}

// reservedDescriptors are the file descriptors that connections leave to the log and to the rest of
// the process, if it has twice as many. mostConnections is the default where there are many.
const (
	reservedDescriptors = 128
	assumedDescriptors  = 1024
	mostConnections     = 20_000
)

// roomForConnections returns how many connections leave enough of the file descriptors to the log.
func roomForConnections(descriptors int) int {
	return min(max(descriptors-reservedDescriptors, descriptors/2, 1), mostConnections)
}

// Accept implements [net.Listener].
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		key := access.Network(c.RemoteAddr().String())
		if l.proxies.Trusts(c.RemoteAddr().String()) {
			key = "" // a proxy has many clients
		}
		if l.admit(key) {
			return &connection{Conn: c, release: sync.OnceFunc(func() { l.release(key) })}, nil
		}
		_ = c.Close()
	}
}

// admit counts a connection, unless it is beyond the bounds.
func (l *connections) admit(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, of := l.open >= l.total, key != "" && l.address > 0 && l.by[key] >= l.address
	if all || of {
		l.counts.refused.Add(1)
		if now := time.Now(); now.Sub(l.logged) > time.Minute {
			l.logged = now
			l.logger.Warn("connections are refused", "open", l.open, "most", l.total, "most_per_address", l.address,
				"address_at_its_bound", of)
		}
		return false
	}
	l.open++
	l.counts.open.Add(1)
	if key != "" {
		l.by[key]++
	}
	return true
}

func (l *connections) release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.counts.open.Add(-1)
	if key == "" {
		return
	}
	if l.by[key]--; l.by[key] == 0 {
		delete(l.by, key)
	}
}

// connection gives back its place when it is closed.
type connection struct {
	net.Conn
	release func()
}

func (c *connection) Close() error {
	defer c.release()
	return c.Conn.Close()
}
