package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// The headers of requests that a node passes on, and of the answers to them.
const (
	// nodeHeader shows that the request comes from a node with the same keys, which has checked
	// where it comes from, and is not passed on again.
	nodeHeader = "Noregret-Node"
	// clientHeader has the address of the client, and principalHeader the hash of its access token.
	clientHeader    = "Noregret-Client"
	principalHeader = "Noregret-Principal"
	// positionHeader has the position that the state has reached with the request.
	positionHeader = "Noregret-Position"
)

// errNotTaken is the error of a node whose proof another one does not take.
var errNotTaken = errors.New("not taken")

// proofTime is how long a node takes a request that another one has passed on. Their clocks may
// differ.
const proofTime = time.Minute

// proof derives from the keys that a request comes from a node: for one node, one method and URL,
// one client and one time, so that who gets to see it can make no other call with it. It does not
// cover the body, which is passed on as it comes: who gets to see it can make the same call with
// another body for proofTime. Nodes that speak TLS, or a private network, let nobody see it.
func proof(signer *policy.Signer, to string, r *http.Request, seconds int64) string {
	text := strconv.FormatInt(seconds, 10)
	return text + "." + signer.Derive(proofPurpose(to, r, text))
}

// proofPurpose is what nodes derive from the keys to show each other.
func proofPurpose(to string, r *http.Request, seconds string) string {
	return strings.Join([]string{
		"node", seconds, strings.TrimSuffix(to, "/"), r.Method, r.URL.RequestURI(), r.Header.Get(clientHeader),
		r.Header.Get(principalHeader),
	}, "\n")
}

// proven reports whether a proof is that of a request to this node.
func (n *node) proven(r *http.Request, text string) bool {
	seconds, derived, _ := strings.Cut(text, ".")
	at, err := strconv.ParseInt(seconds, 10, 64)
	return err == nil && n.now().Sub(time.Unix(at, 0)).Abs() <= proofTime &&
		n.signer.Derived(proofPurpose(n.Address, r, seconds), derived)
}

// nodeTransport makes the default transport of what nodes pass on: straight to the node that leads,
// through no proxy.
func nodeTransport(authorities *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second, MaxIdleConnsPerHost: keptConnections, IdleConnTimeout: 30 * time.Second,
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities},
	}
}

// secretHeaders are those by which clients show who they are.
var secretHeaders = []string{"Authorization", "X-Api-Key", "Ocp-Apim-Subscription-Key", "Cookie"}

// reachTime bounds how long a node that follows waits until it has applied what it has passed on.
const reachTime = time.Second

// isPeer reports whether another node has passed a request on. The error is that of one whose keys
// are other ones. n may be nil.
func (n *node) isPeer(r *http.Request) (bool, error) {
	text := r.Header.Get(nodeHeader)
	switch {
	case n == nil || text == "":
		return false, nil
	case n.proven(r, text):
		return true, nil
	}
	return false, web.WithStatus(http.StatusForbidden, noregret.Usage, nodeHeader,
		"it was not made with the keys of this node, for this request to %s and now: want the same keys.json on all "+
			"nodes, an address of its own for each, and clocks that differ by less than %v", n.Address, proofTime)
}

// principal returns the owner of the access token of a request that another node has passed on, nil
// for none.
func (n *node) principal(tokens *access.Tokens, r *http.Request) *access.Principal {
	var sum access.Hash
	if b, err := hex.DecodeString(r.Header.Get(principalHeader)); err != nil || copy(sum[:], b) != len(sum) {
		return tokens.Find(r)
	}
	return tokens.Hash(sum)
}

// passes reports whether a request is for the node that leads, which is another one. n may be nil.
func (n *node) passes(rt web.Route, r *http.Request) bool {
	return n != nil && !n.writer.leads.Load() && rt.Appends != nil && rt.Appends(r)
}

// pass passes a request on to the node that leads, and waits until this one has applied what it has
// done, so that the client reads what it wrote. One that was passed on before is refused: no two
// nodes agree on who leads.
func (n *node) pass(w http.ResponseWriter, r *http.Request, p *access.Principal, from string, peer bool) error {
	if peer {
		return web.Unavailable(errFollows)
	}
	leader := n.leader()
	to, err := url.Parse(leader)
	if leader == "" || err != nil {
		return web.Unavailable(errNoLeader)
	}
	var failed error
	proxy := &httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(to)
			h := out.Out.Header
			for name := range h {
				// This node has checked them. The one that leads needs no secrets of the client.
				if name == "Origin" || strings.HasPrefix(name, "Sec-Fetch-") || slices.Contains(secretHeaders, name) {
					h.Del(name)
				}
			}
			h.Del("Accept-Encoding") // this node compresses
			h.Set(clientHeader, from)
			h.Del(principalHeader)
			if p != nil && p.Hash != (access.Hash{}) {
				h.Set(principalHeader, hex.EncodeToString(p.Hash[:]))
			}
			h.Set(nodeHeader, proof(n.signer, leader, out.Out, n.now().Unix()))
			h.Set(web.RequestID, w.Header().Get(web.RequestID))
		},
		Transport: n.transport,
		ModifyResponse: func(answer *http.Response) error {
			if answer.Header.Get(nodeHeader) != "" {
				return errNotTaken
			}
			position, err := strconv.ParseUint(answer.Header.Get(positionHeader), 10, 64)
			answer.Header.Del(positionHeader)
			for name := range w.Header() {
				answer.Header.Del(name) // this node has set it
			}
			if err == nil {
				ctx, cancel := context.WithTimeout(r.Context(), cmp.Or(n.reachTime, reachTime))
				defer cancel()
				_ = n.reach(ctx, position) // it is stored in any case
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, r)
	if failed != nil {
		if errors.Is(failed, errNotTaken) {
			n.logger.Error("the node that leads does not take requests of this one: it has other keys, another "+
				"address, or a clock that differs by more than "+proofTime.String(), "leader", leader)
			return web.Unavailable(cmp.Or(n.synchronous(), errNoLeader))
		}
		n.logger.Debug("the node that leads does not answer", "leader", leader, "error", failed)
		if _, ok := errors.AsType[*http.MaxBytesError](failed); ok {
			return failed
		}
		return web.Unavailable(errors.New(
			"the node that leads did not answer; it may or may not have stored the events"))
	}
	return nil
}

// tell makes the answer to a node have the position that the state has reached.
func (n *node) tell(w http.ResponseWriter) {
	if rec, ok := w.(*web.Recorder); ok {
		rec.Before = func(h http.Header) { h.Set(positionHeader, strconv.FormatUint(n.live.position(), 10)) }
	}
}
