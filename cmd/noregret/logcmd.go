package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server"
)

const logLong = `Verify, repair, export, import and replay the log of the decision service.

The log is in the directory "log" of the service's data directory. While the service runs it
holds the log; "export" and "replay" then ask the service, with --server.`

// newLogCommand makes "noregret log" and the commands below it.
func newLogCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "log",
		Short:   "Verify, repair, export, import and replay the service's log",
		Long:    logLong,
		Example: "  noregret log verify --data data\n  noregret log replay --data data",
		Args:    unknownBelow,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVerifyCommand(a), newRepairCommand(a), newExportCommand(a), newImportCommand(a),
		newReplayCommand(a))
	return cmd
}

func newVerifyCommand(a *app) *cobra.Command {
	data, asJSON := "data", false
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read the whole log and report what is wrong with it",
		Long: `Read the whole log and report what is wrong with it: every event's checksum, position and
link to the one before, both ends, every snapshot. It changes nothing. A log with damage, or
without the file that says what was acknowledged, is bad input (exit status 3); the report names
the first position concerned.`,
		Example: "  noregret log verify --data data",
		Args:    noArgs("verify"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := eventlog.Check(cmd.Context(), vfs.Default, server.LogDir(data))
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(a.stdout, r)
			} else {
				err = writeCheck(a.stdout, r)
			}
			if err != nil {
				return err
			}
			return r.Err()
		},
	}
	cmd.Flags().StringVar(&data, "data", data, "the service's data directory")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func writeCheck(w io.Writer, r *eventlog.Report) error {
	if err := facts(w,
		"events", fmt.Sprintf("%d to %d", r.Base+1, r.Last),
		"acknowledged up to", strconv.FormatUint(r.Acknowledged, 10),
		"bytes", strconv.FormatInt(r.Bytes, 10),
		"snapshots", strconv.Itoa(len(r.Snapshots)),
	); err != nil {
		return err
	}
	for _, f := range r.Findings {
		kind := "damage"
		if f.Harmless {
			kind = "harmless"
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", kind, f.Problem); err != nil {
			return err
		}
	}
	for _, g := range r.Readable {
		if _, err := fmt.Fprintf(w, "whole behind the damage: %d to %d\n", g.First, g.Last); err != nil {
			return err
		}
	}
	if len(r.Findings) == 0 {
		_, err := fmt.Fprintln(w, "the log is sound")
		return err
	}
	return nil
}

func newRepairCommand(a *app) *cobra.Command {
	data, asJSON := "data", false
	var o eventlog.RepairOptions
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Truncate a damaged log to its last whole event",
		Long: `Truncate a damaged log to the last whole event before the first damage, or, with
--from-snapshot, keep what follows the latest whole snapshot. Acknowledged events are dropped
only up to --accept-loss of them; the old files are kept beside the new ones. A sound log is
left alone.`,
		Example: `  noregret log repair --data data
  noregret log repair --data data --accept-loss 3`,
		Args: noArgs("repair"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := eventlog.Repair(cmd.Context(), vfs.Default, server.LogDir(data), o)
			if r == nil {
				return err
			}
			if asJSON {
				return errors.Join(err, writeJSON(a.stdout, r))
			}
			what := "nothing was changed"
			if r.Changed {
				what = fmt.Sprintf("kept %d to %d, dropped %d events", r.Kept.First, r.Kept.Last, r.Lost)
			}
			if r.Unknown {
				what += "; the mark file was lost: events after these may have been acknowledged and be gone"
			}
			if _, e := fmt.Fprintln(a.stdout, what); e != nil {
				return e
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", data, "the service's data directory")
	f.Uint64Var(&o.AcceptLoss, "accept-loss", 0, "acknowledged events that may be dropped")
	f.BoolVar(&o.FromSnapshot, "from-snapshot", false, "keep what follows the latest whole snapshot")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// source is where the events of export and replay come from: a data directory, or a running
// service.
type source struct {
	remote
	data string
}

func (s *source) flags(cmd *cobra.Command) {
	s.remote.flags(cmd)
	cmd.PersistentFlags().Lookup("server").Usage = "URL of a running service to ask, in the place of --data"
	cmd.Flags().StringVar(&s.data, "data", "data", "the service's data directory, when it does not run")
}

// live is whether the service is to be asked.
func (s *source) live() bool { return s.url != "" }

func newExportCommand(a *app) *cobra.Command {
	var s source
	from, output, name := uint64(0), "-", ""
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the log as JSON lines",
		Long: `Write the log as JSON lines, for off-policy evaluation and for replay elsewhere: position,
kind, time and payload, as docs/formats/events.md describes. With --server it is taken of a
running service.`,
		Example: `  noregret log export --data data --output events.jsonl
  noregret log export --server http://127.0.0.1:8430 --experiment ranking`,
		Args: noArgs("export"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			write := func(w io.Writer) error { return s.export(cmd.Context(), w, from, name) }
			if output == "-" {
				return write(a.stdout)
			}
			return atomicfile.Write(output, write)
		},
	}
	s.flags(cmd)
	f := cmd.Flags()
	f.Uint64Var(&from, "from", 0, "position to begin with, 0 for the first one kept")
	f.StringVar(&name, "experiment", "", "only this experiment's events")
	f.StringVarP(&output, "output", "o", output, "file to write, - for standard output")
	return cmd
}

func (s *source) export(ctx context.Context, w io.Writer, from uint64, name string) error {
	if s.live() {
		c, err := s.client()
		if err != nil {
			return err
		}
		body, err := c.Export(ctx, from, name)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, body)
		return errors.Join(err, body.Close())
	}
	return s.open(func(log eventlog.Log) error {
		if from == 0 {
			from = log.Stats().First
		}
		n, err := eventlog.Export(w, func(yield func(eventlog.Record, error) bool) {
			for r, err := range log.Read(ctx, from) {
				if (err != nil || name == "" || experiment.Concerns(r.Payload) == name) && !yield(r, err) {
					return
				}
			}
		})
		if err == nil && n == 0 && name != "" {
			return noregret.Errorf(noregret.NotFound, name,
				"the log has no event of an experiment of this name from position %d on", from)
		}
		return err
	})
}

// open opens the log of the data directory, which must be there.
func (s *source) open(use func(log eventlog.Log) error) error {
	dir := server.LogDir(s.data)
	if _, err := os.Stat(dir); err != nil {
		return noregret.Errorf(noregret.NotFound, dir, "there is no log: want the data directory of a service")
	}
	log, err := eventlog.Open(nil, dir, eventlog.Options{})
	if err != nil {
		return err
	}
	return errors.Join(use(log), log.Close())
}

// replayed is the output of "noregret log replay".
type replayed struct {
	*server.Replay
	Live policy.StateName `json:"live"`
	Same bool             `json:"same"`
}

func newReplayCommand(a *app) *cobra.Command {
	var s source
	asJSON := false
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Fold the log again and compare with the live state",
		Long: `Fold the log again, from its first event, and make every decision that it speaks of anew. Where
the first events have been dropped, as they were older than the service keeps them, the fold
begins with the oldest snapshot. The result is compared with the live state: that of the running
service at --server, or what a service would start with from the data directory (the latest
snapshot and the events behind it).

A state or a decision that differs is a failure (exit status 1).`,
		Example: `  noregret log replay --data data
  noregret log replay --server http://127.0.0.1:8430`,
		Args: noArgs("replay"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := s.replay(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(a.stdout, r)
			} else {
				err = facts(a.stdout, "begun with", begun(r.From), "events", strconv.FormatUint(r.Events, 10),
					"position", strconv.FormatUint(r.Position, 10), "digest", r.Digest,
					"live position", strconv.FormatUint(r.Live.Position, 10), "live digest", r.Live.Digest,
					"decisions", strconv.FormatUint(r.Decisions, 10), "different", strconv.FormatUint(r.Different, 10),
					"of unknown versions", strconv.FormatUint(r.Unknown, 10))
			}
			if err == nil && !r.Same {
				err = noregret.Errorf(noregret.Internal, "replay", "the live state is not the fold of the log")
			}
			if err == nil && r.Different > 0 {
				err = noregret.Errorf(noregret.Internal, "replay", "%d decisions of the log come out otherwise",
					r.Different)
			}
			return err
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (s *source) replay(ctx context.Context) (*replayed, error) {
	var out replayed
	fold := func(state *experiment.State, events iter.Seq2[eventlog.Record, error], upTo uint64) (err error) {
		out.Replay, err = server.ReplayEvents(state, events, upTo)
		if err == nil {
			out.Same = out.Position == out.Live.Position && out.Digest == out.Live.Digest
		}
		return err
	}
	if !s.live() {
		err := s.open(func(log eventlog.Log) error {
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
	c, err := s.client()
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

// begun says what a fold began with.
func begun(from uint64) string {
	if from == 0 {
		return "the first event"
	}
	return fmt.Sprintf("the snapshot of position %d", from)
}

// lines reads exported events.
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
				err = noregret.Errorf(noregret.Internal, "export", "it broke off: %w", err)
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
