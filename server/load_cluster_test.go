package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
)

// The benchmark of a cluster (make bench-cluster) runs noregret serve on this machine: one process
// on its own log, and three with NATS servers of their own. All share the processors and the disk,
// so that what counts is the ratio.

// clusterToy is loadToy with a window in which all tokens are in time, so that items are counted.
var clusterToy = strings.Replace(loadToy, "window: 1s", "window: 1h", 1)

// noregretCommand returns the path of the program: that in NOREGRET_LOAD_COMMAND, or one that it
// builds.
func noregretCommand(b *testing.B) string {
	b.Helper()
	if command := os.Getenv("NOREGRET_LOAD_COMMAND"); command != "" {
		return command
	}
	command := filepath.Join(b.TempDir(), "noregret")
	b.Setenv("NOREGRET_LOAD_COMMAND", command) // for start
	if out, err := exec.Command("go", "build", "-o", command, "../cmd/noregret").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return command
}

// freeAddresses returns addresses of this machine that nobody uses, below the ports of outgoing
// connections, which could take one of them.
func freeAddresses(b *testing.B, n int) (out []string) {
	b.Helper()
	for port := 22000; len(out) < n && port < 32000; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		out = append(out, l.Addr().String())
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	if len(out) < n {
		b.Fatal("no free ports")
	}
	return out
}

// clusterOf is three nodes.
type clusterOf struct {
	command string
	peers   []string
	listen  []string
	data    []string
	secret  string
	keys    []byte
	flags   []string
	nodes   []*clusterNode
}

// clusterNode is the process of a node, with what it has logged.
type clusterNode struct {
	process
	said bytes.Buffer
}

// startCluster starts three nodes with the same keys and waits until they know who leads.
func startCluster(b *testing.B, command string, flags ...string) *clusterOf {
	b.Helper()
	free := freeAddresses(b, 6)
	c := &clusterOf{
		command: command, peers: free[:3], listen: free[3:], secret: filepath.Join(b.TempDir(), "secret"), flags: flags,
	}
	if err := os.WriteFile(c.secret, []byte("the password of a benchmark"), 0o600); err != nil {
		b.Fatal(err)
	}
	c.makeKeys(b)
	for i := range c.peers {
		c.data = append(c.data, filepath.Join(b.TempDir(), "data"))
		c.empty(b, i)
		c.nodes = append(c.nodes, c.start(b, i))
	}
	for _, p := range c.nodes {
		p.await(b, func(n api.Node) bool { return n.Leader != "" })
	}
	return c
}

// start starts the process of a node.
func (c *clusterOf) start(b *testing.B, i int) *clusterNode {
	b.Helper()
	args := append([]string{
		"serve", "--listen", c.listen[i], "--data", c.data[i], "--log-level", "warn",
		"--cluster", "bench", "--peers", strings.Join(c.peers, ","), "--peer", c.peers[i],
		"--cluster-secret-file", c.secret,
	}, c.flags...)
	p := &clusterNode{process: process{address: c.listen[i], cmd: exec.Command(c.command, args...)}}
	p.cmd.Stderr = &p.said
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.stop)
	return p
}

// node returns what a node says of itself.
func (p *clusterNode) node() (n api.Node, err error) {
	resp, err := http.Get("http://" + p.address + "/v1/node")
	if err != nil {
		return n, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return n, fmt.Errorf("status %d", resp.StatusCode)
	}
	return n, json.NewDecoder(resp.Body).Decode(&n)
}

// await asks a node until it says what is wanted.
func (p *clusterNode) await(b *testing.B, wanted func(api.Node) bool) api.Node {
	b.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(2 * time.Minute); ; {
		n, err := p.node()
		if err == nil && wanted(n) {
			return n
		}
		select {
		case <-tick.C:
		case <-end:
			p.stop()
			b.Fatalf("the node %s is %+v, %v: %s", p.address, n, err, p.said.String())
		}
	}
}

// roles returns the node that leads, and the place of one that follows.
func (c *clusterOf) roles(b *testing.B) (leads *clusterNode, follows int) {
	b.Helper()
	for i, p := range c.nodes {
		if n := p.await(b, func(n api.Node) bool { return n.Leader != "" }); n.Role == "leads" {
			leads = p
		} else {
			follows = i
		}
	}
	if leads == nil {
		b.Fatal("no node leads")
	}
	return leads, follows
}

// makeKeys makes the keys of all nodes, by a service that is alone.
func (c *clusterOf) makeKeys(b *testing.B) {
	b.Helper()
	dir := b.TempDir()
	p := &process{cmd: exec.Command(c.command, "serve", "--data", dir, "--listen", "127.0.0.1:0")}
	startProcess(b, p.cmd)
	p.stop()
	var err error
	if c.keys, err = os.ReadFile(filepath.Join(dir, "keys.json")); err != nil {
		b.Fatal(err)
	}
}

// empty makes the directory of a node that has nothing but the keys.
func (c *clusterOf) empty(b *testing.B, i int) {
	b.Helper()
	if err := os.RemoveAll(c.data[i]); err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(c.data[i], 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.data[i], "keys.json"), c.keys, 0o600); err != nil {
		b.Fatal(err)
	}
}

// stored returns the bytes of the stream's messages on a node.
func (c *clusterOf) stored(b *testing.B, i int) (n int64) {
	b.Helper()
	dir := filepath.Join(c.data[i], "nats", "jetstream", "$G", "streams", "noregret", "msgs")
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(d.Name(), ".blk") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// decided returns tokens of decisions.
func decided(b *testing.B, c *client.Client, prefix string, n int) (tokens []string) {
	b.Helper()
	for len(tokens) < n {
		units := make([]string, 1000)
		for i := range units {
			units[i] = fmt.Sprint(prefix, len(tokens)+i)
		}
		ds, err := c.Decide(context.Background(), "load", units...)
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range ds {
			tokens = append(tokens, d.Token)
		}
	}
	return tokens
}

// reports opens connections that report tokens, so many a request, each once if there are enough.
func reports(tokens []string, batch int) func(p *process, path string) connect {
	var at atomic.Int64
	return func(p *process, path string) connect {
		return plain(p, path, func(b []byte, _ int) []byte {
			b = append(b, `{"items":[`...)
			for j := range batch {
				if j > 0 {
					b = append(b, ',')
				}
				b = append(b, `{"token":"`...)
				b = append(b, tokens[int(at.Add(1))%len(tokens)]...)
				b = append(b, `","metrics":{"x":1.5}}`...)
			}
			return append(b, "]}"...)
		})
	}
}

// BenchmarkCluster compares a node alone with the nodes of a cluster, in turns within one run.
func BenchmarkCluster(b *testing.B) {
	command := noregretCommand(b)
	alone := start(b, "service")
	one := alone.apply(b, "load", clusterToy)
	c := startCluster(b, command)
	leads, follows := c.roles(b)
	three := leads.apply(b, "load", clusterToy)
	c.nodes[follows].await(b, func(n api.Node) bool { return n.Position > 1 })
	const turns, each = 3, time.Second
	for _, load := range []struct {
		name, path  string
		batch       int
		connections int
		tokens      int
	}{
		{"decide, one unit a request", "decide", 0, 1, 0},
		{"decide, one unit a request", "decide", 0, 64, 0},
		{"feedback, one item a request", "/v1/feedback", 1, 1, 50_000},
		{"feedback, one item a request", "/v1/feedback", 1, 64, 100_000},
		{"feedback, 100 items a request", "/v1/feedback", 100, 1, 400_000},
		{"feedback, 100 items a request", "/v1/feedback", 100, 64, 1_000_000},
	} {
		if load.path == "decide" {
			load.path = "/v1/experiments/load/decide"
		}
		all := []*measured{
			{process: alone, name: "alone"},
			{process: &leads.process, name: "to the node that leads"},
			{process: &c.nodes[follows].process, name: "to a node that follows"},
		}
		open := make([]func(p *process, path string) connect, len(all))
		for i := range all {
			all[i].path = load.path
			if load.batch == 0 {
				open[i] = func(p *process, path string) connect {
					return plain(p, path, func(b []byte, i int) []byte { return appendUnits(b, 1, i) })
				}
				continue
			}
			of := three
			if i == 0 {
				of = one
			}
			prefix := fmt.Sprint(load.batch, "-", load.connections, "-", i, "-")
			open[i] = reports(decided(b, of, prefix, load.tokens), load.batch)
		}
		cpu := make([]time.Duration, len(all))
		groups := make([]float64, len(all))
		for range turns {
			for i, m := range all {
				writer := &leads.process
				if i == 0 {
					writer = alone
				}
				cpu[i] -= c.processor(alone)
				groups[i] -= writer.metric(b, "noregret_log_groups_total")
				m.turn(b, load.connections, each, open[i])
				cpu[i] += c.processor(alone)
				groups[i] += writer.metric(b, "noregret_log_groups_total")
			}
		}
		b.Logf("%s, %d connections:", load.name, load.connections)
		items := max(load.batch, 1)
		first := float64(len(all[0].durations))
		for i, m := range all {
			n := float64(len(m.durations))
			b.Logf("    %s: %.0f items/s, %s, %v of processor time of all, %.0f groups/s; ratio %.2f", m.name,
				n*float64(items)/(turns*each).Seconds(), quantiles(m.durations),
				(cpu[i] / time.Duration(max(n, 1))).Round(100*time.Nanosecond),
				groups[i]/(turns*each).Seconds(), n/first)
		}
	}
}

// processor returns the time that all nodes and another process have used the processors.
func (c *clusterOf) processor(other *process) time.Duration {
	sum := other.processor()
	for _, p := range c.nodes {
		sum += p.processor()
	}
	return sum
}

// catchUp starts a node with an empty directory and measures how long it takes to the log's end.
func (c *clusterOf) catchUp(b *testing.B, i int, leads *clusterNode) {
	b.Helper()
	n, err := leads.node()
	if err != nil {
		b.Fatal(err)
	}
	size := c.stored(b, i)
	c.nodes[i].stop()
	c.empty(b, i)
	begin := time.Now()
	c.nodes[i] = c.start(b, i)
	c.nodes[i].await(b, func(api.Node) bool { return true })
	listens := time.Since(begin)
	c.nodes[i].await(b, func(now api.Node) bool { return now.Position >= n.Position })
	took := time.Since(begin)
	b.Logf("an empty node: %d events of %.0f MB in %v: %.0f events/s, %.1f MB/s; it listens after %v", n.Position,
		float64(size)/1e6, took.Round(time.Millisecond), float64(n.Position)/took.Seconds(),
		float64(size)/1e6/took.Seconds(), listens.Round(time.Millisecond))
}

// BenchmarkClusterCatchUp measures how long an empty node takes to the end of a log without a
// snapshot, and of the same with one.
func BenchmarkClusterCatchUp(b *testing.B) {
	command := noregretCommand(b)
	for _, flags := range [][]string{
		{"--snapshot-every", "1000000000", "--snapshot-bytes", "1000000000000"},
		nil,
	} {
		b.Logf("flags: %q", flags)
		c := startCluster(b, command, flags...)
		leads, _ := c.roles(b)
		of := leads.apply(b, "load", clusterToy)
		for _, batch := range []int{1, 100} {
			m := &measured{process: &leads.process, path: "/v1/feedback"}
			tokens := decided(b, of, fmt.Sprint("u", batch, "-"), 100_000*min(batch, 10))
			m.turn(b, writers, 8*time.Second, reports(tokens, batch))
		}
		for i := range c.nodes {
			if c.nodes[i] != leads {
				c.catchUp(b, i, leads)
			}
		}
		for _, p := range c.nodes {
			p.stop()
		}
	}
}
