package service

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/eventlog/jetstream/embedded"
	"github.com/noregret/noregret/server"
)

// stream has the flags of a log that is a stream of NATS JetStream, the same for serve and for the
// commands that work on a log.
type stream struct {
	servers   []string
	name      string
	replicas  int
	creds     string
	password  string // the file
	secret    string // the file with the password of servers in nodes' processes
	ca        string
	cert, key string
}

// defaultStream is the name of a stream that is not named.
const defaultStream = "noregret"

// addTo declares the flags.
func (s *stream) addTo(f *pflag.FlagSet) {
	f.StringSliceVar(&s.servers, "log", nil,
		"NATS servers, nats://HOST:PORT,..., whose JetStream keeps the log of several nodes")
	f.StringVar(&s.name, "stream", defaultStream, "name of the log's stream; needs --log")
	f.IntVar(&s.replicas, "stream-replicas", jetstream.DefaultOptions().Replicas,
		"copies of the stream: 3, or 1 for a single NATS server")
	f.StringVar(&s.creds, "nats-creds", "", "file of NATS credentials")
	f.StringVar(&s.password, "nats-password-file", "", "file with the user and the password of NATS, USER:PASSWORD")
	f.StringVar(&s.secret, "cluster-secret-file", "",
		"file with the password of the NATS servers in processes of serve --cluster, at least 16 bytes")
	f.StringVar(&s.ca, "nats-ca", "", "certificates that sign those of the NATS servers, PEM")
	f.StringVar(&s.cert, "nats-cert", "", "certificate of this client of NATS, PEM")
	f.StringVar(&s.key, "nats-key", "", "private key of this client of NATS, PEM")
}

// named reports whether the servers of a stream are given.
func (s *stream) named() bool { return len(s.servers) > 0 }

// described reports whether there is a flag about the stream.
func (s *stream) described() bool {
	return s.name != defaultStream || s.replicas != jetstream.DefaultOptions().Replicas
}

// connects reports whether there is a flag about the connection.
func (s *stream) connects() bool {
	return s.creds != "" || s.password != "" || s.ca != "" || s.cert != "" || s.key != ""
}

// dir is the directory of a node beside the stream.
func (s *stream) dir(data string) string { return filepath.Join(data, "stream") }

// options are those of the log of the node with a data directory, or, if that is "", of a log that
// is only read.
func (s *stream) options(data string) jetstream.Options {
	o := jetstream.DefaultOptions()
	o.Servers, o.Stream, o.Replicas = s.servers, s.name, s.replicas
	if data != "" {
		o.Dir = s.dir(data)
	}
	if s.creds != "" {
		o.Connect = append(o.Connect, nats.UserCredentials(s.creds))
	}
	if s.password != "" {
		o.Connect = append(o.Connect, nats.UserInfoHandler(func() (user, password string) {
			user, password, _ = readPassword(s.password) // which check has read
			return user, password
		}))
	}
	if s.secret != "" {
		o.Connect = append(o.Connect, nats.UserInfoHandler(func() (user, password string) {
			password, _ = readSecret(s.secret) // which check has read
			return embedded.User, password
		}))
	}
	if s.ca != "" {
		o.Connect = append(o.Connect, nats.RootCAs(s.ca))
	}
	if s.cert != "" {
		o.Connect = append(o.Connect, nats.ClientCert(s.cert, s.key))
	}
	return o
}

// oneKind returns an error if a data directory belongs to another kind of log.
func (s *stream) oneKind(data string, shared bool) error {
	_, own := os.Stat(server.LogDir(data))
	_, node := os.Stat(s.dir(data))
	switch {
	case !shared && node == nil:
		return noregret.Errorf(noregret.Usage, "--log", "the log of %s is a stream of NATS: name its servers, or "+
			"another directory", data)
	case shared && own == nil:
		return noregret.Errorf(noregret.Usage, "--log", "%s has a log of its own: name another directory, as the keys "+
			"and the ledger in this one belong to that log", data)
	}
	return nil
}

// readPassword reads a user and a password.
func readPassword(file string) (user, password string, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", "", noregret.Errorf(noregret.Usage, "--nats-password-file", "%w", err)
	}
	user, password, ok := strings.Cut(strings.TrimSpace(string(b)), ":")
	if !ok || user == "" || password == "" || strings.ContainsAny(user+password, "\r\n") {
		return "", "", noregret.Errorf(noregret.Usage, "--nats-password-file", "%s: want one line, USER:PASSWORD", file)
	}
	return user, password, nil
}

// leastSecret is the length of a password of the servers in nodes' processes.
const leastSecret = 16

// readSecret reads that password.
func readSecret(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", noregret.Errorf(noregret.Usage, "--cluster-secret-file", "%w", err)
	}
	secret := strings.TrimSpace(string(b))
	if len(secret) < leastSecret {
		return "", noregret.Errorf(noregret.Usage, "--cluster-secret-file", "it has %d bytes: want at least %d",
			len(secret), leastSecret)
	}
	return secret, nil
}

// addresses returns an error for flags of the connection that cannot be.
func (s *stream) addresses() error {
	if (s.cert == "") != (s.key == "") {
		return noregret.Errorf(noregret.Usage, "--nats-cert", "a client of NATS needs both --nats-cert and --nats-key")
	}
	if s.creds != "" && s.password != "" {
		return noregret.Errorf(noregret.Usage, "--nats-password-file", "want it or --nats-creds, not both")
	}
	if s.password != "" {
		if _, _, err := readPassword(s.password); err != nil {
			return err
		}
	}
	if s.secret != "" {
		if s.creds != "" || s.password != "" {
			return noregret.Errorf(noregret.Usage, "--cluster-secret-file", "want it, --nats-password-file or "+
				"--nats-creds, not two of them")
		}
		if _, err := readSecret(s.secret); err != nil {
			return err
		}
	}
	for _, address := range s.servers {
		if strings.Contains(address, "@") { // everybody on the machine can read the arguments
			return noregret.Errorf(noregret.Usage, "--log", "an address with a user or a password: want "+
				"--nats-password-file or --nats-creds")
		}
		if scheme, host, ok := strings.Cut(address, "://"); !ok || host == "" || scheme != "nats" && scheme != "tls" &&
			scheme != "ws" && scheme != "wss" {
			return noregret.Errorf(noregret.Usage, "--log", "an address without nats:// or tls:// and a host: want "+
				"nats://HOST:PORT,...")
		}
		if u, err := url.Parse(address); s.secret != "" && !strings.HasPrefix(address, "tls:") &&
			!strings.HasPrefix(address, "wss:") && (err != nil || !isLoopback(u.Hostname())) {
			return noregret.Errorf(noregret.Usage, "--log", "%s: the password of --cluster-secret-file would go "+
				"there in the clear: want what --cluster-client says, an address of this machine only", address)
		}
	}
	return nil
}

// check returns an error for flags of a command that works on a log, in a stream or a directory.
func (s *stream) check(data string) error {
	switch {
	case !s.named() && (s.connects() || s.secret != ""):
		return noregret.Errorf(noregret.Usage, "--log", "--nats-creds, --nats-password-file, --nats-ca, "+
			"--nats-cert, --nats-key and --cluster-secret-file are for a log in NATS: they need --log")
	case !s.named() && s.described():
		return noregret.Errorf(noregret.Usage, "--log", "--stream and --stream-replicas are for a log in NATS: they "+
			"need --log")
	case !s.named():
		return s.oneKind(data, false)
	}
	if err := s.addresses(); err != nil {
		return err
	}
	o := s.options(data)
	if data == "" {
		o.Dir = "." // a temporary one
	} else if err := s.oneKind(data, true); err != nil {
		return err
	}
	return o.Validate()
}

// required is check for a command that works on a stream only.
func (s *stream) required(data string) error {
	if !s.named() {
		return noregret.Errorf(noregret.Usage, "--log", "is required: nats://HOST:PORT,...")
	}
	return s.check(data)
}
