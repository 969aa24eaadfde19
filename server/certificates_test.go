package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writePair writes a self-signed certificate with a serial number, and its key.
func writePair(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Unix(1e9+serial, 0) // whatever the file system's clock is
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificateChanges checks that new connections get a certificate that was renewed, that a bad
// one changes nothing, that answers have HSTS, and that suites with CBC are refused.
func TestCertificateChanges(t *testing.T) {
	noLeaks(t)
	dir, logs := t.TempDir(), &lockedBuffer{}
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, cert, key, 1)
	c, err := OpenCertificates(cert, key, slog.New(slog.NewTextHandler(logs, nil)))
	if err != nil {
		t.Fatal(err)
	}
	config := testConfig(t)
	config.GetCertificate = c.Get
	address := serve(t, config, c.Present())
	dial := func(change func(*tls.Config)) (serial int64, hsts string, err error) {
		t.Helper()
		tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		change(tr.TLSClientConfig)
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get("https://" + address + "/livez")
		if err != nil {
			return 0, "", err
		}
		_ = resp.Body.Close()
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), resp.Header.Get("Strict-Transport-Security"), nil
	}
	check := func(what string, want int64) {
		t.Helper()
		serial, hsts, err := dial(func(*tls.Config) {})
		if err != nil || serial != want || hsts == "" {
			t.Errorf("%s: serial %d, want %d; HSTS %q; %v", what, serial, want, hsts, err)
		}
	}
	check("at first", 1)
	writePair(t, cert, key, 2)
	check("renewed", 2)
	if err := os.WriteFile(cert, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("a bad file", 2)
	check("a bad file again", 2)
	if n := strings.Count(logs.String(), "the certificate stays as it was"); n != 1 {
		t.Errorf("the failure was logged %d times: %s", n, logs)
	}
	writePair(t, cert, key, 3)
	check("mended", 3)
	_, _, err = dial(func(c *tls.Config) {
		c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
		}
	})
	if err == nil {
		t.Error("a suite with CBC was accepted")
	}
	if _, _, err = dial(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }); err != nil {
		t.Errorf("TLS 1.2: %v", err)
	}
	if _, err := OpenCertificates(key, key, slog.Default()); err == nil {
		t.Error("a key was taken for a certificate")
	}
}
