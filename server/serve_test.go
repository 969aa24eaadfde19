package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// sendBy sends a request and reads the answer.
func sendBy(client *http.Client, method, url, body, media string) (int, []byte, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", media)
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	return resp.StatusCode, b.Bytes(), err
}

// serving runs a service of its own on a port of its own. Cancel ends it, and served then has the
// error.
func serving(t *testing.T, config Config) (s *Server, l net.Listener, cancel func(), served <-chan error) {
	t.Helper()
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = s.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, nil, 20*time.Second) }()
	return s, l, cancel, done
}

// TestServeDrains checks that requests in progress when the service stops are answered, and that
// what was acknowledged is in the log.
func TestServeDrains(t *testing.T) {
	noLeaks(t)
	config := testConfig(t)
	s, l, cancel, served := serving(t, config)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	base := "http://" + l.Addr().String()
	send := func(method, path, body, media string) (int, []byte, error) {
		return sendBy(client, method, base+path, body, media)
	}
	if status, b, err := send("PUT", "/v1/experiments/toy", toy, "application/yaml"); err != nil || status != 201 {
		t.Fatalf("%d %s %v", status, b, err)
	}
	var mu sync.Mutex
	acknowledged := 0
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; ; i++ {
				_, b, err := send("POST", "/v1/experiments/toy/decide", fmt.Sprintf(`{"units": ["%d-%d"]}`, c, i),
					"application/json")
				var out struct{ Decisions []decision }
				if err != nil || json.Unmarshal(b, &out) != nil || len(out.Decisions) == 0 {
					return
				}
				status, b, err := send("POST", "/v1/feedback",
					fmt.Sprintf(`{"items": [{"token": %q, "metrics": {"x": 1}}]}`, out.Decisions[0].Token),
					"application/json")
				if err != nil || status != 200 {
					return
				}
				if !bytes.Contains(b, []byte(`"accepted":1`)) {
					t.Errorf("%s", b)
				}
				mu.Lock()
				if acknowledged++; acknowledged == 40 {
					cancel()
				}
				mu.Unlock()
			}
		}()
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	again, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := again.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	// A request whose answer was lost with its connection may have been accepted, too: at most one
	// per client.
	if got := int(r.Feedback.Accepted); got < acknowledged || got > acknowledged+4 {
		t.Errorf("%d items were acknowledged, %d are accepted", acknowledged, got)
	}
	if _, err := s.writer.submit(context.Background(), &command{}); err == nil {
		t.Error("the closed service accepted a command")
	}
}

// TestSlowAndRaw checks that clients that send slowly are cut off and that headers beyond the limit
// are refused.
func TestSlowAndRaw(t *testing.T) {
	const post = "POST /v1/experiments/x/decide HTTP/1.1\r\nHost: localhost\r\n"
	answers(t, 150*time.Millisecond, map[string][2]string{
		"slow headers": {"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", ""},
		"a slow body": {
			post + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
			"HTTP/1.1 400 Bad Request",
		},
	})
	answers(t, time.Minute, map[string][2]string{
		"headers of 1 MB": {"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 1<<20) +
			"\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		"no HTTP": {"\x16\x03\x01\x02\x00\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"two lengths": {"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
			"1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 400 Bad Request"},
		"a path with parent directories": {
			"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			"HTTP/1.1 404 Not Found",
		},
		"another host": {
			"POST /v1/feedback HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}",
			"HTTP/1.1 421 Misdirected Request",
		},
	})
}

// answers sends bytes to a service with the given limit on a request's time and compares the first
// line of the answer; "" means that the connection is closed without one. On a busy machine even
// the headers of a slow request may arrive too late, so a request that expects an answer is sent
// again.
func answers(t *testing.T, requestTime time.Duration, cases map[string][2]string) {
	t.Helper()
	noLeaks(t)
	config := testConfig(t)
	config.RequestTime = requestTime
	address := serve(t, config, nil)
	for name, c := range cases {
		send, want := c[0], c[1]
		var line string
		for range 20 {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.WriteString(conn, send) }()
			line, err = bufio.NewReader(conn).ReadString('\n')
			_ = conn.Close()
			if line != "" || want == "" && errors.Is(err, io.EOF) {
				break
			}
		}
		if strings.TrimSpace(line) != want {
			t.Errorf("%s: %q, want %q", name, line, want)
		}
	}
}

// serve runs a service on a free port until the test ends and returns its address. With a
// certificate it speaks TLS.
func serve(t *testing.T, c Config, certificate *tls.Certificate) (address string) {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, certificate, time.Minute) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// TestListen checks that without access tokens only loopback addresses are opened.
func TestListen(t *testing.T) {
	w := newWorld(t)
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.com:80", "nonsense"} {
		if l, err := w.server.Listen(address); err == nil {
			_ = l.Close()
			t.Errorf("%s was opened without access tokens", address)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := w.server.Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
}

// TestTLS checks that with a certificate the service speaks HTTPS, including HTTP/2, and nothing
// else.
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
	address := serve(t, testConfig(t), &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	resp, err := (&http.Client{Transport: tr}).Get("https://" + address + "/readyz")
	if err != nil || resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Fatalf("%+v %v", resp, err)
	}
	_ = resp.Body.Close()
	tr.CloseIdleConnections()
	old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}}
	if _, err := (&http.Client{Transport: old}).Get("https://" + address + "/readyz"); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	plain := &http.Transport{}
	resp, err = (&http.Client{Transport: plain}).Get("http://" + address + "/readyz")
	if err == nil && resp.StatusCode != 400 {
		t.Errorf("plain HTTP got %d", resp.StatusCode)
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	plain.CloseIdleConnections()
}
