package server

import (
	"crypto/tls"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
)

// Limits are what a service allows its clients, and what it notes of them. The decision service has
// them in its [Config], and so has the service of package scoring. Start from [DefaultLimits].
type Limits struct {
	// Tokens is the file of access tokens; "" means that everybody may do everything, which is
	// allowed on a loopback address only. It is read again when it changes.
	Tokens string
	// GetCertificate returns the certificate of a connection with TLS, so that it can change while
	// the service runs; nil means the one that Serve or Run is given. See [Certificates].
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Logger gets neither secrets nor units. Nil means slog.Default().
	Logger *slog.Logger
	// AccessLog gets a line for each request: its identifier, client, token's name, route,
	// experiment, status, size and time. Nil means none.
	AccessLog *slog.Logger
	// Traces makes a span of each request, except probes and those for metrics. Nil means none.
	Traces trace.TracerProvider
	// MaxBody bounds a request's body in bytes, 1 KiB to 8 MiB.
	MaxBody int64
	// MaxItems bounds the units, items or rows of a request, at least 1.
	MaxItems int
	// Rate bounds the requests per second of an access token, or of an address where there are
	// none. Zero means no limit. Burst is the number of requests at once, at least 1 if there is a
	// limit.
	Rate  float64
	Burst int
	// MaxConnections bounds the connections that are open at once, at least 1. It should leave some
	// of the process's file descriptors to the log. MaxConnectionsPerAddress bounds those of one
	// address (of IPv6, of one network of 64 bits), at least 1; trusted proxies are exempt.
	MaxConnections           int
	MaxConnectionsPerAddress int
	// TrustedProxies are the addresses and networks of proxies whose X-Forwarded-For names the
	// client.
	TrustedProxies []string
	// RequestTime bounds the time of a request, except long polls and streams, above 0.
	RequestTime time.Duration
}

// DefaultLimits returns the defaults: a body has at most 1 MiB, a request 10,000 units or items and
// 10 s, and the rate is not limited. Connections leave 128 file descriptors to the process, and one
// address has half of them.
func DefaultLimits() Limits {
	connections := roomForConnections(descriptorLimit())
	return Limits{
		MaxConnections: connections, MaxConnectionsPerAddress: max(1, connections/2),
		MaxBody: 1 << 20, MaxItems: 10_000, RequestTime: 10 * time.Second,
	}
}

// maxBody is the largest MaxBody.
const maxBody = 8 << 20

// badField is the error of a field out of its range.
func badField(field string, v any, want string) error {
	if d, ok := v.(time.Duration); ok {
		v = policy.Duration(d)
	}
	return noregret.Errorf(noregret.Usage, field, "%v: want %s", v, want)
}

// Validate returns an error that names the first field out of its range.
func (l Limits) Validate() error {
	bad := badField
	switch {
	case l.MaxBody < 1<<10 || l.MaxBody > maxBody:
		return bad("max body", l.MaxBody, "1024 to 8388608 bytes")
	case l.MaxItems < 1:
		return bad("max items", l.MaxItems, "at least 1")
	case !(l.Rate >= 0) || l.Rate > 1e9:
		return bad("rate", l.Rate, "requests a second, at least 0")
	case l.Burst < 0 || l.Rate > 0 && l.Burst < 1:
		return bad("burst", l.Burst, "at least 1 where the rate is limited")
	case l.MaxConnections < 1:
		return bad("max connections", l.MaxConnections, "at least 1")
	case l.MaxConnectionsPerAddress < 1:
		return bad("max connections per address", l.MaxConnectionsPerAddress, "at least 1")
	case l.RequestTime <= 0:
		return bad("request time", l.RequestTime, "a length of time above 0")
	}
	_, err := access.ParseProxies(l.TrustedProxies)
	return err
}

// resolve fills in the logger.
func (l Limits) resolve() Limits {
	if l.Logger == nil {
		l.Logger = slog.Default()
	}
	return l
}
