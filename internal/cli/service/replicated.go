package service

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// replicated has the flags of a service whose log is a stream of NATS JetStream, which several
// nodes share.
type replicated struct {
	servers   []string
	stream    string
	replicas  int
	advertise string
	creds     string
	ca        string
	cert, key string
}

// addTo declares the flags.
func (r *replicated) addTo(f *pflag.FlagSet) {
	f.StringSliceVar(&r.servers, "log", nil,
		"NATS servers, nats://HOST:PORT,..., whose JetStream keeps the log of several nodes")
	f.StringVar(&r.stream, "stream", "noregret", "name of the log's stream; needs --log")
	f.IntVar(&r.replicas, "stream-replicas", 3, "copies of the stream: 3, or 1 for a single NATS server")
	f.StringVar(&r.advertise, "advertise", "",
		"where other nodes reach this one, http://HOST:PORT; default --listen, if that names a host")
	f.StringVar(&r.creds, "nats-creds", "", "file of NATS credentials")
	f.StringVar(&r.ca, "nats-ca", "", "certificates that sign those of the NATS servers, PEM")
	f.StringVar(&r.cert, "nats-cert", "", "certificate of this client of NATS, PEM")
	f.StringVar(&r.key, "nats-key", "", "private key of this client of NATS, PEM")
}

// on reports whether the log is a stream.
func (r *replicated) on() bool { return len(r.servers) > 0 }

// dir is the directory of this node beside the stream.
func (r *replicated) dir(data string) string { return filepath.Join(data, "stream") }

// options are those of the log.
func (r *replicated) options(data string) jetstream.Options {
	o := jetstream.DefaultOptions()
	o.Servers, o.Stream, o.Replicas, o.Dir = r.servers, r.stream, r.replicas, r.dir(data)
	if r.creds != "" {
		o.Connect = append(o.Connect, nats.UserCredentials(r.creds))
	}
	if r.ca != "" {
		o.Connect = append(o.Connect, nats.RootCAs(r.ca))
	}
	if r.cert != "" {
		o.Connect = append(o.Connect, nats.ClientCert(r.cert, r.key))
	}
	return o
}

// check returns an error for flags that do not go together.
func (r *replicated) check(data string) error {
	_, own := os.Stat(server.LogDir(data))
	_, shared := os.Stat(r.dir(data))
	switch {
	case !r.on() && (r.advertise != "" || r.creds != "" || r.ca != "" || r.cert != "" || r.key != ""):
		return noregret.Errorf(noregret.Usage, "--log", "--advertise, --nats-creds, --nats-ca, --nats-cert and "+
			"--nats-key are for a log of several nodes: they need --log")
	case !r.on() && shared == nil:
		return noregret.Errorf(noregret.Usage, "--log", "the log of %s is a stream of NATS: name its servers, or "+
			"another directory", data)
	case !r.on():
		return nil
	case own == nil:
		return noregret.Errorf(noregret.Usage, "--log", "%s has a log of its own: name another directory, as the keys "+
			"and the ledger in this one belong to that log", data)
	case (r.cert == "") != (r.key == ""):
		return noregret.Errorf(noregret.Usage, "--nats-cert", "a client of NATS needs both --nats-cert and --nats-key")
	}
	for _, s := range r.servers {
		if scheme, host, ok := strings.Cut(s, "://"); !ok || host == "" || scheme != "nats" && scheme != "tls" &&
			scheme != "ws" && scheme != "wss" {
			return noregret.Errorf(noregret.Usage, "--log", "an address without nats:// or tls:// and a host: want "+
				"nats://HOST:PORT,...")
		}
	}
	return r.options(data).Validate()
}

// join makes a service's configuration that of a node. The function that it returns ends the
// connection of the lease.
func (r *replicated) join(c *server.Config, listen string, tls bool) (end func(), err error) {
	if !r.on() {
		return func() {}, nil
	}
	o := r.options(c.Data)
	lease, err := jetstream.NewLease(o)
	if err != nil {
		return nil, err
	}
	address, err := r.address(listen, tls)
	if err != nil {
		return nil, err
	}
	c.Cluster = server.DefaultCluster(lease, address)
	c.Log = func(events eventlog.Options) (eventlog.Log, error) {
		log, err := jetstream.Open(context.Background(), o, events)
		if err != nil {
			return nil, err
		}
		return log, nil
	}
	return lease.Close, nil
}

// address is where other nodes reach this one.
func (r *replicated) address(listen string, tls bool) (string, error) {
	if r.advertise != "" {
		return r.advertise, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() || port == "0" {
		return "", command.OutOfRange("--advertise", `""`, "where other nodes reach this one, as http://10.0.0.1:8430, "+
			"because --listen does not say it")
	}
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port), nil
}
