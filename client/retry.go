package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/noregret/noregret"
)

// longestPause bounds the pauses between attempts of a [Reporter] and a [Local].
const longestPause = 30 * time.Second

// pauses are growing ones, each with a random half.
type pauses struct{ next, longest time.Duration }

// wait waits for the next pause, or for at least as long as the failure says. It reports whether
// ctx still allows to go on.
func (p *pauses) wait(ctx context.Context, failure error) bool {
	wait := p.next/2 + rand.N(p.next/2+1)
	if e, ok := errors.AsType[*Error](failure); ok {
		wait = max(wait, e.after)
	}
	p.next = min(2*p.next, p.longest)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// passes reports whether a failure may pass with time: the network's, a service that is away or has
// too much to do, an access token that is being changed. What cannot be written or is refused does
// not.
func passes(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.temporary() || e.Status == http.StatusUnauthorized
	}
	return noregret.CodeOf(err) == noregret.Internal
}

// persist calls send until it succeeds, fails for good or ctx ends, with growing pauses. failed is
// called with each failure that will be retried, unless it is nil.
func (c *Client) persist(ctx context.Context, failed func(error), send func() error) error {
	p := pauses{c.pause, longestPause}
	for {
		err := send()
		if err == nil || !passes(err) || ctx.Err() != nil {
			return err
		}
		if failed != nil {
			failed(err)
		}
		if !p.wait(ctx, err) {
			return err
		}
	}
}
