package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/personalizer"
)

// byUnit records decisions that the service keeps, and what is reported on them by the unit. It is
// the service of package personalizer.
type byUnit struct {
	config   *Config
	policies *policyTable
	live     *liveState
	intake   *intake
	writer   *writer
	metrics  *metrics
}

var _ personalizer.Service = (*byUnit)(nil)

// Policy implements [personalizer.Service].
func (a *byUnit) Policy(name string) (*policy.Policy, *policy.Encoder, error) {
	e := a.policies.get(name)
	if e == nil {
		return nil, nil, a.policies.noSuch(name)
	}
	return e.policy, e.encoder, nil
}

// Definition implements [personalizer.Service].
func (a *byUnit) Definition(name string) (*definition.Definition, error) {
	return a.live.Definition(name)
}

// KeptArm implements [personalizer.Service].
func (a *byUnit) KeptArm(name string, unit uint64) (arm int, ok bool) {
	return a.live.keptArm(name, unit)
}

// Keep implements [personalizer.Service].
func (a *byUnit) Keep(r *http.Request, name string, e join.Unit) (api.ItemResult, error) {
	e.Time = a.config.Now().UnixMilli()
	principal := a.intake.principal(r)
	_, release, err := a.intake.reserve(principal, name, 1)
	defer release()
	if err != nil {
		item := api.ItemResult{Status: api.Rejected, Error: err.Error()}
		a.intake.note(name, experiment.KindExposures, item)
		return item, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.config.RequestTime)
	defer cancel()
	item, err := a.submit(ctx, experiment.KindExposures, name, e)
	if err != nil {
		return item, err
	}
	a.intake.note(name, experiment.KindExposures, item)
	if item.Status == api.Accepted {
		a.intake.count(principal, name, 1)
	}
	if entry := a.policies.get(name); entry != nil && item.Status != api.Rejected && item.Status != api.Late {
		entry.counts.decisions.Inc()
	}
	return item, nil
}

// Expose implements [personalizer.Service].
func (a *byUnit) Expose(r *http.Request, name string, unit uint64) (api.ItemResult, error) {
	return a.submit(r.Context(), experiment.KindExposures, name, join.Unit{Unit: policy.FormatUnit(unit)})
}

// Feedback implements [personalizer.Service].
func (a *byUnit) Feedback(r *http.Request, name string, unit uint64, metrics map[string]float64,
) (api.ItemResult, error) {
	item, err := a.submit(r.Context(), experiment.KindFeedback, name,
		join.Unit{Unit: policy.FormatUnit(unit), Metrics: metrics})
	if err == nil {
		a.metrics.count(experiment.KindFeedback, []api.ItemResult{item}, nil)
	}
	return item, err
}

// submit makes an event of one item durable and returns the item's result.
func (a *byUnit) submit(ctx context.Context, kind, name string, item join.Unit) (api.ItemResult, error) {
	e, err := experiment.NewUnits(kind, 0,
		&join.Units{Experiment: name, Items: []join.Unit{item}})
	if err != nil {
		return api.ItemResult{}, err
	}
	outcomes, err := a.writer.submit(ctx, &command{events: []experiment.Event{e}})
	if err != nil {
		return api.ItemResult{}, err
	}
	// The experiment may have been deleted meanwhile.
	if o := &outcomes[0]; o.Err != nil || len(o.Items) != 1 {
		return api.ItemResult{}, cmp.Or(o.Err, errors.New("no result"))
	}
	return outcomes[0].Items[0], nil
}
