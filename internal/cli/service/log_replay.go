package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/server"
)

// replayOptions are the flags of "noregret log replay".
type replayOptions struct {
	source
	command.Output
}

// replayed is the output of "noregret log replay".
type replayed struct {
	*server.Replay
	Live api.StateName `json:"live"`
	Same bool          `json:"same"`
}

// newReplayCommand makes "noregret log replay".
func newReplayCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "replay",
		Short: "Fold the log again and compare the result with the live state",
		Long: `Fold the log again from its first event, and repeat every decision that it records.
If the service has already dropped the first events, the fold begins with the oldest snapshot. The
result is compared with the live state: the state of the running service at --server, or the state
with which a service would start from the data directory (the latest snapshot and the events after
it; with --log the one in the bucket of the stream).

The log says what was served, so a state, a decision or an explanation that differs is a failure
(exit status 1). The present policies are asked, too, what they propose where the log has a
proposal: a later version of noregret may propose something else, which is information and no
failure.`,
		Example: `  noregret log replay --data data
  noregret log replay --server http://127.0.0.1:8430
  noregret log replay --log nats://n0:4222,nats://n1:4222,nats://n2:4222`,
		Args: command.NoArgs,
	}, &replayOptions{})
}

// AddFlags implements [command.Options].
func (o *replayOptions) AddFlags(f *pflag.FlagSet) {
	o.source.AddFlags(f)
	o.Output.AddFlags(f)
}

// Validate implements [command.Options].
func (o *replayOptions) Validate() error { return o.source.Validate() }

// Run implements [command.Options].
func (o *replayOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	r, err := o.replay(ctx, a)
	if err != nil {
		return err
	}
	if o.JSON {
		err = show.JSON(a.Stdout, r)
	} else {
		err = show.KeyValues(a.Stdout, "begun with", begun(r.From), "events", strconv.FormatUint(r.Events, 10),
			"position", strconv.FormatUint(r.Position, 10), "digest", r.Digest,
			"live position", strconv.FormatUint(r.Live.Position, 10), "live digest", r.Live.Digest,
			"decisions", strconv.FormatUint(r.Decisions, 10), "different", strconv.FormatUint(r.Different, 10),
			"of unknown versions", strconv.FormatUint(r.Unknown, 10),
			"explanations", strconv.FormatUint(r.Explanations, 10), "wrong", strconv.FormatUint(r.Misexplained, 10),
			"proposals", strconv.FormatUint(r.Proposals, 10), "other today", strconv.FormatUint(r.Changed, 10))
	}
	if err == nil && !r.Same {
		err = noregret.Errorf(noregret.Internal, "replay", "the live state is not the fold of the log")
	}
	if err == nil && r.Different > 0 {
		err = noregret.Errorf(noregret.Internal, "replay", "%d decisions of the log have another result",
			r.Different)
	}
	if err == nil && r.Misexplained > 0 {
		err = noregret.Errorf(noregret.Internal, "replay", "%d decisions of the log are explained wrongly",
			r.Misexplained)
	}
	return err
}

// replay folds the log again and compares the result with the live state.
func (o *replayOptions) replay(ctx context.Context, a *command.App) (*replayed, error) {
	var out replayed
	fold := func(state *experiment.State, events iter.Seq2[eventlog.Record, error], upTo uint64) (err error) {
		out.Replay, err = server.ReplayEvents(state, events, upTo)
		if err == nil {
			out.Same = out.Position == out.Live.Position && out.Digest == out.Live.Digest
		}
		return err
	}
	if !o.live() {
		err := o.open(ctx, a, func(log eventlog.Log) error {
			state, _, err := server.Recover(ctx, log)
			if err != nil {
				return err
			}
			out.Live.Position = state.Position()
			if out.Live.Digest, err = state.Digest(); err != nil {
				return err
			}
			origin, err := server.Origin(ctx, log)
			if err != nil {
				return err
			}
			return fold(origin, log.Read(ctx, origin.Position()+1), 0)
		})
		return &out, err
	}
	c, err := o.client()
	if err != nil {
		return nil, err
	}
	origin := experiment.NewState()
	saved, err := c.Snapshot(ctx)
	if err == nil && saved != nil {
		err = origin.UnmarshalBinary(saved)
	}
	if err != nil {
		return nil, err
	}
	if out.Live, err = c.State(ctx); err != nil {
		return nil, err
	}
	body, err := c.Export(ctx, origin.Position()+1, "")
	if err != nil {
		return nil, err
	}
	err = fold(origin, lines(body), out.Live.Position)
	return &out, errors.Join(err, body.Close())
}

// begun describes the state that a replay began with.
func begun(from uint64) string {
	if from == 0 {
		return "the first event"
	}
	return fmt.Sprintf("the snapshot of position %d", from)
}

// lines reads the events of an export.
func lines(r io.Reader) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		b := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := b.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			var e struct {
				Position uint64          `json:"position"`
				Kind     string          `json:"kind"`
				Time     int64           `json:"time"`
				Payload  json.RawMessage `json:"payload"`
			}
			if err == nil {
				err = json.Unmarshal(line, &e)
			}
			if err != nil {
				err = noregret.Errorf(noregret.Internal, "export", "the export broke off: %w", err)
			}
			if !yield(eventlog.Record{
				Position: e.Position,
				Event:    eventlog.Event{Kind: e.Kind, Time: e.Time, Payload: e.Payload},
			}, err) || err != nil {
				return
			}
		}
	}
}
