package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/noregret/noregret"
)

// Options say which server of which cluster runs here. The zero value has nothing that it needs.
type Options struct {
	// Cluster is the name of the cluster: 1 to 64 letters, digits, - and _. Servers with another
	// one refuse each other.
	Cluster string
	// Peers are the addresses at which the nodes reach each other, HOST:PORT, the same list on all:
	// one, three or five. Node is that of this one.
	Peers []string
	Node  string
	// Password is known to all nodes and to nobody else. Required.
	Password string
	// TLS encrypts what the nodes say to each other. Nil means that they speak in the clear, the
	// password and the events.
	TLS *TLS
	// Dir is the directory of the server's files, which no other program uses.
	Dir string
	// Listen is the address at which the server listens for the others, HOST:PORT; "" is Node.
	Listen string
	// Clients is the address at which programs on this machine reach the server, HOST:PORT with a
	// host of the loopback interface: they show [User] and the password. "" means that none do.
	Clients string
	// Logger gets what the server has to say. Nil means nobody.
	Logger *slog.Logger
}

// Validate returns an error of code usage that names the first option out of its range.
func (o Options) Validate() error {
	bad := func(what, format string, args ...any) error {
		return noregret.Errorf(noregret.Usage, what, format, args...)
	}
	other := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	}
	if o.Cluster == "" || len(o.Cluster) > 64 || strings.ContainsFunc(o.Cluster, other) {
		return bad("cluster", "%.80q: want 1 to 64 letters, digits, - and _", o.Cluster)
	}
	if n := len(o.Peers); n != 1 && n != 3 && n != 5 {
		return bad("peers", "%d: want three or five, or one for a single node", n)
	}
	for i, p := range o.Peers {
		if _, _, err := split(p); err != nil {
			return bad("peers", "%q: want HOST:PORT, %w", p, err)
		}
		if slices.Contains(o.Peers[:i], p) {
			return bad("peers", "%q is there twice", p)
		}
	}
	if !slices.Contains(o.Peers, o.Node) {
		return bad("node", "%q: want one of the peers %s", o.Node, strings.Join(o.Peers, ", "))
	}
	if o.Listen != "" {
		if _, _, err := split(o.Listen); err != nil {
			return bad("listen", "%q: want HOST:PORT, %w", o.Listen, err)
		}
	}
	if o.Clients != "" {
		if host, _, err := split(o.Clients); err != nil {
			return bad("clients", "%q: want HOST:PORT, %w", o.Clients, err)
		} else if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			return bad("clients", "%q: want an IP address of this machine only, such as 127.0.0.1:4222, because "+
				"clients speak in the clear", o.Clients)
		}
	}
	if o.Password == "" {
		return bad("password", "none: want one that all nodes know")
	}
	if strings.HasPrefix(o.Password, "$2") { // the servers would compare it as a hash
		return bad("password", "it begins with $2, as a hash of bcrypt does: want another one")
	}
	if o.Dir == "" {
		return bad("directory", "none: want one")
	}
	return nil
}

// split returns the parts of an address.
func split(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, fmt.Errorf("a host and a port from 1 to 65535")
	}
	return host, int(n), nil
}

// Server is a running server.
type Server struct {
	inner    *server.Server
	password string
}

// mostPayload bounds a message: a group of the service's events fits into it.
const mostPayload = 32 << 20

// Start starts the server and returns when this process can connect to it, which is before a
// majority of the cluster is there. It gives up with ctx.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	// Servers without a listener for clients have no routes. Nobody needs to know this one, unless
	// Clients has it.
	clientHost, clientPort := "127.0.0.1", server.RANDOM_PORT
	if o.Clients != "" {
		var err error
		if clientHost, clientPort, err = split(o.Clients); err != nil {
			return nil, err
		}
	}
	c := &server.Options{
		ServerName: strings.NewReplacer(":", "-", ".", "-", "[", "", "]", "").Replace(o.Node),
		Host:       clientHost, Port: clientPort, Username: User, Password: o.Password,
		NoSigs: true, MaxPayload: mostPayload, MaxPending: 4 * mostPayload,
		JetStream: true, StoreDir: o.Dir, SyncAlways: true,
	}
	if len(o.Peers) > 1 {
		listen := o.Listen
		if listen == "" {
			listen = o.Node
		}
		host, port, err := split(listen)
		if err != nil {
			return nil, err
		}
		c.Cluster = server.ClusterOpts{
			Name: o.Cluster, Host: host, Port: port, Username: User, Password: o.Password, Advertise: o.Node,
			NoAdvertise: true, ConnectRetries: 1 << 30,
		}
		if o.TLS != nil {
			if c.Cluster.TLSConfig, err = o.TLS.config(); err != nil {
				return nil, err
			}
		}
		for _, p := range o.Peers {
			c.Routes = append(c.Routes, &url.URL{Scheme: "nats", Host: p, User: url.UserPassword(User, o.Password)})
		}
	}
	inner, err := server.NewServer(c)
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, o.Dir, "the embedded server of NATS cannot start: %w", err)
	}
	l := &logger{Logger: o.Logger}
	if l.Logger == nil {
		l.Logger = slog.New(slog.DiscardHandler)
	}
	inner.SetLoggerV2(l, false, false, false)
	s := &Server{inner, o.Password}
	inner.Start()
	for !inner.ReadyForConnections(100 * time.Millisecond) {
		if err := errors.Join(l.failure(), ctx.Err()); err != nil {
			s.Close()
			return nil, noregret.Errorf(noregret.Internal, o.Dir, "the embedded server of NATS cannot start: %w", err)
		}
	}
	return s, nil
}

// User is the name that nodes and programs show with the password.
const User = "noregret"

// Connect is the option of a connection from this process.
func (s *Server) Connect() nats.Option {
	return func(o *nats.Options) error {
		return errors.Join(nats.InProcessServer(s.inner)(o), nats.UserInfo(User, s.password)(o))
	}
}

// Name is the name of the server in its cluster.
func (s *Server) Name() string { return s.inner.Name() }

// Close ends the server: it hands over what it leads, as other nodes take over at once then, and
// waits for its files. A second call does nothing.
func (s *Server) Close() {
	if s.inner.Running() {
		s.inner.Shutdown()
	}
	s.inner.WaitForShutdown()
}
