package server

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// Cluster makes a service one of several nodes on one replicated log. One of them leads, which
// appends to the log; the others follow it, decide as it does, and pass on to it what appends. All
// have the same keys and access tokens. Start from [DefaultCluster].
type Cluster struct {
	// Lease names the node that leads. Required.
	Lease eventlog.Lease
	// Address is where the other nodes reach this one, such as http://10.0.0.1:8430. Required.
	Address string
	// Every is the time between two looks at the lease, at least 1 ms, and Lasts is how long a node
	// leads without an answer of the lease, at least as long: the time that the lease lasts.
	Every, Lasts time.Duration
	// Grace is how long ago a node may have been at the end of the log to count as ready, above 0.
	Grace time.Duration
	// Rules is the version of the rules for nodes by which this one begins to lead, 0 for that in
	// the log. A node that does not know the version ends, so all programs must know it before.
	Rules int
	// RootCAs sign the certificates of the other nodes. Nil means those of the system.
	RootCAs *x509.CertPool
	// Transport sends requests to the node that leads. Nil means one that uses no proxy.
	Transport http.RoundTripper

	knows     int           // the version of the rules that tests know, 0 for protocol
	reachTime time.Duration // that of tests, 0 for reachTime
}

// DefaultCluster returns the defaults: a node looks at the lease, which lasts two seconds,
// every half second, and is ready while it was at the end of the log within the last 30 seconds.
func DefaultCluster(lease eventlog.Lease, address string) *Cluster {
	return &Cluster{
		Lease: lease, Address: address, Every: 500 * time.Millisecond, Lasts: 2 * time.Second, Grace: 30 * time.Second,
	}
}

// validate returns an error that names the first field out of its range.
func (c *Cluster) validate() error {
	if c == nil {
		return nil
	}
	u, err := url.Parse(c.Address)
	anywhere := false
	if err == nil {
		ip := net.ParseIP(u.Hostname())
		anywhere = ip != nil && ip.IsUnspecified() || u.Port() == "0"
	}
	switch {
	case c.Lease == nil:
		return noregret.Errorf(noregret.Usage, "cluster lease", "none: want one")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return noregret.Errorf(noregret.Usage, "cluster address",
			"%q: want where other nodes reach this one, such as http://10.0.0.1:8430", c.Address)
	case anywhere:
		return noregret.Errorf(noregret.Usage, "cluster address",
			"%q: no other node can reach that: want the host and the port of this one", c.Address)
	case c.Every < time.Millisecond:
		return badField("cluster every", c.Every, "at least 1ms")
	case c.Lasts < c.Every:
		return badField("cluster lasts", c.Lasts, "at least as long as every")
	case c.Rules < 0 || c.Rules > max(protocol, c.knows):
		return badField("cluster rules", c.Rules, fmt.Sprintf("0 to %d, the last version that this program knows",
			max(protocol, c.knows)))
	case c.Grace <= 0:
		return badField("cluster grace", c.Grace, "a length of time above 0")
	}
	return nil
}
