package embedded_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream/embedded"
)

// authority signs certificates for 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "ca.pem")}
	a.key = newKey(t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<33, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, a.file, "CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// node returns the files of a node that trusts some authorities.
func (a *authority) node(t *testing.T, trusts *authority) *embedded.TLS {
	t.Helper()
	dir := t.TempDir()
	out := &embedded.TLS{Certificate: filepath.Join(dir, "c.pem"), Key: filepath.Join(dir, "k.pem"), CA: trusts.file}
	key := newKey(t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Unix(1<<33, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, out.Certificate, "CERTIFICATE", der)
	if der, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		t.Fatal(err)
	}
	write(t, out.Key, "PRIVATE KEY", der)
	return out
}

// TestTLS appends to a cluster that speaks TLS, and connects to it without, and with the
// certificate of another authority.
func TestTLS(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	a := newAuthority(t)
	c := &cluster{peers: freeAddresses(t, 3), dir: t.TempDir()}
	for i := range c.servers {
		s, err := embedded.Start(ctx, embedded.Options{
			Cluster: "test", Peers: c.peers, Node: c.peers[i], Password: "secret", TLS: a.node(t, a),
			Dir: filepath.Join(c.dir, "server", c.peers[i]),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c.servers[i] = s
	}
	l := c.log(ctx, t, 0)
	if err := l.AppendAt(ctx, 1, eventlog.Event{Kind: "test"}); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	mine := a.node(t, a)
	own, err := tls.LoadX509KeyPair(mine.Certificate, mine.Key)
	if err != nil {
		t.Fatal(err)
	}
	other := newAuthority(t).node(t, a)
	strange, err := tls.LoadX509KeyPair(other.Certificate, other.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	for name, pairs := range map[string][]tls.Certificate{"no certificate": nil, "a strange one": {strange}} {
		conn, err := net.Dial("tcp", c.peers[0])
		if err != nil {
			t.Fatal(err)
		}
		client := tls.Client(conn, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", Certificates: pairs})
		err = client.Handshake()
		if err == nil {
			_, err = client.Read(make([]byte, 1)) // the refusal comes behind the handshake
		}
		if err == nil || !strings.Contains(err.Error(), "remote error: tls:") {
			t.Errorf("a peer with %s: %v", name, err)
		}
		_ = conn.Close()
	}
	conn, err := tls.Dial("tcp", c.peers[0], &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}})
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	if err != nil {
		t.Errorf("a peer with a certificate of the authority: %v", err)
	}
}

// TestTLSRefused starts servers with files that cannot be.
func TestTLSRefused(t *testing.T) {
	a := newAuthority(t)
	good := a.node(t, a)
	for name, bad := range map[string]embedded.TLS{
		"cannot be read":     {Certificate: good.Certificate, Key: good.Key, CA: "no"},
		"has no certificate": {Certificate: good.Certificate, Key: good.Key, CA: good.Key},
		"cannot be used":     {Certificate: good.Certificate, Key: a.node(t, a).Key, CA: good.CA},
	} {
		peers := freeAddresses(t, 3)
		_, err := embedded.Start(t.Context(), embedded.Options{
			Cluster: "test", Peers: peers, Node: peers[0], Password: "secret", Dir: t.TempDir(), TLS: &bad,
		})
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
