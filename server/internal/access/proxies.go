package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/noregret/noregret"
)

// Proxies are the proxies whose X-Forwarded-For names the client. The zero value trusts none.
type Proxies struct{ networks []netip.Prefix }

// ParseProxies reads addresses and networks, such as 10.0.0.1 or 10.0.0.0/8.
func ParseProxies(list []string) (p Proxies, err error) {
	for _, text := range list {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			var address netip.Addr
			if address, err = netip.ParseAddr(text); err == nil {
				network = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
			}
		}
		if err != nil {
			return Proxies{}, noregret.Errorf(noregret.Usage, "trusted proxies",
				"%q: want an address or a network, such as 10.0.0.0/8", text)
		}
		p.networks = append(p.networks, network.Masked())
	}
	return p, nil
}

// Trusts reports whether the address, which may have a port, is that of a proxy.
func (p Proxies) Trusts(address string) bool {
	if len(p.networks) == 0 {
		return false
	}
	a, ok := parseAddress(address)
	if !ok {
		return false
	}
	for _, n := range p.networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// Client returns the network of the client that sent a request: that of the peer or, as long as
// this is a trusted proxy, of the address that the proxy names. What a client writes into the
// header itself counts only behind a proxy that lets it through.
func (p Proxies) Client(r *http.Request) string { return Network(p.client(r)) }

// Address returns the whole address of the client, as [Proxies.Client] finds it, without a port.
func (p Proxies) Address(r *http.Request) string {
	client := p.client(r)
	if a, ok := parseAddress(client); ok {
		return a.String()
	}
	return client
}

// client returns the client's address, which may have a port.
func (p Proxies) client(r *http.Request) string {
	client := r.RemoteAddr
	if !p.Trusts(client) {
		return client
	}
	var named []string
	for _, line := range r.Header.Values("X-Forwarded-For") {
		named = append(named, strings.Split(line, ",")...)
	}
	for i := len(named) - 1; i >= 0 && p.Trusts(client); i-- {
		next := strings.TrimSpace(named[i])
		if _, ok := parseAddress(next); !ok {
			break
		}
		client = next
	}
	return client
}

// Network returns an address without its port; of an IPv6 address only the first 64 bits, as one
// client has all that begin with them.
func Network(address string) string {
	a, ok := parseAddress(address)
	if !ok {
		return address
	}
	if a.Is4() {
		return a.String()
	}
	n, err := a.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return n.String()
}

// parseAddress parses an address with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return a.Unmap(), err == nil
}
