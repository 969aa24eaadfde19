package drill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/random"
)

// unit is the name of a visitor.
func unit(visit int) string { return fmt.Sprint("visitor ", visit) }

// liked is how often visitors like an arm.
var liked = map[string]float64{"today": .4, "bold": .5, "calm": .3}

// visitor is a client of all nodes, which is one visitor after the other.
type visitor struct {
	number  int
	rng     *random.Source
	clients [nodes]*client.Client
	calls   *history // of all visitors
}

// visit sends visitors, one after the other, until stop is closed.
func (v *visitor) visit(ctx context.Context, stop <-chan struct{}) {
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

// one is one visitor.
func (v *visitor) one(ctx context.Context) error {
	visit := v.calls.visitor()
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
	begin := v.calls.now()
	o, err := make(v.clients[i])
	if err != nil {
		o = Unknown
		if _, answered := errors.AsType[*client.Error](err); answered {
			o = Refused
		}
	}
	v.calls.note(Call{Client: v.number, Visit: visit, Node: i, Kind: kind, Begin: begin, Outcome: o})
	return o
}
