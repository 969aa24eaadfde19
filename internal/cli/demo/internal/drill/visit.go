package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/random"
)

// Outcome is what a client knows of a call.
type Outcome string

// The outcomes.
const (
	// Done is that of a decision and of an exposure that were answered.
	Done Outcome = "done"
	// Accepted and Duplicate acknowledge a report: it is stored, by this call or by an earlier one.
	Accepted  Outcome = "accepted"
	Duplicate Outcome = "duplicate"
	// Declined is a report that came too late, or broke a rule.
	Declined Outcome = "declined"
	// Refused is an answer that says to try again, such as 503, and Unknown no answer. In both
	// cases the report may have been stored, or be stored later.
	Refused Outcome = "refused"
	Unknown Outcome = "unknown"
)

// Kind is what a call was for.
type Kind string

// The kinds of calls.
const (
	Decide   Kind = "decide"
	Expose   Kind = "expose"
	Feedback Kind = "feedback"
)

// Call is a request with what the client knows of it.
type Call struct {
	Client int // which of the clients that are there at once
	Visit  int // which visitor, from 0
	Node   int // from 0
	Kind   Kind
	Begin  time.Duration // since the cluster was started
	End    time.Duration
	Outcome
}

// History returns all calls so far, in the order of their ends.
func (c *Cluster) History() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.history)
}

// unit is the name of a visitor.
func unit(visit int) string { return fmt.Sprint("visitor ", visit) }

// liked is how often visitors like an arm.
var liked = map[string]float64{"today": .4, "bold": .5, "calm": .3}

// visit sends visitors, one after the other, until stop is closed.
func (c *Cluster) visit(ctx context.Context, stop <-chan struct{}, number int) {
	v := &visitor{Cluster: c, number: number, rng: random.New(c.Seed, fmt.Sprint("visitors ", number))}
	for {
		select {
		case <-stop:
			return
		default:
		}
		if v.one(ctx) != nil {
			return
		}
	}
}

// visitor is a client, which is one visitor after the other.
type visitor struct {
	*Cluster
	number int
	rng    *random.Source
}

// one is one visitor.
func (v *visitor) one(ctx context.Context) error {
	v.mu.Lock()
	visit := v.visits
	v.visits++
	v.mu.Unlock()
	var d api.Decision
	err := v.persist(ctx, visit, Decide, func(c *client.Client) (Outcome, error) {
		all, err := c.Decide(ctx, Experiment, unit(visit))
		if err == nil {
			d = all[0]
		}
		return Done, err
	})
	if err != nil {
		return err
	}
	if err := v.persist(ctx, visit, Expose, func(c *client.Client) (Outcome, error) {
		_, err := c.Exposures(ctx, api.FeedbackItem{Token: d.Token})
		return Done, err
	}); err != nil {
		return err
	}
	value := 0.
	if v.rng.Float64() < liked[d.Arm] {
		value = 1
	}
	report := func(c *client.Client) (Outcome, error) {
		r, err := c.Feedback(ctx, api.FeedbackItem{Token: d.Token, Metrics: map[string]float64{"liked": value}})
		switch {
		case r.Accepted > 0:
			return Accepted, err
		case r.Duplicate > 0:
			return Duplicate, err
		}
		return Declined, err
	}
	if err := v.persist(ctx, visit, Feedback, report); err != nil {
		return err
	}
	if v.rng.IntN(10) == 0 {
		v.call(visit, Feedback, report)
	}
	return sleep(ctx, time.Duration(5+v.rng.IntN(20))*time.Millisecond)
}

// persist makes a call to random nodes until one answers it.
func (v *visitor) persist(ctx context.Context, visit int, kind Kind,
	make func(c *client.Client) (Outcome, error),
) error {
	for {
		if o := v.call(visit, kind, make); o != Refused && o != Unknown {
			return nil
		}
		if err := sleep(ctx, time.Duration(20+v.rng.IntN(60))*time.Millisecond); err != nil {
			return err
		}
	}
}

// call makes a call to a random node, and notes it.
func (v *visitor) call(visit int, kind Kind, make func(c *client.Client) (Outcome, error)) Outcome {
	i := v.rng.IntN(nodes)
	begin := v.now()
	o, err := make(v.nodes[i].client)
	if err != nil {
		o = Unknown
		if _, answered := errors.AsType[*client.Error](err); answered {
			o = Refused
		}
	}
	v.note(Call{Client: v.number, Visit: visit, Node: i, Kind: kind, Begin: begin, Outcome: o})
	return o
}

// note notes a call that has ended now.
func (c *Cluster) note(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.End = c.now()
	c.history = append(c.history, call)
	if call.Kind == Feedback && (call.Outcome == Accepted || call.Outcome == Duplicate) {
		c.writes = append(c.writes, call.End)
	}
}

// written waits until a report that was sent after a time is acknowledged.
func (c *Cluster) written(ctx context.Context, after time.Duration) error {
	return wait(ctx, "no report is acknowledged", patience, func(context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, call := range slices.Backward(c.history) {
			switch {
			case call.End < after:
				return false, nil
			case call.Kind == Feedback && call.Begin > after && call.Outcome == Accepted:
				return true, nil
			}
		}
		return false, nil
	})
}

// gap returns the longest time without an acknowledged report that ends within two times, in
// seconds.
func (c *Cluster) gap(from, to time.Duration) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return longest(c.writes, from, to).Seconds()
}

// longest returns the longest time between two writes of which the second one is within two times.
// If no write follows, the time ends at the second one.
func longest(writes []time.Duration, from, to time.Duration) (gap time.Duration) {
	i, _ := slices.BinarySearch(writes, from)
	previous := from
	if i > 0 {
		previous = writes[i-1]
	}
	for ; i < len(writes) && writes[i] <= to; i++ {
		gap, previous = max(gap, writes[i]-previous), writes[i]
	}
	return max(gap, to-previous)
}
