package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// behind is what a node knows of how old its state is.
type behind struct {
	since time.Time // when it was at the end of the log
	end   uint64    // a position that the log had then reached
	asked time.Time // when; zero if the state has reached it
}

// note notes what the lease has said of the end of the log, as of the time when it was asked.
func (n *node) note(asked time.Time, tenure eventlog.Tenure) {
	end, ok := positionOf(tenure.Holder)
	if tenure.Held {
		end, ok = n.live.position(), n.writer.leads.Load()
	}
	if !ok {
		return
	}
	at := n.live.position()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = max(n.last, end)
	b := &n.behind
	b.reached(at)
	if b.asked.IsZero() {
		b.end, b.asked = end, asked
		b.reached(at)
	}
}

// reached notes that the state has reached a position.
func (b *behind) reached(position uint64) {
	if !b.asked.IsZero() && position >= b.end {
		b.since, b.asked = b.asked, time.Time{}
	}
}

// age returns how long ago the state had all events of the log.
func (n *node) age() time.Duration {
	at, now := n.live.position(), n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.behind.reached(at)
	return max(now.Sub(n.behind.since), 0)
}

// stale returns an error if the state is older than the grace period.
func (n *node) stale() error {
	if n == nil {
		return nil
	}
	if age := n.age(); age > n.Grace {
		return fmt.Errorf("this node was at the end of the log %v ago: want at most %v", age.Round(time.Second),
			n.Grace)
	}
	return nil
}

// state returns what a node knows of its part in the cluster. n may be nil.
func (n *node) state() api.Node {
	if n == nil {
		return api.Node{Role: "alone"}
	}
	out := api.Node{Role: "follows", Address: n.Address, Age: n.age().Seconds(), Position: n.live.position()}
	if out.Leader = n.leader(); n.writer.leads.Load() {
		out.Role, out.Leader = "leads", n.Address
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	out.Term, out.End = n.tenure.Term, max(n.last, out.Position)
	return out
}

// nodeAPI serves what a node knows of its part in a cluster.
type nodeAPI struct {
	node   *node
	tokens *access.Tokens
}

func (a *nodeAPI) routes() []web.Route {
	return []web.Route{{
		Method: "GET", Pattern: "/v1/node", Role: access.Read, Scoped: true, Serve: a.show,
		ID: "getNode", Tag: "service", Summary: "The part of this process in a cluster, and how old its state is",
		About:   "Positions are for the role admin for all experiments: they move with the feedback of private ones.",
		Answers: web.Answers{200: web.JSON("The node", api.Node{})},
	}}
}

func (a *nodeAPI) show(w http.ResponseWriter, r *http.Request) error {
	out := a.node.state()
	if !operates(a.tokens, r) {
		out.Position, out.End = 0, 0
	}
	return web.WriteJSON(w, http.StatusOK, out)
}

// What a node of a cluster shows of itself.
var (
	leadsDesc = prometheus.NewDesc("noregret_node_leads",
		"1 while this node of a cluster leads, 0 while it follows.", nil, nil)
	termDesc    = prometheus.NewDesc("noregret_node_term", "Term of the cluster's lease.", nil, nil)
	nodeAgeDesc = prometheus.NewDesc("noregret_node_age_seconds",
		"How long ago this node of a cluster had all events of the log.", nil, nil)
	lagDesc = prometheus.NewDesc("noregret_node_lag_events",
		"Events of the log that this node of a cluster has not applied yet, as far as it knows.", nil, nil)
)

// collect collects what a node shows of itself. n may be nil.
func (n *node) collect(to metricSink) {
	if n == nil {
		return
	}
	s := n.state()
	leads := 0.0
	if s.Role == "leads" {
		leads = 1
	}
	to.gauge(leadsDesc, leads)
	to.gauge(termDesc, float64(s.Term))
	to.gauge(nodeAgeDesc, s.Age)
	to.gauge(lagDesc, float64(s.End-s.Position))
}
