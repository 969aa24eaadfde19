package faults

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/noregret/noregret/api"
)

// workers is how many clients send feedback at once, each one item after the other.
const workers = 4

// load is what clients have sent to the nodes, and what they were told.
type load struct {
	c     *cluster
	run   int
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu       sync.Mutex
	problem  error       // the latest one
	times    []time.Time // of the acknowledgements
	known    []string    // the tokens of items that were acknowledged
	unknown  []string    // of those that were sent and never answered
	oddities map[string]int
}

// startLoad starts the clients.
func (c *cluster) startLoad(ctx context.Context, run int) *load {
	sending, stop := context.WithCancel(ctx)
	l := &load{c: c, run: run, stop: stop, oddities: map[string]int{}}
	for w := range workers {
		l.ended.Go(func() { l.work(ctx, sending, w) })
	}
	return l
}

// end lets the clients wait for the answer to what they have sent, and ends them.
func (l *load) end() {
	l.stop()
	l.ended.Wait()
}

// work sends one item after the other until sending ends. An item without an answer is sent again,
// to the next node, as clients do.
func (l *load) work(ctx, sending context.Context, w int) {
	at := w % len(l.c.machines)
	for n := 0; sending.Err() == nil; n++ {
		unit := fmt.Sprintf("%d-%d-%d", l.run, w, n)
		token, ok := l.decide(sending, &at, unit)
		if !ok {
			return
		}
		l.report(ctx, &at, token)
	}
}

// decide asks nodes for a decision until one makes it.
func (l *load) decide(ctx context.Context, at *int, unit string) (token string, ok bool) {
	for {
		var out api.Decisions
		err := l.c.call(ctx, *at, "POST", "/v1/experiments/"+experiment+"/decide", fmt.Sprintf(`{"units": [%q]}`, unit), &out)
		if err == nil && len(out.Decisions) == 1 {
			return out.Decisions[0].Token, true
		}
		l.failed(err)
		if !l.next(ctx, at) {
			return "", false
		}
	}
}

// note notes something that the table names.
func (l *load) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.oddities[what]++
}

// failed notes an attempt that has failed.
func (l *load) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problem = err
}

// next lets a client go on to the next node.
func (l *load) next(ctx context.Context, at *int) bool {
	*at = (*at + 1) % len(l.c.machines)
	return pause(ctx, 20*time.Millisecond)
}

// report sends an item until it is acknowledged.
func (l *load) report(ctx context.Context, at *int, token string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		result, err := l.c.feedback(ctx, time.Second, *at, token)
		if err == nil {
			switch status := result.Items[0].Status; status {
			case api.Accepted, api.Duplicate:
				l.mu.Lock()
				l.times, l.known = append(l.times, time.Now()), append(l.known, token)
				l.mu.Unlock()
				return
			default:
				l.note(fmt.Sprint(status, ": ", result.Items[0].Error))
			}
		}
		l.failed(err)
		if !l.next(ctx, at) {
			l.mu.Lock()
			l.unknown = append(l.unknown, token)
			l.mu.Unlock()
			return
		}
	}
}

// feedback sends feedback to a node, and waits for the answer for some time.
func (c *cluster) feedback(ctx context.Context, wait time.Duration, i int, tokens ...string) (
	out api.FeedbackResult, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var items []string
	for _, t := range tokens {
		items = append(items, fmt.Sprintf(`{"token": %q, "metrics": {"x": 1}}`, t))
	}
	err = c.send(ctx, "POST", "http://"+c.machines[i].at(3)+"/v1/feedback", `{"items": [`+strings.Join(items, ",")+`]}`,
		&out)
	if err == nil && len(out.Items) != len(tokens) {
		err = fmt.Errorf("%d results for %d items", len(out.Items), len(tokens))
	}
	return out, err
}

// since returns the longest time without an acknowledgement from a time on.
func (l *load) since(from time.Time) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := from
	for _, t := range l.times {
		if t.After(from) {
			longest, last = max(longest, t.Sub(last)), t
		}
	}
	return longest
}

// flows waits until each client has had some acknowledgements.
func (l *load) flows(ctx context.Context) error {
	l.mu.Lock()
	target := len(l.times) + 20*workers
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return until(ctx, "feedback is acknowledged", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.times) < target {
			return fmt.Errorf("%d of %d, %w", len(l.times), target, l.problem)
		}
		return nil
	})
}

// acknowledged returns how many items were acknowledged so far.
func (l *load) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.known)
}
