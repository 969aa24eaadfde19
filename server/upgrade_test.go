package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
)

// passers are users of a cluster: each gets one decision and reports one outcome, again and again
// to any node until one acknowledges it.
type passers struct {
	mu        sync.Mutex
	addresses []string // of the nodes that are up

	stop chan struct{}
	all  sync.WaitGroup
	// acknowledged gets the status of each report that a node has acknowledged.
	acknowledged chan api.ItemStatus
	counted      int // of them were received
	accepted     int // of these were new
}

// pass lets users come until end is called.
func pass(users int) *passers {
	p := &passers{stop: make(chan struct{}), acknowledged: make(chan api.ItemStatus)}
	for user := range users {
		p.all.Go(func() {
			for visit := 0; ; visit++ {
				select {
				case <-p.stop:
					return
				default:
					p.acknowledged <- p.one(user, visit)
				}
			}
		})
	}
	return p
}

// up says which nodes are up.
func (p *passers) up(nodes []*member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addresses = nil
	for _, m := range nodes {
		if m.up {
			p.addresses = append(p.addresses, m.http.URL)
		}
	}
}

// one is one user. A call goes to one node after the other until one answers it.
func (p *passers) one(user, visit int) api.ItemStatus {
	call := func(path, body string, out any) {
		for k := user + visit; ; k++ {
			p.mu.Lock()
			address := ""
			if n := len(p.addresses); n > 0 {
				address = p.addresses[k%n]
			}
			p.mu.Unlock()
			r, err := http.Post(address+path, "application/json", strings.NewReader(body))
			if err != nil {
				continue
			}
			b, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			if err == nil && r.StatusCode == http.StatusOK && json.Unmarshal(b, out) == nil {
				return
			}
		}
	}
	var decided struct{ Decisions []decision }
	call("/v1/experiments/toy/decide", fmt.Sprintf(`{"units": ["u%d-%d"]}`, user, visit), &decided)
	var reported api.FeedbackResult
	call("/v1/feedback", feedbackFor(decided.Decisions[0]), &reported)
	return reported.Items[0].Status
}

// await waits until some more reports were acknowledged.
func (p *passers) await(n int) {
	for range n {
		p.note(<-p.acknowledged)
	}
}

func (p *passers) note(s api.ItemStatus) {
	p.counted++
	if s == api.Accepted {
		p.accepted++
	}
}

// end lets the users that are there finish.
func (p *passers) end() {
	close(p.stop)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.all.Wait()
	}()
	for {
		select {
		case s := <-p.acknowledged:
			p.note(s)
		case <-gone:
			return
		}
	}
}

// rules checks the version of the rules in the log, as each node that is up knows it.
func (c *cluster) rules(at string, want int) {
	c.t.Helper()
	for i, m := range c.nodes {
		if !m.up {
			continue
		}
		m.server.live.mu.RLock()
		got := experiment.Leader(m.server.live.state).Protocol
		m.server.live.mu.RUnlock()
		if got != want {
			c.t.Errorf("%s: node %d knows of version %d, want %d", at, i, got, want)
		}
	}
}

// roll ends the nodes as planned and starts them with a change, one after the other under load: the
// one that leads last. After each it calls a function with the number of those that are done.
func (c *cluster) roll(p *passers, change func(o *Config), each func(done int)) {
	c.t.Helper()
	before := c.change
	c.change = func(o *Config) { before(o); change(o) }
	order := slices.Clone(c.nodes)
	slices.SortStableFunc(order, func(a, b *member) int {
		switch leads := b.server.writer.leads.Load(); {
		case leads == a.server.writer.leads.Load():
			return 0
		case leads:
			return -1
		}
		return 1
	})
	for i, m := range order {
		m.up = false
		p.up(c.nodes)
		m.http.Close()
		if err := m.server.Close(); err != nil { // which gives the lease back
			c.t.Fatal(err)
		}
		c.look()
		c.look() // who looked before another one led
		p.await(20)
		c.start(m)
		c.look()
		p.up(c.nodes)
		p.await(20)
		each(i + 1)
	}
}

// TestRollingUpgrade upgrades three nodes under load from programs that know the rules of version 1
// to some that know those of version 2, and then begins with these rules, as docs/cluster.md says.
// Nothing is lost or counts twice, all nodes go on, the rules are new once they were asked for, and
// an old program ends.
func TestRollingUpgrade(t *testing.T) {
	for _, kind := range []string{"memlog", "jetstream"} {
		t.Run(kind, func(t *testing.T) {
			on := func(*Config) {}
			if kind == "jetstream" {
				on = onJetStream(t)
			}
			c := newLeakyCluster(t, 3, on)
			c.look()
			c.nodes[0].apply(toy)
			c.agree()
			p := pass(4)
			p.up(c.nodes)
			p.await(20)
			ended := false
			defer func() {
				if !ended {
					p.end()
				}
			}()
			c.roll(p, func(o *Config) { o.Cluster.knows = 2 }, func(int) { c.rules("while programs are replaced", 1) })
			c.roll(p, func(o *Config) { o.Cluster.Rules = 2 }, func(done int) {
				if done < 3 {
					c.rules("while one leads that was not told of the new rules", 1)
				}
			})
			p.await(20)
			ended = true
			p.end()
			c.agree()
			c.rules("at the end", 2)
			for i, m := range c.nodes {
				if err := m.server.writer.err(); err != nil {
					t.Errorf("node %d: %v", i, err)
				}
				if n := m.accepted(); n != int64(p.counted) {
					t.Errorf("node %d counts %d reports, %d were acknowledged", i, n, p.counted)
				}
			}
			if p.accepted == 0 {
				t.Errorf("%d of %d acknowledged reports were new", p.accepted, p.counted)
			}
			t.Logf("%d reports acknowledged, %d of them as new", p.counted, p.accepted)
			m := c.look()
			m.http.Close()
			if err := m.server.Close(); err != nil {
				t.Fatal(err)
			}
			m.up, m.config.Cluster.knows, m.config.Cluster.Rules = false, 0, 0
			if _, err := New(m.config); !isMisfit(err) || noregret.CodeOf(err) != noregret.Usage ||
				!strings.HasSuffix(err.Error(), "want a newer program") {
				t.Errorf("an old program: %v", err)
			}
		})
	}
}
