package server

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// TestConnectionLimit checks that connections beyond the bounds are closed at once, that those
// within them are served, and that a place comes back when a connection is closed. Before, there
// were no bounds, and 400 idle connections took the file descriptors of the log.
func TestConnectionLimit(t *testing.T) {
	noLeaks(t)
	for name, c := range map[string]struct{ total, address, want int }{
		"total": {4, 100, 4}, "address": {100, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			logs := &lockedBuffer{}
			config := testConfig(t)
			config.MaxConnections, config.MaxConnectionsPerAddress = c.total, c.address
			config.Logger = slog.New(slog.NewTextHandler(logs, nil))
			s, l, cancel, served := serving(t, config)
			dial := func() net.Conn {
				t.Helper()
				conn, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				return conn
			}
			// ask sends a request and reports whether it was answered; the connection stays open.
			ask := func(conn net.Conn) bool {
				_, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
				if err != nil {
					return false
				}
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					return false
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
			}
			var open []net.Conn
			answered := 0
			for range 20 {
				conn := dial()
				open = append(open, conn)
				if ask(conn) {
					answered++
				}
			}
			if refused := s.connections.refused.Load(); answered != c.want || refused != int64(20-c.want) {
				t.Errorf("%d connections were served and %d refused, want %d", answered, refused, c.want)
			}
			if n := strings.Count(logs.String(), "connections are refused"); n != 1 {
				t.Errorf("the refusals were logged %d times", n)
			}
			for _, conn := range open {
				_ = conn.Close()
			}
			for s.connections.open.Load() > 0 { // the service has to see it
				runtime.Gosched()
			}
			conn := dial()
			if !ask(conn) {
				t.Error("the places did not come back")
			}
			_ = conn.Close()
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}
