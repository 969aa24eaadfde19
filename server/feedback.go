package server

import (
	"net/http"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// feedbackAPI accepts exposures, feedback and aggregates. It answers when they are durable.
type feedbackAPI struct {
	config   *Config
	signer   *policy.Signer
	policies *policyTable
	live     *liveState
	writer   *writer
	metrics  *metrics
}

func (a *feedbackAPI) routes() []web.Route {
	return []web.Route{
		{Method: "POST", Pattern: "/v1/exposures", Role: access.Feedback, Serve: a.exposures},
		{Method: "POST", Pattern: "/v1/feedback", Role: access.Feedback, Serve: a.feedback},
		{Method: "POST", Pattern: "/v1/aggregates", Role: access.Feedback, Serve: a.aggregates},
	}
}

func (a *feedbackAPI) feedback(w http.ResponseWriter, r *http.Request) error {
	return a.units(w, r, experiment.KindFeedback)
}

func (a *feedbackAPI) exposures(w http.ResponseWriter, r *http.Request) error {
	return a.units(w, r, experiment.KindExposures)
}

// units accepts feedback or exposures. It verifies the tokens; the fold decides everything else.
func (a *feedbackAPI) units(w http.ResponseWriter, r *http.Request, kind string) error {
	var in struct {
		Items []policy.FeedbackItem `json:"items"`
	}
	if err := web.ReadJSON(r, &in); err != nil {
		return err
	}
	if err := checkCount(a.config, "items", len(in.Items)); err != nil {
		return err
	}
	f := policy.FeedbackResult{Items: make([]policy.ItemResult, len(in.Items))}
	entries, now := a.policies.all(), a.config.Now()
	events, where := map[string]*experiment.UnitsEvent{}, map[string][]int{}
	of := func(name string) *experiment.UnitsEvent {
		if events[name] == nil {
			events[name] = &experiment.UnitsEvent{Experiment: name, Items: []experiment.UnitEvent{}}
		}
		return events[name]
	}
	again := &repeater{live: a.live, entries: entries}
	for i := range in.Items {
		item := &in.Items[i]
		t, err := a.decision(item, again, now)
		switch {
		case err == nil && entries[t.Experiment] == nil:
			err = noSuch(t.Experiment)
		case err == nil && kind == experiment.KindExposures && len(item.Metrics) > 0:
			err = noregret.BadInputf("metrics", "an exposure has no metrics: post them to /v1/feedback")
		case err == nil && kind == experiment.KindFeedback && len(item.Context) > 0:
			err = noregret.BadInputf("context", "feedback has no context: post it with the exposure")
		}
		if err != nil {
			f.Items[i] = policy.ItemResult{Status: policy.Rejected, Error: err.Error()}
			if name := claimed(item); entries[name] != nil {
				of(name).Rejected++
			}
			continue
		}
		e := of(t.Experiment)
		u := experiment.UnitOf(t, item.Metrics)
		u.Context = item.Context
		e.Items = append(e.Items, u)
		where[t.Experiment] = append(where[t.Experiment], i)
	}
	var c command
	var names []string
	for name := range events {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		ev, err := experiment.NewEvent(kind, 0, events[name])
		if err != nil {
			return err
		}
		c.events = append(c.events, ev)
	}
	outcomes, err := a.writer.submit(r.Context(), &c)
	if err != nil {
		return err
	}
	for i, name := range names {
		placeOutcome(f.Items, where[name], &outcomes[i])
	}
	f.Count()
	a.metrics.count(kind, f.Items)
	return web.WriteJSON(w, http.StatusOK, f)
}

// decision returns the token of an item: the one that it has, verified, or the one of a decision
// that the client made, which is repeated. The item's context is then that of the decision;
// feedback has none.
func (a *feedbackAPI) decision(item *policy.FeedbackItem, again *repeater, now time.Time) (policy.Token, error) {
	if item.Decided == nil {
		return a.signer.Verify(item.Token, now)
	}
	if item.Token != "" || len(item.Context) > 0 {
		return policy.Token{}, noregret.BadInputf("decided", "the item has a token or a context, too: want one of them")
	}
	t, context, err := again.token(item.Decided, now)
	if item.Metrics == nil {
		item.Context = context
	}
	return t, err
}

// claimed returns the experiment that an item names, whether that is true or not; "" for none.
func claimed(item *policy.FeedbackItem) string {
	if item.Decided != nil {
		return item.Decided.Experiment
	}
	c, _ := policy.DecodeUnverified(item.Token)
	return c.Experiment
}

// placeOutcome copies the items of an outcome to their places in the request.
func placeOutcome(items []policy.ItemResult, where []int, o *experiment.Outcome) {
	for j, i := range where {
		if o.Err != nil || j >= len(o.Items) { // the experiment was deleted meanwhile
			items[i] = policy.ItemResult{Status: policy.Rejected, Error: "the experiment was deleted"}
			continue
		}
		items[i] = o.Items[j]
	}
}

// aggregates accepts sums that a client has computed itself.
func (a *feedbackAPI) aggregates(w http.ResponseWriter, r *http.Request) error {
	var in policy.Aggregate
	if err := web.ReadJSON(r, &in); err != nil {
		return err
	}
	if err := checkCount(a.config, "items", len(in.Items)); err != nil {
		return err
	}
	if a.policies.get(in.Experiment) == nil {
		return noSuch(in.Experiment)
	}
	if in.Source == "" || len(in.Source) > 200 || in.Sequence == 0 {
		return noregret.BadInputf("source",
			"want a source of 1 to 200 bytes and a sequence number from 1")
	}
	ev, err := experiment.NewEvent(experiment.KindAggregate, 0, in)
	if err != nil {
		return err
	}
	outcomes, err := a.writer.submit(r.Context(), &command{events: []experiment.Event{ev}})
	if err != nil {
		return err
	}
	if outcomes[0].Err != nil {
		return outcomes[0].Err
	}
	f := policy.FeedbackResult{Items: outcomes[0].Items}
	f.Count()
	a.metrics.count(experiment.KindAggregate, f.Items)
	return web.WriteJSON(w, http.StatusOK, f)
}
