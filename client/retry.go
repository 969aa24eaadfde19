package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/noregret/noregret"
)

// longestPause is the longest pause between two attempts.
const longestPause = 30 * time.Second

// pauses are doubling pauses, up to the longest. The second half of each is random.
type pauses struct{ next, longest time.Duration }

// wait waits for the next pause, or longer if the failure says so (Retry-After). It returns early
// when ctx ends, and reports whether ctx has not ended.
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

// passes reports whether a failure may be temporary: a network failure, an unavailable or
// overloaded service, an access token that is being replaced. Requests that cannot be encoded or
// are refused fail for good.
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
