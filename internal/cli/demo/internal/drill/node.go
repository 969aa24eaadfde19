package drill

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
)

// node is a node of the cluster, which may be dead.
type node struct {
	name    string
	address string // HOST:PORT
	args    []string
	program string
	argv0   string
	log     string // the file of its standard error
	client  *client.Client
	http    *http.Client

	mu   sync.Mutex
	cmd  *exec.Cmd
	dead chan struct{} // closed when the process has ended
}

// start starts the process. It does not wait until the node listens.
func (n *node) start() error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return noregret.Errorf(noregret.Internal, n.log, "the file cannot be made: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd := exec.Command(n.program, n.args...)
	if n.argv0 != "" {
		cmd.Args[0] = n.argv0
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return noregret.Errorf(noregret.Internal, n.name, "it cannot be started: %w", err)
	}
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		_, _ = io.Copy(io.Discard, bufio.NewReader(out))
		_ = cmd.Wait()
	}()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cmd, n.dead = cmd, dead
	return nil
}

// kill ends the process with SIGKILL, if it lives, and waits for its end.
func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		_ = n.cmd.Process.Kill()
		<-n.dead
		n.cmd = nil
	}
}

// ended returns an error if the process has ended by itself.
func (n *node) ended() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return nil
	}
	select {
	case <-n.dead:
		return noregret.Errorf(noregret.Internal, n.name, "it has ended: %s", last(n.log))
	default:
		return nil
	}
}

// last returns the last line of a file.
func last(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

// get reads a JSON answer of the node.
func (n *node) get(ctx context.Context, path string, to any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.address+path, nil)
	if err != nil {
		return err
	}
	answer, err := n.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s", n.address, path, answer.Status)
	}
	if to == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(to)
}

// state returns what the node knows of its part.
func (n *node) state(ctx context.Context) (s api.Node, err error) {
	err = n.get(ctx, "/v1/node", &s)
	return s, err
}

// serves reports whether the node takes writes and has reached a position.
func (n *node) serves(ctx context.Context, position uint64) bool {
	if n.get(ctx, "/readyz", nil) != nil || n.get(ctx, "/readyz/writes", nil) != nil {
		return false
	}
	s, err := n.state(ctx)
	return err == nil && s.Leader != "" && s.Position >= position
}

// files writes what all nodes know: the password of the NATS servers and the keys that sign tokens.
func files(dir string, data []string) (secret string, err error) {
	keys := make([]byte, 32)
	_, _ = rand.Read(keys) // never fails
	b, err := json.Marshal(map[string]any{"current": 1, "secrets": map[string][]byte{"1": keys}})
	if err != nil {
		return "", err
	}
	for _, d := range data {
		if err = errors.Join(err, os.MkdirAll(d, 0o700)); err == nil {
			err = os.WriteFile(filepath.Join(d, "keys.json"), b, 0o600)
		}
	}
	secret = filepath.Join(dir, "secret")
	if err = errors.Join(err, os.WriteFile(secret, []byte(rand.Text()), 0o600)); err != nil {
		return "", noregret.Errorf(noregret.Internal, dir, "the files of the nodes cannot be written: %w", err)
	}
	return secret, nil
}

// freeAddresses returns loopback addresses on which nothing listens. They are below the ports that
// systems give to outgoing connections, which could take the address of a node that is dead.
func freeAddresses(n int) (out []string, err error) {
	const low, high = 20_000, 32_000
	// Another command that looks at the same time begins elsewhere.
	for i, first := 0, os.Getpid()*37; i < high-low && len(out) < n; i++ {
		address := fmt.Sprintf("127.0.0.1:%d", low+(first+i)%(high-low))
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		out = append(out, address)
		if err := l.Close(); err != nil {
			return nil, noregret.Errorf(noregret.Internal, address, "%w", err)
		}
	}
	if len(out) < n {
		return nil, noregret.Errorf(noregret.Internal, "", "fewer than %d ports of this machine are free", n)
	}
	return out, nil
}

// wait calls done until it reports true, or returns an error that names what it waited for.
func wait(ctx context.Context, what string, limit time.Duration, done func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		if ok, err := done(ctx); ok || err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return noregret.Errorf(noregret.Internal, "cluster", "%s: not within %v", what, limit)
			}
			return ctx.Err()
		}
	}
}
