package access

import (
	"net/http"
	"testing"
)

// TestProxies checks which client a request counts for.
func TestProxies(t *testing.T) {
	p, err := ParseProxies([]string{"10.0.0.0/8", "192.0.2.1", "2001:db8:ff::/48"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer, want string
		forwarded  []string
	}{
		{"203.0.113.9:1000", "203.0.113.9", nil},
		{"203.0.113.9:1000", "203.0.113.9", []string{"198.51.100.1"}}, // not a proxy
		{"10.1.2.3:1000", "10.1.2.3", nil},
		{"10.1.2.3:1000", "198.51.100.1", []string{"198.51.100.1"}},
		// The first entry is the client's own invention.
		{"10.1.2.3:1000", "198.51.100.2", []string{"6.6.6.6, 198.51.100.2"}},
		{"10.1.2.3:1000", "198.51.100.2", []string{"6.6.6.6, 198.51.100.2, 192.0.2.1"}},
		{"10.1.2.3:1000", "198.51.100.2", []string{"6.6.6.6", "198.51.100.2", "192.0.2.1"}},
		{"10.1.2.3:1000", "10.1.2.3", []string{"nonsense"}},
		{"10.1.2.3:1000", "192.0.2.1", []string{"nonsense, 192.0.2.1"}},
		{"[2001:db8:ff::1]:1000", "2001:db8:1:2::/64", []string{"2001:db8:1:2:3:4:5:6"}},
		{"[2001:db8:1:2:3:4:5:6]:1000", "2001:db8:1:2::/64", nil},
		{"[::ffff:10.1.2.3]:1000", "198.51.100.1", []string{"198.51.100.1:80"}},
		{"@", "@", []string{"198.51.100.1"}},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		for _, line := range c.forwarded {
			r.Header.Add("X-Forwarded-For", line)
		}
		if got := p.Client(r); got != c.want {
			t.Errorf("%s, forwarded for %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
	for _, bad := range []string{"", "10.0.0.0/33", "proxy.example", "10.0.0.1:80"} {
		if _, err := ParseProxies([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
