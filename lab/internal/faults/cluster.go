package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
)

const (
	stream     = "noregret" // the log of the nodes
	experiment = "toy"
	token      = "faults-admin-token-0123456789"
	patience   = time.Minute // for what must come back by itself
)

const definition = `name: toy
arms:
  - {name: control, value: 0}
  - {name: other, value: 1}
control: {arm: control, share: 0.2}
metrics: [{name: x}]
objective: {goals: [{metric: x}]}
round: {length: 1m, min_units: 10}
attribution_window: 24h
`

// machine is a server and a node.
type machine struct {
	host         string
	ports        [4]int // of clients, of routes, of the monitor, of the node
	dir          string
	space        string // its network namespace, "" for none
	server, node *process
}

func (m *machine) at(port int) string { return net.JoinHostPort(m.host, fmt.Sprint(m.ports[port])) }

// disk is where the server keeps its files.
func (m *machine) disk() string { return filepath.Join(m.dir, "nats") }

// ballast is the name of a file that fills a disk.
func (m *machine) ballast() string { return filepath.Join(m.disk(), "ballast") }

func (m *machine) theServer() *process { return m.server }

func (m *machine) theNode() *process { return m.node }

// processes are what runs on the machine.
func (m *machine) processes() []*process { return []*process{m.server, m.node} }

// cluster is three machines.
type cluster struct {
	dir      string
	machines []*machine
	programs programs
	sync     string // sync_interval of the servers
	spaces   bool   // each machine has a network namespace
	http     *http.Client
	conn     *nats.Conn
	js       jetstream.JetStream
}

// layOut makes the files of three machines, and their networks if they get any. Nothing runs yet.
func layOut(dir string, p programs, spaces bool, sync string) (c *cluster, err error) {
	c = &cluster{dir: dir, programs: p, spaces: spaces, sync: sync}
	c.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	ports := []int{4222, 6222, 8222, 8430}
	if !spaces {
		if ports, err = freePorts(12); err != nil {
			return nil, err
		}
	}
	for i := range 3 {
		m := &machine{host: "127.0.0.1", dir: filepath.Join(dir, fmt.Sprint("m", i))}
		if spaces {
			m.host, m.space = fmt.Sprint("10.77.0.", i+1), fmt.Sprint("m", i)
		}
		copy(m.ports[:], ports[4*i%len(ports):])
		c.machines = append(c.machines, m)
		if err := os.MkdirAll(m.disk(), 0o700); err != nil {
			return nil, err
		}
	}
	if spaces {
		if err := c.wire(); err != nil {
			return nil, err
		}
		for _, m := range c.machines {
			if err := m.mount(); err != nil {
				return nil, err
			}
		}
	}
	tokens := filepath.Join(dir, "tokens.yaml")
	text := fmt.Sprintf("tokens:\n- {name: faults, token: %s, roles: [admin]}\n", token)
	if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
		return nil, err
	}
	for i, m := range c.machines {
		if err := c.configure(i); err != nil {
			return nil, err
		}
		in := func(name string, args ...string) *process {
			if m.space != "" {
				args = append([]string{"ip", "netns", "exec", m.space}, args...)
			}
			name = fmt.Sprint(name, i)
			return &process{
				name: name, args: args, log: filepath.Join(dir, name+".log"), ahead: filepath.Join(dir, name+".ahead"),
			}
		}
		m.server = in("server", p.server, "-c", filepath.Join(m.dir, "nats.conf"))
		m.node = in("node", p.node, "serve", "--listen", m.at(3), "--tokens", tokens, "--data",
			filepath.Join(m.dir, "node"), "--log", strings.Join(c.servers(i), ","), "--stream", stream,
			"--snapshot-every", "2000", "--max-items", "1000")
	}
	return c, nil
}

// configure writes the configuration of a server.
func (c *cluster) configure(i int) error {
	m := c.machines[i]
	var routes []string
	for _, other := range c.machines {
		routes = append(routes, "nats://"+other.at(1))
	}
	text := fmt.Sprintf(`server_name: n%d
listen: %q
http: %q
max_payload: 8MB
jetstream { store_dir: %q, max_mem: 64MB, max_file: 8GB, sync_interval: %s }
cluster { name: faults, listen: %q, routes: [%s] }
`, i, m.at(0), m.at(2), m.disk(), c.sync, m.at(1), strings.Join(routes, ", "))
	return os.WriteFile(filepath.Join(m.dir, "nats.conf"), []byte(text), 0o600)
}

// servers are the addresses of all servers, that of one machine first.
func (c *cluster) servers(first int) (out []string) {
	for i := range c.machines {
		out = append(out, "nats://"+c.machines[(first+i)%len(c.machines)].at(0))
	}
	return out
}

// freePorts returns ports that nobody uses. They lie below those of outgoing connections, one of
// which would otherwise take the port of a process that is down.
func freePorts(n int) (out []int, err error) {
	for port := 20_000 + os.Getpid()*31%10_000; len(out) < n; port++ {
		if port > 32_000 {
			return nil, errors.New("no free ports from 20000 to 32000")
		}
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		out = append(out, port)
	}
	return out, nil
}

// start starts all machines and defines the experiment.
func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, m := range c.machines {
		if err := m.server.start(); err != nil {
			return err
		}
	}
	for _, m := range c.machines {
		if err := c.healthy(ctx, m); err != nil {
			return err
		}
	}
	var err error
	c.conn, err = nats.Connect(strings.Join(c.servers(0), ","), nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(500*time.Millisecond), nats.MaxPingsOutstanding(2),
		nats.Timeout(500*time.Millisecond))
	if err != nil {
		return err
	}
	if c.js, err = jetstream.New(c.conn, jetstream.WithDefaultTimeout(time.Second)); err != nil {
		return err
	}
	for i, m := range c.machines {
		if i > 0 { // all nodes have the keys of the first one
			keys, err := os.ReadFile(filepath.Join(c.machines[0].dir, "node", "keys.json"))
			if err == nil {
				err = os.MkdirAll(filepath.Join(m.dir, "node"), 0o700)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(m.dir, "node", "keys.json"), keys, 0o600)
			}
			if err != nil {
				return err
			}
		}
		if err := m.node.start(); err != nil {
			return err
		}
		if err := c.ready(ctx, i); err != nil {
			return err
		}
	}
	return until(ctx, "the experiment is defined", func() error {
		return c.call(ctx, 0, "PUT", "/v1/experiments/"+experiment, definition, nil)
	})
}

// close ends all processes.
func (c *cluster) close() {
	if c.conn != nil {
		c.conn.Close()
	}
	for _, m := range c.machines {
		for _, p := range m.processes() {
			p.kill()
		}
	}
}

// until tries something until it works.
func until(ctx context.Context, what string, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			return noregret.Errorf(noregret.Internal, "cluster", "waiting in vain until %s: %w", what, err)
		}
	}
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// healthy waits until a server says that it has what it should.
func (c *cluster) healthy(ctx context.Context, m *machine) error {
	return until(ctx, m.server.name+" is healthy", func() error {
		return c.send(ctx, "GET", "http://"+m.at(2)+"/healthz", "", nil)
	})
}

// ready waits until a node is ready.
func (c *cluster) ready(ctx context.Context, i int) error {
	return until(ctx, c.machines[i].node.name+" is ready", func() error {
		return c.call(ctx, i, "GET", "/readyz", "", nil)
	})
}

// call calls a node. It waits for a second.
func (c *cluster) call(ctx context.Context, i int, method, path, body string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return c.send(ctx, method, "http://"+c.machines[i].at(3)+path, body, into)
}

// send sends a request. An answer that is no success is an error, too.
func (c *cluster) send(ctx context.Context, method, url, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if method == "PUT" {
		r.Header.Set("Content-Type", "application/yaml")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(b))
	}
	if into != nil {
		err = json.Unmarshal(b, into)
	}
	return err
}

// leads returns the machine whose node leads.
func (c *cluster) leads(ctx context.Context) (out int, err error) {
	err = until(ctx, "a node leads", func() error {
		for i := range c.machines {
			var n api.Node
			if err := c.call(ctx, i, "GET", "/v1/node", "", &n); err == nil && n.Role == "leads" {
				out = i
				return nil
			}
		}
		return errors.New("none does")
	})
	return out, err
}

// streams returns the machine whose server leads the stream of the nodes, and leases that whose
// server leads the bucket of their lease.
func (c *cluster) streams(ctx context.Context) (int, error) { return c.elected(ctx, stream) }

func (c *cluster) leases(ctx context.Context) (int, error) {
	return c.elected(ctx, "KV_"+stream+"-lease")
}

// elected returns the machine whose server leads a stream.
func (c *cluster) elected(ctx context.Context, name string) (out int, err error) {
	err = until(ctx, "the stream "+name+" has a leader", func() error {
		s, err := c.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		info := s.CachedInfo()
		if info.Cluster == nil {
			return errors.New("it has none")
		}
		out = slices.IndexFunc(c.machines, func(m *machine) bool {
			return "n"+m.server.name[len("server"):] == info.Cluster.Leader
		})
		if out < 0 {
			return fmt.Errorf("%q leads it", info.Cluster.Leader)
		}
		return nil
	})
	return out, err
}
