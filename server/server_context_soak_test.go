package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/server"
)

// soakNews is a contextual experiment whose rounds and windows are short enough to learn within a
// test.
const soakNews = `name: news
arms: [{name: a, value: 0}, {name: b, value: 1}, {name: c, value: 2}, {name: d, value: 3}]
control: {arm: a}
metrics: [{name: like, range: [0, 1], default: 0}]
objective: {goals: [{metric: like}]}
policy: {kind: lin-thompson}
context:
  - {name: age, kind: number, range: [0, 1]}
  - {name: land, kind: category, values: [de, fr, it]}
  - {name: query, kind: text-hash, buckets: 8, optional: true}
exploration_floor: 0.05
hold_back: 0.05
round: {length: 100ms, min_units: 100}
attribution_window: 1s
open_tokens: 1000000
`

// soakUnit returns a unit's context and the reward that each arm would bring.
func soakUnit(i int) (api.UnitContext, [4]float64) {
	r := random.New(uint64(i), "soak")
	age, land := float64(int(1000*r.Float64()))/1000, int(3*r.Float64())
	text := fmt.Sprintf(`{"age": %v, "land": %q`, age, []string{"de", "fr", "it"}[land])
	if i%4 == 0 {
		text += `, "query": "way home"`
	}
	u := api.UnitContext{ID: fmt.Sprint("unit-", i), Context: json.RawMessage(text + "}")}
	var like [4]float64
	for k, p := range []float64{age, 1 - age, 0.35 + 0.3*float64(land%2), 0.4} {
		if r.Float64() < p {
			like[k] = 1
		}
	}
	return u, like
}

// soaking is what the client of the soak knows.
type soaking struct {
	waiting     [][]api.FeedbackItem // feedback of batches that has not been sent
	answered    int                  // units whose decisions were answered
	first, last [2]float64           // the rewards and the number of the first and last units
	even        float64              // what arms drawn evenly would have brought to all
	reached     func(unit int)
	measure     *[2]float64
}

// run decides for units first to last in batches. Feedback is sent three batches later, a tenth of
// it never and some of it twice. It returns the first unit without an answer when the service
// fails.
func (s *soaking) run(c *client.Client, first, last int) (next int) {
	const batch = 100
	ctx := context.Background()
	for first < last {
		n := min(batch, last-first)
		units, likes := make([]api.UnitContext, n), make([][4]float64, n)
		for i := range n {
			units[i], likes[i] = soakUnit(first + i)
		}
		if s.reached != nil {
			s.reached(first)
		}
		ds, err := c.DecideIn(ctx, "news", units...)
		if err != nil {
			return first
		}
		var said []api.FeedbackItem
		for i, d := range ds {
			like := likes[i][strings.Index("abcd", d.Arm)]
			s.answered++
			s.measure[0] += like
			s.measure[1]++
			for _, v := range likes[i] {
				s.even += v / 4
			}
			if (first+i)%10 != 7 { // lost
				said = append(said, api.FeedbackItem{Token: d.Token, Metrics: map[string]float64{"like": like}})
			}
			if (first+i)%20 == 3 { // sent twice
				said = append(said, said[len(said)-1])
			}
		}
		first += n
		if s.waiting = append(s.waiting, said); len(s.waiting) > 3 {
			said, s.waiting = s.waiting[0], s.waiting[1:]
			if _, err := c.Feedback(ctx, said...); err != nil {
				return first
			}
		}
	}
	return first
}

// soakChild starts the service in a process of its own.
func soakChild(t *testing.T, dir string) (*exec.Cmd, *client.Client, func()) {
	t.Helper()
	cmd, url := startChild(t, dir)
	transport := &http.Transport{MaxIdleConnsPerHost: 4}
	o := client.DefaultOptions(url)
	o.Attempts, o.HTTP = 1, &http.Client{Transport: transport, Timeout: time.Minute}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, c, transport.CloseIdleConnections
}

// TestContextualSoak runs a contextual experiment through HTTP with late, lost and repeated
// feedback, and kills the service with SIGKILL in the middle of a batch. Afterwards the state is
// the one that an undisturbed fold of the same events has, every logged decision can be repeated,
// nothing answered is lost, and the policy has learned. The long form (make contextual-soak) has
// 100,000 units.
func TestContextualSoak(t *testing.T) {
	all := 4000
	if full() {
		all = 100_000
	}
	dir, s, ctx := t.TempDir(), &soaking{}, context.Background()
	s.measure = &s.first
	cmd, c, end := soakChild(t, dir)
	if _, err := c.Apply(ctx, "news", []byte(soakNews)); err != nil {
		t.Fatal(err)
	}
	began, middle := time.Now(), make(chan struct{})
	var once sync.Once
	s.reached = func(unit int) {
		if unit >= 1000 {
			s.measure = new([2]float64)
		}
		if unit >= all/2 {
			once.Do(func() { close(middle) })
		}
	}
	killed := make(chan int, 1)
	go func() { killed <- s.run(c, 0, all) }()
	<-middle // the request for a batch is about to be sent
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	next := <-killed
	_ = cmd.Wait()
	end()
	checkLog(t, nil, dir)
	if next >= all {
		t.Fatalf("the service was killed after the last of %d units", all)
	}
	s.reached = nil
	cmd, c, end = soakChild(t, dir)
	s.soak(t, c, next, all)
	took := time.Since(began)
	r, err := c.Report(ctx, "news")
	if err != nil {
		t.Fatal(err)
	}
	name, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	end()
	checkLog(t, nil, dir)
	undisturbed(t, dir, name)
	if n := r.Health.Exposures.Accepted; n < int64(s.answered) {
		t.Errorf("%d exposures are counted, %d units were answered", n, s.answered)
	}
	early, late, even := s.first[0]/s.first[1], s.last[0]/s.last[1], s.even/float64(s.answered)
	t.Logf("%d units in %v, killed at unit %d: version %d, %d exposures, feedback %+v; mean reward of the first units "+
		"%.3f, of the last %.3f, of arms drawn evenly %.3f", s.answered, took.Round(time.Second), next, r.Version,
		r.Health.Exposures.Accepted, r.Feedback, early, late, even)
	if late < even+0.05 {
		t.Errorf("the last units brought %.3f, arms drawn evenly %.3f: nothing was learned", late, even)
	}
}

// soak continues after the restart up to all units, and further until the policy has learned from
// some versions and then decided for a thousand units.
func (s *soaking) soak(t *testing.T, c *client.Client, next, all int) {
	t.Helper()
	until := func(last int) {
		t.Helper()
		if next = s.run(c, next, last); next != last {
			t.Fatalf("after the restart the service failed at unit %d", next)
		}
	}
	until(all)
	for learned := 0; learned < 5; {
		if next > all+1_000_000 {
			t.Fatalf("after %d units the policy has learned from %d versions", next, learned)
		}
		r, err := c.Report(context.Background(), "news")
		if err != nil {
			t.Fatal(err)
		}
		learned = 0
		for _, v := range r.History {
			if v.Units > 0 && v.Metrics["like"] != nil {
				learned++
			}
		}
		until(next + 100)
	}
	s.measure = &s.last
	until(next + 1000)
}

// undisturbed folds the log from its first event, as a service that is never killed does, and fails
// the test unless the state at a position is the named one.
func undisturbed(t *testing.T, dir string, want api.StateName) {
	t.Helper()
	log, err := eventlog.Open(nil, server.LogDir(dir), eventlog.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	got, err := server.ReplayEvents(experiment.NewState(), log.Read(context.Background(), 1), want.Position)
	if err != nil {
		t.Fatal(err)
	}
	if got.Position != want.Position || got.Digest != want.Digest || got.Different > 0 || got.Unknown > 0 {
		t.Errorf("the service that was killed has %+v, an undisturbed fold %+v", want, got)
	}
	t.Logf("%d events, %d decisions repeated, digest %.12s", got.Events, got.Decisions, got.Digest)
}
