package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server/edge"
	"github.com/noregret/noregret/server/servicetest"
)

// edgeProgram is the name under which the test binary is "noregret edge".
const edgeProgram = "noregret-test-edge"

func init() { programs[edgeProgram] = func() { os.Exit(command.Main(cmds)) } }

const edgeToy = `name: toy
arms:
  - {name: control, value: {"price": 1}}
  - {name: gain, value: "<b>"}
  - {name: guard, value: -1}
control: {arm: control, share: 0.2}
metrics:
  - {name: x}
  - {name: clicks, kind: count, default: 0}
objective: {goals: [{metric: x}]}
round: {length: 1h}
attribution_window: 1h
stickiness: unit
`

// upstream is a service that can be away.
type upstream struct {
	url    string
	client *client.Client
	away   atomic.Bool
}

func newUpstream(t *testing.T, definition string) *upstream {
	t.Helper()
	u := new(upstream)
	_, u.url = servicetest.Start(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if u.away.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	u.client = clientOf(t, u.url)
	if _, err := u.client.Apply(t.Context(), "toy", []byte(definition)); err != nil {
		t.Fatal(err)
	}
	return u
}

func clientOf(t *testing.T, url string) *client.Client {
	t.Helper()
	o := client.DefaultOptions(url)
	o.Attempts = 1
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startEdge starts an edge as a process of its own.
func startEdge(t *testing.T, u *upstream, dir string) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd = exec.Command(edgeProgram, "edge", "--upstream", u.url, "--experiments", "toy", "--data", dir,
		"--listen", "127.0.0.1:0", "--every", "20ms", "--log-level", "error")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the edge did not start: %v", err)
	}
	return cmd, strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
}

func names(from, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint("user-", from+i))
	}
	return out
}

func ready(t *testing.T, url string) (r edge.Readiness) {
	t.Helper()
	resp, err := http.Get(url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	return r
}

// An edge gives each unit what the service gives it, also when it begins without the service.
func TestEdgeDecidesAsTheService(t *testing.T) {
	u, dir := newUpstream(t, edgeToy), t.TempDir()
	cmd, url := startEdge(t, u, dir)
	units := names(0, 10_000)
	want, err := u.client.Decide(t.Context(), "toy", units...)
	if err != nil {
		t.Fatal(err)
	}
	compare := func(url string) []api.Decision {
		t.Helper()
		got, err := clientOf(t, url).Decide(t.Context(), "toy", units...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			g, w := got[i], want[i]
			if g.Token == w.Token {
				t.Fatal("the token is that of the service, whose key the edge has not")
			}
			g.Token, w.Token = "", ""
			if fmt.Sprint(g) != fmt.Sprint(w) {
				t.Fatalf("%+v, want %+v", g, w)
			}
		}
		return got
	}
	decided := compare(url)

	// Without the service: the policy of the last run, whose age is told; tokens of it hold.
	u.away.Store(true)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "toy.policy.json"), old, old); err != nil {
		t.Fatal(err)
	}
	_, url = startEdge(t, u, dir)
	compare(url)
	r := ready(t, url)
	if len(r.Policies) != 1 || r.Policies[0].Experiment != "toy" || r.Policies[0].AgeSeconds < 3600 {
		t.Errorf("%+v, want a policy that is an hour old", r)
	}
	c := clientOf(t, url)
	items := []api.FeedbackItem{
		{Token: decided[0].Token, Metrics: map[string]float64{"x": 1}},
		{Token: decided[0].Token, Metrics: map[string]float64{"x": 1}},
		{Token: want[1].Token, Metrics: map[string]float64{"x": 1}},
		{Token: decided[1].Token, Metrics: map[string]float64{"y": 1}},
		{Token: decided[1].Token},
	}
	f, err := c.Feedback(t.Context(), items...)
	var got []string
	for _, i := range f.Items {
		got = append(got, string(i.Status))
	}
	if err != nil || strings.Join(got, " ") != "accepted duplicate rejected rejected accepted" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.Decide(t.Context(), "other", "u"); err == nil || !strings.Contains(err.Error(), "it has toy") {
		t.Errorf("another experiment: %v", err)
	}

	// It finds the service again, and the age is that of the last poll.
	u.away.Store(false)
	waitFor(t, func() bool { return ready(t, url).Policies[0].AgeSeconds < 3600 && exposed(t, u) == 2 })
}

// exposed is the number of units that the service counts.
func exposed(t *testing.T, u *upstream) (n int64) {
	t.Helper()
	r, err := u.client.Report(t.Context(), "toy")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Arms {
		n += a.N
	}
	return n
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 3000 {
		if done() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Error("it does not come")
}

// An edge is killed twenty times under load, and its reports are lost on the way now and then. Its
// clients send again what had no answer, and some of what had one. The service counts every unit
// once.
func TestEdgeIsKilled(t *testing.T) {
	u, dir := newUpstream(t, edgeToy), t.TempDir()
	const workers, rounds = 4, 20
	var sent, again, known atomic.Int64
	var unanswered, answered [workers][]api.FeedbackItem
	// report reports a unit and returns what has become of it.
	report := func(c *client.Client, item api.FeedbackItem) (api.ItemStatus, error) {
		f, err := c.Feedback(context.Background(), item)
		if err != nil {
			return "", err
		}
		return f.Items[0].Status, nil
	}
	// settle sends again what a worker has sent to an edge that was killed.
	settle := func(c *client.Client, w int) error {
		if n := len(answered[w]); n > 0 {
			switch status, err := report(c, answered[w][n-1]); {
			case err != nil:
				return err
			case status != api.Duplicate:
				t.Errorf("a unit that was acknowledged is %s after a restart", status)
			}
		}
		for len(unanswered[w]) > 0 {
			status, err := report(c, unanswered[w][0])
			if err != nil {
				return err
			}
			if again.Add(1); status == api.Duplicate {
				known.Add(1)
			}
			answered[w] = append(answered[w], unanswered[w][0])
			unanswered[w] = unanswered[w][1:]
		}
		return nil
	}
	for round := range rounds {
		cmd, url := startEdge(t, u, dir)
		stop, load := make(chan struct{}), sync.WaitGroup{}
		for w := range workers {
			load.Go(func() {
				c := clientOf(t, url)
				if settle(c, w) != nil {
					return // killed
				}
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					ds, err := c.Decide(context.Background(), "toy", fmt.Sprintf("u-%d-%d-%d", round, w, i))
					if err != nil {
						return // killed
					}
					sent.Add(1)
					item := api.FeedbackItem{Token: ds[0].Token, Metrics: map[string]float64{"x": 1, "clicks": 2}}
					if _, err := report(c, item); err != nil {
						unanswered[w] = append(unanswered[w], item)
						return
					}
					answered[w] = append(answered[w], item)
				}
			})
		}
		goal := sent.Load() + 20
		waitFor(t, func() bool { return sent.Load() >= goal })
		u.away.Store(round%3 == 1) // the next one begins without the service
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		close(stop)
		load.Wait()
	}
	u.away.Store(false)
	_, url := startEdge(t, u, dir)
	for w := range workers {
		if err := settle(clientOf(t, url), w); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return exposed(t, u) >= sent.Load() })
	waitFor(t, func() bool { return emptyOutbox(t, dir) })
	n := exposed(t, u)
	t.Logf("%d units, %d sent again, of which %d had been counted", sent.Load(), again.Load(), known.Load())
	if n != sent.Load() {
		t.Errorf("%d units were counted, want %d", n, sent.Load())
	}
}

// emptyOutbox reports whether nothing is left to be sent.
func emptyOutbox(t *testing.T, dir string) bool {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "toy.outbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ Pending, Sums any }
	if err := json.Unmarshal(b, &kept); err != nil {
		t.Fatal(err)
	}
	return kept.Pending == nil && kept.Sums == nil
}

func TestEdgeRefuses(t *testing.T) {
	const all = "edge --upstream http://127.0.0.1:1 --experiments toy --data d "
	cmds.Refused(t,
		clitest.Refusal{"edge --experiments toy --data d", "--upstream: is required"},
		clitest.Refusal{"edge --upstream http://127.0.0.1:1 --data d", "--experiments: is required"},
		clitest.Refusal{all + "--every 0s", "--every: 0s is out of range"},
		clitest.Refusal{all + "--remember 0", "--remember: 0 is out of range"},
		clitest.Refusal{"edge --upstream http://127.0.0.1:1 --experiments= --data d", "--experiments: it has no name"},
		clitest.Refusal{all + "--experiments ../x", `--experiments: "../x" is not the name`},
		clitest.Refusal{all + "--listen 0.0.0.0:0", "listen: 0.0.0.0:0 can be reached by others"},
		clitest.Refusal{all + "now", "edge takes no arguments, got \"now\""},
	)
}
