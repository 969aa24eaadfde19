package drill

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/random"
)

// Experiment is the name of the experiment.
const Experiment = "visits"

//go:embed visits.yaml
var definition []byte

// Options say what to run.
type Options struct {
	// Program is the path of the command noregret, and Name what it is called by, "" for its path.
	Program, Name string
	// Dir is the directory of all files of the nodes.
	Dir string
	// Kills is the number of nodes to kill, at least 1. Every second one, from the first on, is the
	// one that leads.
	Kills int
	// Seed is that of the visitors and of the choice of nodes.
	Seed uint64
	// Visitors is how many are there at once, 0 for 4.
	Visitors int
	// Say gets lines for people while it runs. Nil means nobody.
	Say func(format string, args ...any)
}

// nodes is the number of nodes.
const nodes = 3

// patience is how long a node may take to start, to come back, or to catch up.
const patience = 2 * time.Minute

// Cluster is a running cluster.
type Cluster struct {
	Options
	nodes [nodes]*node
	rng   *random.Source
	calls *history
}

// Start starts the nodes, waits until all of them serve, and makes the experiment.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Visitors == 0 {
		o.Visitors = 4
	}
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	if o.Kills < 1 {
		return nil, noregret.Errorf(noregret.Usage, "kills", "%d: want at least 1", o.Kills)
	}
	c := &Cluster{Options: o, calls: &history{begin: time.Now()}, rng: random.New(o.Seed, "drill")}
	addresses, err := freeAddresses(2 * nodes)
	if err != nil {
		return nil, err
	}
	var data []string
	for i := range nodes {
		data = append(data, filepath.Join(o.Dir, fmt.Sprint("node", i+1)))
	}
	secret, err := files(o.Dir, data)
	if err != nil {
		return nil, err
	}
	// A dead node refuses connections at once; one that stands still gets this long.
	h := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 5 * time.Second}
	for i := range c.nodes {
		n := &node{
			name: fmt.Sprint("node ", i+1), address: addresses[i], program: o.Program, argv0: o.Name,
			log: data[i] + ".log", http: h,
			args: []string{
				"serve", "--listen", addresses[i], "--data", data[i], "--cluster", "demo",
				"--peers", strings.Join(addresses[nodes:], ","), "--peer", addresses[nodes+i],
				"--cluster-secret-file", secret,
			},
		}
		options := client.DefaultOptions("http://" + n.address)
		options.HTTP, options.Attempts = h, 1
		if n.client, err = client.New(options); err != nil {
			return nil, err
		}
		c.nodes[i] = n
	}
	if err := c.up(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// up starts all nodes and makes the experiment.
func (c *Cluster) up(ctx context.Context) error {
	for _, n := range c.nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := c.back(ctx, n, 0); err != nil {
			return err
		}
	}
	return wait(ctx, "making the experiment", patience, func(ctx context.Context) (bool, error) {
		_, err := c.nodes[0].client.Apply(ctx, Experiment, definition)
		return err == nil, nil
	})
}

// back waits until a node serves and has reached a position.
func (c *Cluster) back(ctx context.Context, n *node, position uint64) error {
	return wait(ctx, n.name+" does not serve", patience, func(ctx context.Context) (bool, error) {
		if err := n.ended(); err != nil {
			return false, err
		}
		return n.serves(ctx, position), nil
	})
}

// Dashboards returns the addresses of the experiment's page on each node.
func (c *Cluster) Dashboards() (out []string) {
	for _, n := range c.nodes {
		out = append(out, "http://"+n.address+"/experiments/"+Experiment)
	}
	return out
}

// History returns all calls so far, in the order of their ends.
func (c *Cluster) History() []Call { return c.calls.all() }

// Close ends the nodes.
func (c *Cluster) Close() {
	var all sync.WaitGroup
	for _, n := range c.nodes {
		all.Go(n.kill)
	}
	all.Wait()
	c.nodes[0].http.CloseIdleConnections()
}

// Death is what came of a kill.
type Death struct {
	Node  int  `json:"node"` // from 1
	Leads bool `json:"leads"`
	// SecondsWithoutWrites is the longest time without an acknowledged report that ends after the
	// kill and before the next one.
	SecondsWithoutWrites float64 `json:"seconds_without_writes"`
	// SecondsAway is how long the process was not there, and SecondsToServe how long it took, once
	// started again, until it took writes and had all events of its return.
	SecondsAway    float64 `json:"seconds_away"`
	SecondsToServe float64 `json:"seconds_to_serve"`

	at time.Duration
}

// Run sends visitors, kills nodes and starts them again, waits until all agree, and counts.
func (c *Cluster) Run(ctx context.Context) (*Result, error) {
	visiting, end := context.WithCancel(ctx)
	defer end()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range c.Visitors {
		v := &visitor{number: i, rng: random.New(c.Seed, fmt.Sprint("visitors ", i)), calls: c.calls}
		for k, n := range c.nodes {
			v.clients[k] = n.client
		}
		all.Go(func() { v.visit(visiting, stop) })
	}
	deaths, err := c.kills(ctx)
	if err != nil {
		end()
	}
	close(stop)
	all.Wait()
	if err != nil {
		return nil, err
	}
	return c.count(ctx, deaths)
}

// kills kills nodes.
func (c *Cluster) kills(ctx context.Context) (deaths []Death, err error) {
	for k := range c.Kills {
		if err := c.pause(ctx, 1000, 2500); err != nil {
			return nil, err
		}
		d, err := c.killOne(ctx, k%2 == 0)
		if err != nil {
			return nil, err
		}
		deaths = append(deaths, d)
		d.SecondsWithoutWrites = c.calls.gap(d.at, c.calls.now())
		who := "follows"
		if d.Leads {
			who = "leads"
		}
		c.Say("kill %d of %d: node %d, which %s; %.1f s without writes; it serves %.1f s after its new start",
			k+1, c.Kills, d.Node, who, d.SecondsWithoutWrites, d.SecondsToServe)
	}
	if err := c.pause(ctx, 500, 1000); err != nil {
		return nil, err
	}
	for i := range deaths {
		until := c.calls.now()
		if i+1 < len(deaths) {
			until = deaths[i+1].at
		}
		deaths[i].SecondsWithoutWrites = c.calls.gap(deaths[i].at, until)
	}
	return deaths, nil
}

// pause waits for a random time in milliseconds.
func (c *Cluster) pause(ctx context.Context, low, high int) error {
	return sleep(ctx, time.Duration(low+c.rng.IntN(high-low))*time.Millisecond)
}

// sleep waits.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// killOne kills the node that leads, or one that follows, and starts it again when the others have
// acknowledged a report.
func (c *Cluster) killOne(ctx context.Context, leader bool) (d Death, err error) {
	i, err := c.choose(ctx, leader)
	if err != nil {
		return d, err
	}
	n := c.nodes[i]
	d = Death{Node: i + 1, Leads: leader, at: c.calls.now()}
	n.kill()
	if err := wait(ctx, "no report is acknowledged", patience, func(context.Context) (bool, error) {
		return c.calls.written(d.at), nil
	}); err != nil {
		return d, err
	}
	if err := c.pause(ctx, 0, 1500); err != nil {
		return d, err
	}
	position := uint64(0)
	for _, other := range c.nodes {
		if s, err := other.state(ctx); err == nil {
			position = max(position, s.Position)
		}
	}
	started := c.calls.now()
	d.SecondsAway = (started - d.at).Seconds()
	if err := n.start(); err != nil {
		return d, err
	}
	err = c.back(ctx, n, position)
	d.SecondsToServe = (c.calls.now() - started).Seconds()
	return d, err
}

// choose returns the number of the node that leads, or of a random one that follows, once a node
// leads and all serve.
func (c *Cluster) choose(ctx context.Context, leader bool) (i int, err error) {
	err = wait(ctx, "no node leads", patience, func(ctx context.Context) (bool, error) {
		leads := -1
		for k, n := range c.nodes {
			if err := n.ended(); err != nil {
				return false, err
			}
			s, err := n.state(ctx)
			if err != nil {
				return false, nil
			}
			if s.Role == "leads" {
				leads = k
			}
		}
		i = leads
		return leads >= 0, nil
	})
	if err == nil && !leader {
		i = (i + 1 + c.rng.IntN(nodes-1)) % nodes
	}
	return i, err
}
