package server

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
)

// zipped compresses a text by gzip.
func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGzipBodies sends bodies that are compressed: good ones, others that are not what they say,
// and one of 4 KiB that becomes 4 MiB.
func TestGzipBodies(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxBody = 64 << 10 })
	w.apply(toy)
	good := zipped(t, `{"units": ["ann"]}`)
	for _, c := range []struct {
		name, encoding string
		body           []byte
		status         int
		text           string
	}{
		{"good", "gzip", good, 200, `"unit":"ann"`},
		{"capitals", "GZIP", good, 200, `"unit":"ann"`},
		{"plain", "identity", []byte(`{"units": ["ann"]}`), 200, `"unit":"ann"`},
		{"a bomb", "gzip", zipped(t, `{"units": ["`+strings.Repeat("a", 4<<20)+`"]}`), 413, "more than 65536 bytes"},
		{"at the limit", "gzip", zipped(t, `{"units": ["ann"]}`+strings.Repeat(" ", 64<<10-18)), 200, `"unit"`},
		{"above the limit", "gzip", zipped(t, `{"units": ["ann"]}`+strings.Repeat(" ", 64<<10-17)), 413, "65536"},
		{"cut short", "gzip", good[:len(good)-5], 400, "incomplete, or not what Content-Encoding says"},
		{"not compressed", "gzip", []byte(`{"units": ["ann"]}`), 400, "not a body of gzip"},
		{"another encoding", "br", good, 415, "want gzip or none"},
		{"twice", "gzip, gzip", good, 415, "want gzip or none"},
	} {
		r, err := http.NewRequest("POST", w.http.URL+"/v1/experiments/toy/decide", bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, b := w.send(r, "Content-Type", "application/json", "Content-Encoding", c.encoding)
		if resp.StatusCode != c.status || !strings.Contains(string(b), c.text) {
			t.Errorf("%s: status %d, want %d: %s", c.name, resp.StatusCode, c.status, b)
		}
	}
}
