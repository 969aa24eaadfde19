package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/noregret/noregret"
)

// store is a bucket with one object, which misbehaves as a test wants.
type store struct {
	t       *testing.T
	path    string
	content []byte
	etag    string
	ranges  []string
	// before handles the nth request instead.
	before func(n int, w http.ResponseWriter, r *http.Request) (done bool)
	// cut returns how many bytes of the nth answer are sent, -1 for all.
	cut func(n int) int
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := len(s.ranges)
	s.ranges = append(s.ranges, strings.TrimPrefix(r.Header.Get("Range"), "bytes="))
	if s.before != nil && s.before(n, w, r) {
		return
	}
	if r.URL.EscapedPath() != s.path {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>none here</Message></Error>`)
		return
	}
	if m := r.Header.Get("If-Match"); m == "" && !strings.HasPrefix(s.ranges[n], "0-") || m != "" && m != s.etag {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	w.Header().Set("ETag", s.etag)
	content := bytes.NewReader(s.content)
	if s.cut != nil && s.cut(n) >= 0 {
		w = &cutter{ResponseWriter: w, left: s.cut(n)}
	}
	http.ServeContent(w, r, "", time.Time{}, content)
}

// cutter breaks the connection after so many bytes.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b[:min(len(b), c.left)])
	if c.left -= n; c.left == 0 {
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// newStore starts a store of an object of n bytes and returns the configuration for it.
func newStore(t *testing.T, n int) (*store, Config) {
	t.Helper()
	s := &store{t: t, path: "/data/day%20one/a%2Bb.csv", etag: `"v1"`}
	for i := range n {
		s.content = append(s.content, byte(i*i>>3))
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := Config{
		Region: "us-east-1", Endpoint: server.URL, PartSize: 100,
		Pause: func(context.Context, int) error { return nil },
	}
	return s, c
}

const object = "s3://data/day one/a+b.csv"

func readAll(c Config) ([]byte, error) {
	o, err := Open(context.Background(), object, c)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(o)
}

func TestParts(t *testing.T) {
	for _, n := range []int{0, 1, 99, 100, 101, 250} {
		s, c := newStore(t, n)
		got, err := readAll(c)
		if err != nil || !bytes.Equal(got, s.content) {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
		if want := []string{"0-99", "100-199", "200-249"}; n == 250 && !slices.Equal(s.ranges, want) {
			t.Errorf("ranges %q", s.ranges)
		}
	}
}

// AWS answers to the request for the first bytes of none with an error.
func TestEmptyObject(t *testing.T) {
	s, c := newStore(t, 0)
	s.before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		fmt.Fprint(w, "<Error><Code>InvalidRange</Code></Error>")
		return true
	}
	if got, err := readAll(c); err != nil || len(got) != 0 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// After a broken connection the next request is for the bytes that lack.
func TestBrokenConnections(t *testing.T) {
	s, c := newStore(t, 250)
	s.cut = func(n int) int {
		if n < 5 {
			return 30
		}
		return -1
	}
	got, err := readAll(c)
	want := []string{"0-99", "30-99", "60-99", "90-99", "100-199", "130-199", "200-249"}
	if err != nil || !bytes.Equal(got, s.content) || !slices.Equal(s.ranges, want) {
		t.Errorf("%d bytes, %v, ranges %q", len(got), err, s.ranges)
	}
}

func TestChangedObject(t *testing.T) {
	s, c := newStore(t, 250)
	s.before = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 1 {
			s.etag = `"v2"`
		}
		return false
	}
	got, err := readAll(c)
	if noregret.CodeOf(err) != noregret.BadInput || len(got) != 100 ||
		!strings.Contains(err.Error(), object+": the object was changed while it was read, at byte 100 of 250") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// A store that ignores If-Match is found out, too.
	s, c = newStore(t, 250)
	s.before = func(n int, _ http.ResponseWriter, r *http.Request) bool {
		if n == 1 {
			s.etag = `"v2"`
			r.Header.Set("If-Match", s.etag)
		}
		return false
	}
	if _, err := readAll(c); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("got %v", err)
	}
}

func TestFaultsOfTheStore(t *testing.T) {
	answer := func(status int, body string) func(int, http.ResponseWriter, *http.Request) bool {
		return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	for _, c := range []struct {
		before   func(int, http.ResponseWriter, *http.Request) bool
		code     noregret.Code
		requests int
		want     string
	}{
		{answer(503, "<Error><Code>SlowDown</Code></Error>"), noregret.Internal, 6, "6 times in a row: 503"},
		{answer(404, "<Error><Code>NoSuchBucket</Code></Error>"), noregret.NotFound, 1, "NoSuchBucket"},
		{answer(403, ""), noregret.Internal, 1, "403 Forbidden; no credentials are set"},
		{answer(301, ""), noregret.Usage, 1, "another region than us-east-1"},
		{answer(200, "all of it"), noregret.Internal, 1, "does not answer with ranges"},
		{answer(206, "part"), noregret.Internal, 1, `answered with "" to a request for the bytes 0 to 99`},
	} {
		s, config := newStore(t, 250)
		s.before = c.before
		_, err := readAll(config)
		if noregret.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) || len(s.ranges) != c.requests {
			t.Errorf("%d requests, %s, %v; want %q", len(s.ranges), noregret.CodeOf(err), err, c.want)
		}
	}
	// A few faults are no fault.
	s, config := newStore(t, 250)
	s.before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n%6 < 5 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return n%6 < 5
	}
	if got, err := readAll(config); err != nil || !bytes.Equal(got, s.content) || len(s.ranges) != 18 {
		t.Errorf("%d bytes, %v, %d requests", len(got), err, len(s.ranges))
	}
}

// The store signs the request that it has received in the same way.
func TestSignatures(t *testing.T) {
	s, c := newStore(t, 250)
	c.KeyID, c.Secret, c.Session = "AKID", "secret", "session"
	signed := 0
	s.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		got := r.Header.Get("Authorization")
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Error(err)
		}
		again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.EscapedPath(), http.NoBody)
		if err != nil {
			t.Error(err)
			return false
		}
		for _, name := range []string{"Range", "If-Match", "X-Amz-Content-Sha256"} {
			if v := r.Header.Get(name); v != "" {
				again.Header.Set(name, v)
			}
		}
		who := aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret", SessionToken: "session"}
		err = v4.NewSigner().SignHTTP(r.Context(), who, again, noHash, "s3", "us-east-1", at,
			func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
		if err != nil || got == "" || got != again.Header.Get("Authorization") ||
			r.Header.Get("X-Amz-Security-Token") != "session" {
			t.Errorf("signature %q, want %q, %v", got, again.Header.Get("Authorization"), err)
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		signed++
		return false
	}
	if got, err := readAll(c); err != nil || !bytes.Equal(got, s.content) || signed != 3 {
		t.Errorf("%d bytes, %v, %d signatures", len(got), err, signed)
	}
}

func TestStopsWithTheContext(t *testing.T) {
	s, c := newStore(t, 250)
	ctx, cancel := context.WithCancel(context.Background())
	o, err := Open(ctx, object, c)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if got, err := io.ReadAll(o); !errors.Is(err, context.Canceled) || len(got) != 100 {
		t.Errorf("%d bytes, %v, requests %q", len(got), err, s.ranges)
	}
}

func TestEnvironmentAndAddresses(t *testing.T) {
	for i, c := range []struct {
		env  map[string]string
		name string
		want string // the address, or a part of the error
	}{
		{
			map[string]string{"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "x"},
			"s3://data/a/b c",
			"https://data.s3.eu-west-1.amazonaws.com/a/b%20c",
		},
		{
			map[string]string{"AWS_DEFAULT_REGION": "eu-west-1"},
			"s3://my.data/ü",
			"https://s3.eu-west-1.amazonaws.com/my.data/%C3%BC",
		},
		{map[string]string{"AWS_ENDPOINT_URL": "http://h:9000/base/"}, "s3://data/a", "http://h:9000/base/data/a"},
		{
			map[string]string{"AWS_ENDPOINT_URL": "http://h", "AWS_ENDPOINT_URL_S3": "http://s"},
			"s3://data/a//b",
			"http://s/data/a//b",
		},
		{nil, "s3://data/a", "AWS_REGION is not set"},
		{map[string]string{"AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "k"}, "s3://data/a", "one is set and the other"},
		{map[string]string{"AWS_ENDPOINT_URL": "h:9000"}, "s3://data/a", "is no address"},
		{map[string]string{"AWS_REGION": "r"}, "s3://data", "not the name of an object"},
		{map[string]string{"AWS_REGION": "r"}, "s3://user@data/a", "not the name of an object"},
	} {
		config, err := Environment(func(name string) string { return c.env[name] })
		got := fmt.Sprint(err)
		if err == nil {
			u, err := config.address(c.name)
			if got = fmt.Sprint(err); err == nil {
				got = u.String()
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", strconv.Itoa(i), got, c.want)
		}
	}
}
