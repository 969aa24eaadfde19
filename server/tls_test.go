package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestTLS: with a certificate the service speaks HTTPS, HTTP/2 too, and nothing else.
func TestTLS(t *testing.T) {
	noLeaks(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Data: t.TempDir(), FS: vfs.NewMem(), Tick: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(ctx, l, &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, time.Minute)
	}()
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	resp, err := (&http.Client{Transport: tr}).Get("https://" + l.Addr().String() + "/readyz")
	if err != nil || resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Fatalf("%+v %v", resp, err)
	}
	_ = resp.Body.Close()
	tr.CloseIdleConnections()
	old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}}
	if _, err := (&http.Client{Transport: old}).Get("https://" + l.Addr().String() + "/readyz"); err == nil {
		t.Error("TLS 1.1 was taken")
	}
	plain := &http.Transport{}
	resp, err = (&http.Client{Transport: plain}).Get("http://" + l.Addr().String() + "/readyz")
	if err == nil && resp.StatusCode != 400 {
		t.Errorf("plain HTTP got %d", resp.StatusCode)
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	plain.CloseIdleConnections()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
