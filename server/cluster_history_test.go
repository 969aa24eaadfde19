package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/random"
)

// TestClusterHistories plays random histories on three nodes: reports to any of them, kills and
// starts, cuts of the log and of the lease, leases that lie, and outages of the storage. Afterwards
// everything that was acknowledged counts once, and the nodes and a fold of the log agree.
func TestClusterHistories(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 6
	}
	for seed := range uint64(n) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newHistory(t, seed).play() })
	}
}

// history is a random history of a cluster.
type history struct {
	*cluster
	rng   *random.Source
	sent  []decision
	known map[string]bool // tokens whose value was acknowledged
	steps []string
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	c := newCluster(t, 3, func(o *Config) { o.SnapshotEvery, o.Cluster.reachTime = 7, time.Millisecond })
	c.look().apply(toy)
	c.agree()
	return &history{cluster: c, rng: random.New(seed, "cluster"), known: map[string]bool{}}
}

func (h *history) play() {
	for range 60 {
		h.step(h.rng.IntN(len(h.nodes)))
	}
	h.heal()
	leader := h.succeed()
	h.agree()
	if got, least := leader.accepted(), int64(len(h.known)); got < least || got > int64(len(h.sent)) {
		h.t.Errorf("%d values count, %d were acknowledged, %d sent", got, least, len(h.sent))
	}
	unknown := leader.accepted()
	for i, d := range h.sent { // again, as clients do that had no answer
		m := h.nodes[i%len(h.nodes)]
		switch s := m.feedback(d); {
		case s == api.Duplicate:
			unknown--
		case s != api.Accepted || h.known[d.Token]:
			h.t.Errorf("again: %s, known: %v", s, h.known[d.Token])
		}
	}
	if n := leader.accepted(); n != int64(len(h.sent)) || unknown != 0 {
		h.t.Errorf("%d of %d values count at last; %d counted before and are no duplicates", n, len(h.sent),
			unknown)
	}
	h.agree()
	h.fold(leader)
	if h.t.Failed() {
		h.t.Log(h.steps)
	}
}

// fold folds the log anew and compares.
func (h *history) fold(m *member) {
	h.t.Helper()
	state, err := Origin(h.t.Context(), m.log)
	if err == nil {
		err = Fold(h.t.Context(), m.log, state, m.log.Stats().Last)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	digest, err := state.Digest()
	if err != nil {
		h.t.Fatal(err)
	}
	if s, err := m.server.State(); err != nil || s.Digest != digest || s.Position != state.Position() {
		h.t.Errorf("the fold of the log: %.8s at %d, the node's: %.8s at %d, %v", digest, state.Position(), s.Digest,
			s.Position, err)
	}
	if experiment.Leader(state) == nil {
		h.t.Error("nobody has led")
	}
}

// step makes a step that concerns a node.
func (h *history) step(i int) {
	h.t.Helper()
	m, kind := h.nodes[i], h.rng.IntN(20)
	h.steps = append(h.steps, fmt.Sprint(i, ":", kind))
	if kind == 0 && !m.up {
		h.start(m)
		return
	}
	if !m.up {
		return
	}
	switch kind {
	case 1:
		h.kill(m)
	case 2:
		m.log.Cut(true)
	case 3, 4:
		m.log.Cut(false)
	case 5:
		m.lease.Cut(true)
	case 6:
		m.lease.Cut(false)
	case 7:
		m.lease.lies.Store(m.lease.term.Load() > 0 && !m.lease.lies.Load())
	case 8:
		h.storage.Break(1+h.rng.IntN(3), false)
	case 9:
		h.storage.Break(0, false)
	case 10, 11:
		h.clock.wait(time.Duration(h.rng.IntN(3000)) * time.Millisecond)
		m.server.Tick()
	case 12, 13, 14:
		m.server.node.look()
	default:
		h.report(m)
	}
}

// report decides on a node and reports to it, or reports again what was sent before.
func (h *history) report(m *member) {
	h.t.Helper()
	if m.server.Policy("toy") == nil {
		return
	}
	if len(h.sent) > 0 && h.rng.IntN(4) == 0 {
		d := h.sent[h.rng.IntN(len(h.sent))]
		switch s := m.feedback(d); {
		case s == api.Accepted && h.known[d.Token]:
			h.t.Errorf("a value was acknowledged twice as new")
		case s == api.Accepted || s == api.Duplicate:
			h.known[d.Token] = true
		}
		return
	}
	d := m.decide("toy", fmt.Sprint("u", len(h.sent)))[0]
	h.sent = append(h.sent, d)
	if s := m.feedback(d); s == api.Accepted {
		h.known[d.Token] = true
	} else if s != "" {
		h.t.Errorf("a new value: %s", s)
	}
}

// heal ends all troubles, and starts the nodes anew that are down or whose log has failed. A node
// that could not lead would wait an hour, for which a lease of these nodes lasts.
func (h *history) heal() {
	h.t.Helper()
	h.storage.Break(0, false)
	for _, m := range h.nodes {
		if m.up {
			m.lease.lies.Store(false)
			m.lease.Cut(false)
			m.log.Cut(false)
			m.server.node.wait = time.Time{}
		}
		if m.up && m.server.writer.err() != nil {
			h.clock.wait(lastRetry)
			m.server.Tick()
		}
		if m.up && m.server.writer.err() != nil {
			h.t.Logf("started anew: %v", m.server.writer.err())
			h.kill(m)
		}
		if !m.up {
			h.start(m)
		}
	}
}
