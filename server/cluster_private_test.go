package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
)

// privateCluster is two nodes with a private experiment that has released once.
func privateCluster(t *testing.T) (c *cluster, leader, other *member) {
	t.Helper()
	c = newCluster(t, 2, func(o *Config) {
		o.noise = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(5)}
	})
	leader, other = c.look(), c.nodes[1]
	other.apply(privateToy) // on the node that leads
	c.privateRound(leader, "a")
	if c.releases(leader) == 0 {
		t.Fatal("no releases")
	}
	return c, leader, other
}

// privateRound reports for some units to a node, and waits until their window has closed.
func (c *cluster) privateRound(m *member, name string) {
	c.t.Helper()
	c.agree()
	m.privateFeedback(units(name, 12), func(int) map[string]float64 { return map[string]float64{"buy": 3} })
	for _, d := range []time.Duration{time.Minute, 20 * time.Minute, 20 * time.Minute, 0} {
		c.clock.wait(d)
		c.look()
		for _, m := range c.nodes {
			if m.up {
				m.server.Tick()
			}
		}
	}
	c.agree()
}

// releases counts the releases in the log of a node.
func (c *cluster) releases(m *member) (n int) {
	c.t.Helper()
	for r, err := range m.log.Read(c.t.Context(), 1) {
		if err != nil {
			c.t.Fatal(err)
		}
		var e experiment.ReleaseEvent
		if r.Kind == experiment.KindRelease && json.Unmarshal(r.Payload, &e) == nil && e.Ended == "" {
			n++
		}
	}
	return n
}

// TestPrivateHandover ends the releases of a private experiment when a node leads that has no
// journal of its noise, says why, and never releases a step twice.
func TestPrivateHandover(t *testing.T) {
	c, leader, other := privateCluster(t)
	if !other.server.writer.privacy.private("secret") {
		t.Error("the node that follows does not know that the experiment is private")
	}
	before := c.releases(leader)
	c.kill(leader)
	if c.succeed() != other {
		t.Fatal("the other node does not lead")
	}
	other.server.Tick()
	var r api.Report
	other.get(200, &r, "GET", "/v1/experiments/secret/report", "")
	const why = "the journal of the noise is on the one that led before"
	if r.Privacy == nil || !strings.Contains(r.Privacy.Ended, why) {
		t.Errorf("%+v", r.Privacy)
	}
	if !strings.Contains(other.logs.String(), "a private experiment releases nothing more") {
		t.Error("the log does not say it")
	}
	status, b := other.do("PUT", "/v1/experiments/secret2",
		strings.Replace(privateToy, "name: secret", "name: secret2", 1), "Content-Type", "application/yaml")
	if status != http.StatusCreated {
		t.Errorf("another private experiment: %d %s", status, b)
	}
	c.start(leader)
	c.privateRound(other, "b")
	c.kill(other)
	if c.succeed() != leader {
		t.Fatal("the first node does not lead again")
	}
	leader.server.Tick()
	c.privateRound(leader, "c")
	if n := c.releases(leader); n != before {
		t.Errorf("%d releases after %d, though the experiment had ended", n, before)
	}
}

// TestPrivateComeback lets the node lead again that has the journal, before another one has made
// anything of it: the releases go on.
func TestPrivateComeback(t *testing.T) {
	c, leader, other := privateCluster(t)
	before := c.releases(leader)
	c.kill(leader)
	if c.succeed() != other {
		t.Fatal("the other node does not lead")
	}
	c.start(leader)
	c.agree()
	c.kill(other)
	if c.succeed() != leader {
		t.Fatal("the first node does not lead again")
	}
	c.privateRound(leader, "b")
	if n := c.releases(leader); n <= before {
		t.Errorf("%d releases after %d: %s", n, before, leader.logs)
	}
}

// TestPagesPassedOn changes an experiment by the form of a node that follows.
func TestPagesPassedOn(t *testing.T) {
	c := newCluster(t, 2)
	leader, other := c.look(), c.nodes[1]
	leader.apply(toy)
	c.agree()
	resp, page := other.world.change("pause", url.Values{"reason": {"a look"}, "confirm": {"yes"}})
	if resp.StatusCode != 303 {
		t.Errorf("%d: %s", resp.StatusCode, page)
	}
	if state, _ := stateOf(t, leader.world); state != policy.Paused {
		t.Errorf("the experiment is %s", state)
	}
	if state, _ := stateOf(t, other.world); state != policy.Paused {
		t.Errorf("where it was asked for, it is %s", state)
	}
	resp, page = other.world.change("resume", url.Values{"secret": {"guessed"}, "confirm": {"yes"}})
	if resp.StatusCode != 403 {
		t.Errorf("a guessed secret: %d: %s", resp.StatusCode, page)
	}
}
