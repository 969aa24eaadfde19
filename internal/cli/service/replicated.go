package service

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/eventlog/jetstream/embedded"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// replicated has the flags of a service whose log is a stream of NATS JetStream, which several
// nodes share.
type replicated struct {
	stream
	advertise string
	rules     int // a node's

	// cluster runs the NATS servers in the nodes' own processes.
	cluster embedded.Options
	only    bool             // no node beside the server
	peerTLS embedded.TLS     // the files
	server  *embedded.Server // that runs
}

// addTo declares the flags.
func (r *replicated) addTo(f *pflag.FlagSet) {
	r.stream.addTo(f)
	f.Lookup("stream").Usage = "name of the log's stream; needs --log or --cluster"
	f.StringVar(&r.cluster.Cluster, "cluster", "",
		"in place of --log: run a NATS server in this process, in a cluster of this name")
	f.StringSliceVar(&r.cluster.Peers, "peers", nil,
		"where the NATS servers of all nodes reach each other, HOST:PORT,...; 3 or 5, with this one")
	f.StringVar(&r.cluster.Node, "peer", "", "which of the peers this node is")
	f.Lookup("cluster-secret-file").Usage = "file with the password that the peers know each other by, " +
		"at least 16 bytes; needs --cluster"
	f.StringVar(&r.cluster.Clients, "cluster-client", "",
		"where noregret log and restore reach the NATS server of --cluster, on this machine: 127.0.0.1:PORT")
	f.BoolVar(&r.only, "cluster-only", false,
		"run the NATS server of --cluster without a node, to import, restore, export or replay the log")
	f.StringVar(&r.peerTLS.Certificate, "cluster-cert", "",
		"certificate chain of this peer, as a server and a client, for TLS between peers, PEM; needs --cluster")
	f.StringVar(&r.peerTLS.Key, "cluster-key", "", "private key of --cluster-cert, PEM")
	f.StringVar(&r.peerTLS.CA, "cluster-ca", "",
		"certificates that sign those of the other nodes, of their peers and of https:// in --advertise, PEM")
	f.StringVar(&r.advertise, "advertise", "",
		"where other nodes reach this one, http://HOST:PORT; default --listen, if that names a host")
	f.IntVar(&r.rules, "rules", 0,
		"version of the rules for nodes by which this one begins to lead, if all know it; 0 for that in the log")
}

// on reports whether the log is a stream.
func (r *replicated) on() bool { return len(r.servers) > 0 || r.embeds() }

// embeds reports whether the NATS server runs in this process.
func (r *replicated) embeds() bool { return r.cluster.Cluster != "" }

// embedded returns the options of the NATS server in this process.
func (r *replicated) embedded(data string) (embedded.Options, error) {
	o := r.cluster
	o.Dir = filepath.Join(data, "nats")
	if r.secret != "" {
		var err error
		if o.Password, err = readSecret(r.secret); err != nil {
			return o, err
		}
	}
	if r.peerTLS.Certificate != "" {
		o.TLS = &r.peerTLS
	}
	return o, nil
}

// loopback reports whether all NATS servers are on this machine.
func (r *replicated) loopback() bool {
	for _, server := range r.servers {
		u, err := url.Parse(server)
		if err != nil || !isLoopback(u.Hostname()) {
			return false
		}
	}
	for _, p := range r.cluster.Peers {
		if host, _, _ := net.SplitHostPort(p); !isLoopback(host) {
			return false
		}
	}
	return true
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// start starts the NATS server of this process, if it has one, and returns a function that ends it.
func (r *replicated) start(ctx context.Context, data string, logger *slog.Logger) (stop func(), err error) {
	if !r.embeds() {
		return func() {}, nil
	}
	o, err := r.embedded(data)
	if err != nil {
		return nil, err
	}
	if o.Logger = logger; o.TLS == nil && !r.loopback() {
		logger.Warn("the peers speak in the clear, their password and the events too: want --cluster-cert, " +
			"--cluster-key and --cluster-ca, or a network of their own")
	}
	if r.server, err = embedded.Start(ctx, o); err != nil {
		return nil, err
	}
	return r.server.Close, nil
}

// serveOnly runs the server of this process without a node until ctx ends.
func (r *replicated) serveOnly(ctx context.Context, out io.Writer) error {
	if _, err := fmt.Fprintf(out, "listening on nats://%s\n", r.cluster.Clients); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// options are those of the log.
func (r *replicated) options(data string) jetstream.Options {
	shared := r.stream
	if r.embeds() {
		shared.secret = "" // the server of this process has it
	}
	o := shared.options(data)
	if r.embeds() {
		o.Servers, o.Replicas = []string{nats.DefaultURL}, min(len(r.cluster.Peers), 3)
	}
	if r.server != nil {
		o.Connect = append(o.Connect, r.server.Connect(), nats.IgnoreDiscoveredServers())
		o.Beside = r.server.Name()
	}
	return o
}

// check returns an error for flags that do not go together.
func (r *replicated) check(data string) error {
	nats := r.connects()
	pair := r.peerTLS.Certificate != "" || r.peerTLS.Key != ""
	peers := len(r.cluster.Peers) > 0 || r.cluster.Node != "" || r.secret != "" || r.cluster.Clients != "" ||
		r.only || pair
	all := r.peerTLS.Certificate != "" && r.peerTLS.Key != "" && r.peerTLS.CA != ""
	switch {
	case !r.on() && r.peerTLS.CA != "":
		return noregret.Errorf(noregret.Usage, "--cluster-ca", "it is for a log of several nodes: it needs --log or "+
			"--cluster")
	case r.embeds() && (pair || r.peerTLS.CA != "") && !all:
		return noregret.Errorf(noregret.Usage, "--cluster-cert", "TLS between peers needs --cluster-cert, "+
			"--cluster-key and --cluster-ca")
	case peers && !r.embeds():
		return noregret.Errorf(noregret.Usage, "--cluster", "--peers, --peer, --cluster-secret-file, "+
			"--cluster-client, --cluster-only, --cluster-cert and --cluster-key need it")
	case r.only && r.cluster.Clients == "":
		return noregret.Errorf(noregret.Usage, "--cluster-only", "nothing could use the server: it needs "+
			"--cluster-client")
	case r.embeds() && (nats || len(r.servers) > 0):
		return noregret.Errorf(noregret.Usage, "--cluster", "it is in place of --log and the flags of its NATS servers")
	case !r.on() && r.described():
		return noregret.Errorf(noregret.Usage, "--log", "--stream and --stream-replicas are for a log of several "+
			"nodes: they need --log or --cluster")
	case !r.on() && (nats || r.advertise != "" || r.rules != 0):
		return noregret.Errorf(noregret.Usage, "--log", "--advertise, --rules, --nats-creds, --nats-password-file, "+
			"--nats-ca, --nats-cert and --nats-key are for a log of several nodes: they need --log")
	}
	if err := r.oneKind(data, r.on()); err != nil || !r.on() {
		return err
	}
	if err := r.addresses(); err != nil {
		return err
	}
	if r.embeds() {
		o, err := r.embedded(data)
		if err != nil {
			return err
		}
		if err := o.Validate(); err != nil {
			return flagOfCluster(err)
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
	c.Cluster.Rules = r.rules
	if r.peerTLS.CA != "" {
		pem, err := os.ReadFile(r.peerTLS.CA)
		if err != nil {
			return nil, noregret.Errorf(noregret.Usage, "--cluster-ca", "%w", err)
		}
		c.Cluster.RootCAs = x509.NewCertPool()
		if !c.Cluster.RootCAs.AppendCertsFromPEM(pem) {
			return nil, noregret.Errorf(noregret.Usage, "--cluster-ca", "%s has no certificate: want some in PEM",
				r.peerTLS.CA)
		}
	}
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
	if err == nil && isLoopback(host) && !r.loopback() {
		return "", command.OutOfRange("--advertise", `""`, "where other nodes reach this one, as http://10.0.0.1:8430, "+
			"because they are on other machines and --listen is an address of this one only")
	}
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

// flagOfCluster gives an error of the embedded server's options the flag that sets the option.
func flagOfCluster(err error) error {
	flags := map[string]string{
		"cluster": "--cluster", "peers": "--peers", "node": "--peer",
		"password": "--cluster-secret-file", "clients": "--cluster-client",
	}
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok || flags[e.Place] == "" {
		return err
	}
	return noregret.Errorf(e.Code, flags[e.Place], "%s", e.Message)
}
