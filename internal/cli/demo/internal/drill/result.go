package drill

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// Result is what came of a run.
type Result struct {
	// Acknowledged is the number of visitors whose report was acknowledged.
	Acknowledged int `json:"acknowledged"`
	// Counted is the number of reports that the state of the nodes has counted. It is more than
	// Acknowledged if a report without an answer was stored and its visitor had no time to ask.
	Counted int64 `json:"counted"`
	// DuplicatesCounted is by how many reports Counted exceeds the visitors whose report is in the
	// log.
	DuplicatesCounted int64 `json:"duplicates_counted"`
	// Kills is the number of nodes that were killed.
	Kills int `json:"kills"`
	// DigestsEqual says whether all nodes had the same state at the same position of the log.
	DigestsEqual bool `json:"digests_equal"`
	// SecondsWithoutWrites is the longest time without an acknowledged report.
	SecondsWithoutWrites float64 `json:"seconds_without_writes"`

	// Lost is the number of visitors whose report was acknowledged and is not in the log, or that
	// the state has not counted.
	Lost int64 `json:"lost"`
	// AcceptedTwice is the number of reports that were accepted as new more than once.
	AcceptedTwice int `json:"accepted_twice"`
	// Repeated is the number of acknowledgements beyond the first of a visitor, and Declined those
	// of reports that came too late.
	Repeated int `json:"repeated"`
	Declined int `json:"declined"`
	// Refused and Unknown are the numbers of calls that were answered by an error, and not at all.
	Refused int `json:"refused"`
	Unknown int `json:"unknown"`
	// Position is that of the compared states, and Seconds how long the visitors came.
	Position uint64  `json:"position"`
	Seconds  float64 `json:"seconds"`
	Deaths   []Death `json:"deaths"`

	// InLog has the visitors whose report is in the log. One that was sent again may be there
	// again; the state counts it once.
	InLog map[int]bool `json:"-"`
}

// Fault returns an error that says which promise was broken, nil for none.
func (r *Result) Fault() error {
	fault := func(format string, args ...any) error {
		return noregret.Errorf(noregret.Internal, "cluster", format, args...)
	}
	switch {
	case r.Lost > 0:
		return fault("%d reports were acknowledged and do not count", r.Lost)
	case r.DuplicatesCounted > 0:
		return fault("%d reports count more than once", r.DuplicatesCounted)
	case r.AcceptedTwice > 0:
		return fault("%d reports were accepted as new more than once", r.AcceptedTwice)
	case !r.DigestsEqual:
		return fault("the states of the nodes differ")
	}
	return nil
}

// count waits until the nodes agree and returns the result.
func (c *Cluster) count(ctx context.Context, deaths []Death) (*Result, error) {
	names, err := c.settle(ctx)
	if err != nil {
		return nil, err
	}
	r := &Result{
		Kills: len(deaths), Deaths: deaths, Position: names[0].Position, DigestsEqual: true,
		Seconds: c.calls.now().Seconds(),
	}
	for _, name := range names {
		r.DigestsEqual = r.DigestsEqual && name == names[0]
	}
	for _, d := range deaths {
		r.SecondsWithoutWrites = max(r.SecondsWithoutWrites, d.SecondsWithoutWrites)
	}
	n := c.nodes[0]
	report, err := n.client.Report(ctx, Experiment)
	if err != nil {
		return nil, err
	}
	p, err := n.client.Policy(ctx, Experiment, "", 0)
	if err != nil {
		return nil, err
	}
	log, err := n.client.Export(ctx, 0, Experiment)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	inLog, err := reports(log)
	if err != nil {
		return nil, err
	}
	r.Counted = report.Feedback.Accepted
	r.compare(c.History(), func(visit int) bool { return inLog[policy.FormatUnit(p.Unit(unit(visit)))] })
	return r, nil
}

// compare compares what the clients know with what counts. The function in reports whether the log
// has the report of a visitor.
func (r *Result) compare(history []Call, in func(visit int) bool) {
	acknowledged, accepted, visits := map[int]int{}, map[int]int{}, 0
	for _, call := range history {
		visits = max(visits, call.Visit+1)
		switch call.Outcome {
		case Refused:
			r.Refused++
		case Unknown:
			r.Unknown++
		case Declined:
			r.Declined++
		case Accepted:
			accepted[call.Visit]++
			acknowledged[call.Visit]++
		case Duplicate:
			acknowledged[call.Visit]++
		}
	}
	r.InLog = map[int]bool{}
	distinct := int64(0)
	for visit := range visits {
		if in(visit) {
			r.InLog[visit] = true
			distinct++
		}
		if acknowledged[visit] > 0 {
			r.Acknowledged++
			r.Repeated += acknowledged[visit] - 1
			if !r.InLog[visit] {
				r.Lost++
			}
		}
		if accepted[visit] > 1 {
			r.AcceptedTwice++
		}
	}
	r.DuplicatesCounted = max(r.Counted-distinct, 0)
	r.Lost = max(r.Lost, int64(r.Acknowledged)-r.Counted)
}

// settle waits until all nodes have the same position, and returns the names of their states there.
// A node whose state differs stops, so that they never meet: then their names differ as well.
func (c *Cluster) settle(ctx context.Context) (names [nodes]api.StateName, err error) {
	answered := false
	err = wait(ctx, "the nodes do not answer", patience, func(ctx context.Context) (bool, error) {
		var now [nodes]api.StateName
		for i, n := range c.nodes {
			if err := n.ended(); err != nil {
				return false, err
			}
			var err error
			if now[i], err = n.client.State(ctx); err != nil {
				return false, nil
			}
		}
		answered, names = true, now
		return names[0].Position == names[1].Position && names[1].Position == names[2].Position, nil
	})
	if answered && ctx.Err() == nil {
		return names, nil
	}
	return names, err
}

// reports returns the units, by their hashes, of which an export of the log has a report.
func reports(r io.Reader) (map[string]bool, error) {
	in := map[string]bool{}
	d := json.NewDecoder(bufio.NewReader(r))
	for {
		var line struct {
			Kind    string
			Payload json.RawMessage
		}
		if err := d.Decode(&line); err == io.EOF {
			return in, nil
		} else if err != nil {
			return nil, noregret.Errorf(noregret.Internal, "export", "%w", err)
		}
		if line.Kind != "feedback" {
			continue
		}
		var payload struct {
			Items []struct {
				Unit string `json:"u"`
			}
		}
		if err := json.Unmarshal(line.Payload, &payload); err != nil {
			return nil, noregret.Errorf(noregret.Internal, "export", "%w", err)
		}
		for _, item := range payload.Items {
			in[item.Unit] = true
		}
	}
}
