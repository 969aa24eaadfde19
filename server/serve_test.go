package server

import "testing"

// TestListen: without access tokens only loopback addresses are opened.
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
