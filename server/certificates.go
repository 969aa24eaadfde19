package server

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/noregret/noregret"
)

// Certificates are the certificate and its key of two files in PEM, which are read again when they
// change, as tools that renew certificates replace them. Make one with [OpenCertificates]. It is
// safe for concurrent use.
type Certificates struct {
	cert, key string
	logger    *slog.Logger

	mu      sync.Mutex
	present *tls.Certificate
	seen    [2]fileVersion // of the last reading, good or bad
}

// fileVersion tells versions of a file apart.
type fileVersion struct {
	modified time.Time
	size     int64
}

// OpenCertificates reads the files.
func OpenCertificates(cert, key string, logger *slog.Logger) (*Certificates, error) {
	c := &Certificates{cert: cert, key: key, logger: logger}
	c.seen = c.versions()
	var err error
	c.present, err = c.read()
	return c, err
}

func (c *Certificates) read() (*tls.Certificate, error) {
	v, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, noregret.BadInputf(c.cert, "the certificate and its key cannot be used: %w", err)
	}
	return &v, nil
}

func (c *Certificates) versions() (out [2]fileVersion) {
	for i, path := range []string{c.cert, c.key} {
		if info, err := os.Stat(path); err == nil {
			out[i] = fileVersion{info.ModTime(), info.Size()}
		}
	}
	return out
}

// Present returns the certificate. If the files have changed, it reads them first; if they cannot
// be used, the certificate stays as it was, and the logger gets the reason once.
func (c *Certificates) Present() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.versions()
	if now == c.seen {
		return c.present
	}
	c.seen = now
	v, err := c.read()
	if err != nil {
		c.logger.Error("the certificate stays as it was", "error", err)
		return c.present
	}
	c.logger.Info("the certificate was read again", "file", c.cert)
	c.present = v
	return v
}

// Get is for [Limits.GetCertificate].
func (c *Certificates) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.Present(), nil }

// tlsConfig is TLS 1.2 with forward secrecy and authenticated encryption only (no CBC), or newer.
func tlsConfig(certificate *tls.Certificate, get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	t := &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // of TLS 1.2; those of 1.3 are all of this kind
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		GetCertificate: get,
	}
	if get == nil {
		t.Certificates = []tls.Certificate{*certificate}
	}
	return t
}
