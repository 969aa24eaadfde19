package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// LocalDecision is a decision of [Local.DecideIn]. Keep it for [Local.RecordIn].
type LocalDecision struct {
	policy.Assignment
	// Context is the context that the policy looked at, nil for none.
	Context json.RawMessage
	unit    string
	time    time.Time
}

// localUnits are the reports of single units that wait to be sent.
type localUnits struct {
	items []api.FeedbackItem
	bytes int // of contexts
}

// A batch of units has at most so many items and bytes of contexts.
const (
	localBatch      = 500
	localBatchBytes = 256 << 10
)

// vectors are reused for contexts.
var vectors = sync.Pool{New: func() any { return new([]float64) }}

// DecideIn returns the decision for a unit in a context, a JSON object, which is the service's own
// while both have the same policy. It returns an error if the unit's name does not pass
// [policy.CheckUnit], or the context is not one of the policy's encoder ([policy.Encoder.Encode]).
// A policy that is not contextual, such as after a rollback, does not look at the context.
func (l *Local) DecideIn(unit string, context json.RawMessage) (LocalDecision, error) {
	d := LocalDecision{unit: unit, time: time.Now()}
	if err := policy.CheckUnit("unit", unit); err != nil {
		return d, err
	}
	p := l.policy.Load()
	if p.Linear == nil {
		d.Assignment = p.Decide(unit)
		return d, nil
	}
	buffer := vectors.Get().(*[]float64)
	defer vectors.Put(buffer)
	x, err := p.Linear.Encoder().Encode(*buffer, context)
	if err != nil {
		return d, err
	}
	*buffer = x
	d.Assignment, d.Context = p.DecideIn(unit, x), context
	return d, nil
}

// RecordIn reports a unit as exposed and its metrics, unit by unit, which a contextual policy
// learns from: the service repeats the decision from unit, version and context. Call it once for
// each unit and policy version, when the metrics are known; metrics may be empty. It returns an
// error for metrics that the service would reject, or if [LocalOptions.Queue] units wait, and then
// reports nothing. The caller must not change the context and the metrics afterwards.
func (l *Local) RecordIn(d LocalDecision, metrics map[string]float64) error {
	p := l.policy.Load()
	for name, v := range metrics {
		if err := checkMetric(p, name, v); err != nil {
			return err
		}
	}
	if d.unit == "" {
		return noregret.BadInputf("decision", "not one of DecideIn")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.units.items) >= l.options.Queue {
		return noregret.Errorf(noregret.Internal, "local", "the queue is full: %d units wait", l.options.Queue)
	}
	l.units.bytes += len(d.Context)
	l.units.items = append(l.units.items, api.FeedbackItem{
		Metrics: metrics,
		Decided: &api.Decided{
			Experiment: l.name, Version: d.Version, Unit: d.unit, Context: d.Context, Time: d.time.UnixMilli(),
		},
	})
	return nil
}

// batch returns the oldest units that wait, and the number of their contexts' bytes.
func (u *localUnits) batch() (items []api.FeedbackItem, bytes int) {
	n := 0
	for n < len(u.items) && n < localBatch && (n == 0 || bytes < localBatchBytes) {
		bytes += len(u.items[n].Decided.Context)
		n++
	}
	return u.items[:n:n], bytes
}

// flushUnits sends the units that wait: the exposures of a batch, then its feedback. A batch that
// was not sent goes out with the next Flush; what the service has counted already is then a
// duplicate.
func (l *Local) flushUnits(ctx context.Context) error {
	var refused error
	for {
		l.mu.Lock()
		items, bytes := l.units.batch()
		l.mu.Unlock()
		if len(items) == 0 {
			return refused
		}
		said, err := l.sendUnits(ctx, items)
		refused = errors.Join(refused, said)
		if err != nil && passes(err) {
			return errors.Join(refused, err)
		}
		l.mu.Lock()
		l.units.items = append([]api.FeedbackItem(nil), l.units.items[len(items):]...)
		l.units.bytes -= bytes
		l.mu.Unlock()
		if err != nil {
			return errors.Join(refused, err)
		}
	}
}

// sendUnits sends a batch. Its first result describes the units that the service rejected.
func (l *Local) sendUnits(ctx context.Context, items []api.FeedbackItem) (refused, err error) {
	shown := make([]api.FeedbackItem, len(items))
	var said []api.FeedbackItem
	for i := range items {
		shown[i] = api.FeedbackItem{Decided: items[i].Decided}
		if len(items[i].Metrics) > 0 {
			said = append(said, items[i])
		}
	}
	for _, part := range []struct {
		items []api.FeedbackItem
		send  func(context.Context, ...api.FeedbackItem) (api.FeedbackResult, error)
	}{{shown, l.client.Exposures}, {said, l.client.Feedback}} {
		if len(part.items) == 0 {
			continue
		}
		var result api.FeedbackResult
		err := l.client.persist(ctx, l.options.Waiting, func() (err error) {
			result, err = part.send(ctx, part.items...)
			return err
		})
		if err != nil {
			return refused, err
		}
		for i, f := range result.Items {
			if (f.Status == api.Rejected || f.Status == api.Late) && i < len(part.items) {
				d := part.items[i].Decided
				refused = errors.Join(refused, noregret.BadInputf(fmt.Sprintf("unit %s, version %d", d.Unit, d.Version),
					"the report is %s: %s", f.Status, f.Error))
			}
		}
	}
	return refused, nil
}
