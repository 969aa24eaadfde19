package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/noregret/noregret/api"
)

// state is what a node says of its state.
type state struct {
	Position uint64 `json:"position"`
	Digest   string `json:"digest"`
}

// agree waits until all nodes are at the same position, and returns an error if the digests differ
// there.
func (c *cluster) agree(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	differ := error(nil)
	err := until(ctx, "all nodes are at one position", func() error {
		states := make([]state, len(c.machines))
		for i := range states {
			if err := c.call(ctx, i, "GET", "/v1/state", "", &states[i]); err != nil {
				return err
			}
		}
		for _, s := range states[1:] {
			if s.Position != states[0].Position {
				return fmt.Errorf("%d and %d", states[0].Position, s.Position)
			}
			if s.Digest != states[0].Digest {
				differ = fmt.Errorf("the digests at position %d differ: %v", s.Position, states)
			}
		}
		return nil
	})
	return errors.Join(err, differ)
}

// counted returns how many items a node counts.
func (c *cluster) counted(ctx context.Context, i int) (n int, err error) {
	err = until(ctx, "a node reports", func() error {
		var r api.Report
		err := c.call(ctx, i, "GET", "/v1/experiments/"+experiment+"/report", "", &r)
		n = int(r.Feedback.Accepted)
		return err
	})
	return n, err
}

// books compares what the nodes count with what was sent in a round, before which they counted
// some. It sends all of it once more.
func (l *load) books(ctx context.Context, before int) (lost, twice, after int, err error) {
	if err := l.c.agree(ctx); err != nil {
		return 0, 0, 0, err
	}
	count, err := l.c.counted(ctx, 0)
	if err != nil {
		return 0, 0, 0, err
	}
	leader, err := l.c.leads(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	again := func(tokens []string) (duplicates, accepted int, err error) {
		for part := range slices.Chunk(tokens, 500) {
			// An attempt without an answer may be stored, so there is no second one.
			r, err := l.c.feedback(ctx, time.Minute, leader, part...)
			if err != nil {
				return 0, 0, err
			}
			duplicates, accepted = duplicates+r.Duplicate, accepted+r.Accepted
		}
		return duplicates, accepted, nil
	}
	known, lost, err := again(l.known)
	if err != nil {
		return 0, 0, 0, err
	}
	stored, fresh, err := again(l.unknown)
	return len(l.known) - known, count - before - known - stored, count + lost + fresh, err
}
