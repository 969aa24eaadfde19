package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/random"
)

const crashShop = `name: shop
arms: [{name: news, value: 1}, {name: sports, value: 2}, {name: music, value: 3}]
metrics: [{name: reward, range: [0, 1]}]
objective: {goals: [{metric: reward}]}
attribution_window: 8784h
round: {length: 20ms, min_units: 20}
`

// rankedEvent is an event of a client of Personalizer's: what it has sent, and what was answered.
type rankedEvent struct {
	id                          string
	deferred, masked            bool
	action                      string // of the first answer
	ranked, activated, rewarded bool   // answered
}

// step sends what has not been answered yet. It reports whether everything was answered.
func (e *rankedEvent) step(c *http.Client, base string) bool {
	post := func(path string, body, out any, status int) bool {
		b, err := json.Marshal(body)
		if err != nil {
			return false
		}
		resp, err := c.Post(base+path, "application/json", bytes.NewReader(b))
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		return resp.StatusCode == status && (out == nil || json.NewDecoder(resp.Body).Decode(out) == nil)
	}
	if !e.ranked {
		in := map[string]any{
			"eventId": e.id, "deferActivation": e.deferred,
			"actions": []any{
				map[string]any{"id": "news"},
				map[string]any{"id": "sports"},
				map[string]any{"id": "music"},
			},
		}
		if e.masked {
			in["excludedActions"] = []string{"news"}
		}
		var out struct{ RewardActionID string }
		if !post("/rank", in, &out, http.StatusCreated) {
			return false
		}
		e.ranked, e.action = true, out.RewardActionID
	}
	if e.deferred && !e.activated && !post("/events/"+e.id+"/activate", nil, nil, http.StatusNoContent) {
		return false
	}
	e.activated = true
	if !e.rewarded && !post("/events/"+e.id+"/reward", map[string]any{"value": 1}, nil, http.StatusNoContent) {
		return false
	}
	e.rewarded = true
	return true
}

// TestPersonalizerKill kills the service with SIGKILL while clients of Personalizer's use it. After
// each start the state is the fold of the log, and in the end every event counts exactly once.
func TestPersonalizerKill(t *testing.T) {
	kills := 2
	if full() {
		kills = 40
	}
	dir, rng := t.TempDir(), random.New(5, "kill")
	var events []*rankedEvent
	for k := range kills + 1 {
		cmd, url := startChild(t, dir)
		transport := &http.Transport{MaxIdleConnsPerHost: 16}
		h := &http.Client{Transport: transport, Timeout: 20 * time.Second}
		o := client.DefaultOptions(url)
		o.HTTP = h
		c, err := client.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			if _, err := c.Apply(context.Background(), "shop", []byte(crashShop)); err != nil {
				t.Fatal(err)
			}
		}
		base := url + "/v1/experiments/shop/personalizer/v1.0"
		if k < kills {
			var mu sync.Mutex
			var wg sync.WaitGroup
			for w := range 6 {
				wg.Go(func() {
					for i := 0; ; i++ {
						e := &rankedEvent{id: fmt.Sprintf("%d-%d-%d", k, w, i), deferred: i%3 == 0, masked: i%4 == 0}
						mu.Lock()
						events = append(events, e)
						mu.Unlock()
						if !e.step(h, base) {
							return
						}
					}
				})
			}
			timer := time.NewTimer(time.Duration(50+rng.IntN(250)) * time.Millisecond)
			<-timer.C // only the moment is random
			_ = cmd.Process.Kill()
			wg.Wait()
		} else {
			settleRanked(t, c, h, base, events)
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
		transport.CloseIdleConnections()
		checkLog(t, nil, dir)
	}
	t.Logf("%d kills, %d events", kills, len(events))
}

// settleRanked sends what was not answered, ranks every event once more, and checks that each
// counts exactly once.
func settleRanked(t *testing.T, c *client.Client, h *http.Client, base string, events []*rankedEvent) {
	t.Helper()
	for _, e := range events {
		if !e.step(h, base) {
			t.Fatalf("the service that was started again does not answer: %+v", e)
		}
		again := &rankedEvent{id: e.id, deferred: e.deferred, masked: e.masked}
		if !again.step(h, base) || again.action != e.action {
			t.Fatalf("the event %s was ranked %s and is now %s", e.id, e.action, again.action)
		}
	}
	r, err := c.Report(context.Background(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	units, values := int64(0), int64(0)
	for _, a := range r.Arms {
		units += a.N
		values += a.Metrics["reward"].N
	}
	if n := int64(len(events)); units+r.Health.Redrawn != n || values != units || n == 0 || r.Health.Orphans != 0 {
		t.Fatalf("%d events; %d units, %d values, %d drawn again, %d orphans", n, units, values, r.Health.Redrawn,
			r.Health.Orphans)
	}
}
