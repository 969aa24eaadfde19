package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
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

// nodePurpose is what nodes derive from the keys to show each other.
const nodePurpose = "node"

// reachTime bounds how long a node that follows waits until it has applied what it has passed on.
const reachTime = time.Second

// isPeer reports whether another node has passed a request on. The error is that of one whose keys
// are other ones. n may be nil.
func (n *node) isPeer(r *http.Request) (bool, error) {
	text := r.Header.Get(nodeHeader)
	switch {
	case n == nil || text == "":
		return false, nil
	case n.signer.Derived(nodePurpose, text):
		return true, nil
	}
	return false, web.WithStatus(http.StatusForbidden, noregret.Usage, nodeHeader,
		"it was not made with the keys of this node: want the same keys.json on all nodes")
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
				// This node has checked them.
				if name == "Origin" || strings.HasPrefix(name, "Sec-Fetch-") {
					h.Del(name)
				}
			}
			h.Del("Accept-Encoding") // this node compresses
			h.Set(nodeHeader, n.signer.Derive(nodePurpose))
			h.Set(clientHeader, from)
			h.Del(principalHeader)
			if p != nil && p.Hash != (access.Hash{}) {
				h.Set(principalHeader, hex.EncodeToString(p.Hash[:]))
			}
			h.Set(web.RequestID, w.Header().Get(web.RequestID))
		},
		Transport: n.transport,
		ModifyResponse: func(answer *http.Response) error {
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
