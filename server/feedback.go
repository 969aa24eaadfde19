package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/legible"
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
	intake   *intake
	writer   *writer
	metrics  *metrics
}

func (a *feedbackAPI) routes() []web.Route {
	const tag = "feedback"
	answers := web.Answers{200: web.JSON("What became of each item", api.FeedbackResult{}), 413: web.TooMuch}
	return []web.Route{
		{
			Method: "POST", Pattern: "/v1/exposures", Role: access.Feedback, Pages: a.config.CORSFeedback,
			Scoped: true, Appends: web.Always, Serve: a.exposures,
			ID: "postExposures", Tag: tag, Summary: "Units that saw what was decided; answered when durable",
			Body: exposures{}, Answers: answers,
		},
		{
			Method: "POST", Pattern: "/v1/feedback", Role: access.Feedback, Pages: a.config.CORSFeedback,
			Scoped: true, Appends: web.Always, Serve: a.feedback,
			ID: "postFeedback", Tag: tag, Summary: "Metrics of units; answered when durable",
			Body: feedback{}, Answers: answers,
		},
		{
			Method: "POST", Pattern: "/v1/aggregates", Role: access.Aggregate, Scoped: true, Appends: web.Always,
			Serve: a.aggregates,
			ID:    "postAggregates", Tag: tag,
			Summary: "Sums that a source formed itself, once for each of its sequence numbers",
			About:   "The token must allow the source.", Body: api.Aggregate{}, Answers: answers,
		},
	}
}

// exposures is the body of exposures.
type exposures struct {
	Items []exposure `json:"items" minItems:"1"`
}

// exposure is an item of exposures: an [api.FeedbackItem] without metrics.
type exposure struct {
	Token   string          `json:"token,omitempty"`
	Context json.RawMessage `json:"context,omitempty" schema:"Context"`
	Decided *api.Decided    `json:"decided,omitempty"`
}

// feedback is the body of feedback.
type feedback struct {
	Items []outcome `json:"items" minItems:"1"`
}

// outcome is an item of feedback: an [api.FeedbackItem] without context.
type outcome struct {
	Token   string             `json:"token,omitempty"`
	Decided *api.Decided       `json:"decided,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

func (a *feedbackAPI) feedback(w http.ResponseWriter, r *http.Request) error {
	return a.units(w, r, experiment.KindFeedback)
}

func (a *feedbackAPI) exposures(w http.ResponseWriter, r *http.Request) error {
	return a.units(w, r, experiment.KindExposures)
}

// units accepts feedback or exposures. It verifies the tokens; the fold decides everything else.
func (a *feedbackAPI) units(w http.ResponseWriter, r *http.Request, kind string) error {
	items, bad, err := readItems(r, a.config)
	if err != nil {
		return err
	}
	f := api.FeedbackResult{Items: make([]api.ItemResult, len(items))}
	now := a.config.Now()
	events, where := map[string]*join.Units{}, map[string][]int{}
	var secret map[int]bool // feedback of private experiments, which is not counted
	of := func(name string, i int) *join.Units {
		secret = a.noteSecret(secret, kind, name, i)
		if events[name] == nil {
			events[name] = &join.Units{Experiment: name, Items: []join.Unit{}}
		}
		return events[name]
	}
	again, principal := &repeater{live: a.live, table: a.policies}, a.intake.principal(r)
	var strays []int // rejected items that count for no experiment
	for i := range items {
		item := &items[i]
		t, owner, err := a.verify(principal, item, again, now)
		if bad[i] != nil {
			err = bad[i]
		}
		if err == nil {
			err = fits(kind, item)
		}
		if err != nil {
			f.Items[i] = api.ItemResult{Status: api.Rejected, Error: err.Error()}
			if owner != "" {
				of(owner, i).Rejected++
				a.intake.note(owner, kind, f.Items[i])
			} else if secret = a.noteSecret(secret, kind, t.Experiment, i); !secret[i] {
				strays = append(strays, i)
			}
			continue
		}
		e := of(t.Experiment, i)
		u := join.UnitOf(t, item.Metrics)
		u.Context = item.Context
		e.Items = append(e.Items, u)
		where[t.Experiment] = append(where[t.Experiment], i)
	}
	a.intake.noteSender(principal, kind, f.Items, len(items)-len(secret), strays)
	var c command
	names := slices.Sorted(maps.Keys(events))
	for _, name := range names {
		as := kind
		if kind == experiment.KindFeedback && a.intake.private(name) {
			as = experiment.KindPrivateFeedback // it makes no unit wait, so that it needs no room
		} else {
			places, release := a.admit(principal, kind, events[name], where[name], f.Items)
			defer release()
			where[name] = places
		}
		ev, err := experiment.NewUnits(as, 0, events[name])
		if err != nil {
			return err
		}
		c.events = append(c.events, ev)
	}
	var outcomes []experiment.Outcome
	if len(c.events) > 0 {
		if outcomes, err = a.writer.submit(r.Context(), &c); err != nil {
			return err
		}
	}
	for i, name := range names {
		placeOutcome(f.Items, where[name], &outcomes[i])
		for _, k := range where[name] {
			a.intake.note(name, kind, f.Items[k])
		}
		a.intake.count(principal, name, outcomes[i].Opened)
	}
	f.Count()
	a.metrics.count(kind, f.Items, secret)
	return web.WriteBytes(w, http.StatusOK, "application/json", appendResult(nil, &f))
}

// verify returns the decision of an item, or why there is none, and the experiment that the item
// counts for if it is rejected: one that it names by a right signature, or by a decision that the
// client made, and that the sender may use. It is "" for none: anybody can write a name into an
// item, and what is only claimed counts for the sender.
func (a *feedbackAPI) verify(p *access.Principal, item *api.FeedbackItem, again *repeater, now time.Time,
) (t policy.Token, owner string, err error) {
	name := ""
	if item.Decided != nil {
		if p.IsBrowser() {
			return t, "", noregret.BadInputf("decided", "the access token %q is for browsers: want a decision's token",
				p.Name)
		}
		name = item.Decided.Experiment
	} else {
		t, err = a.signer.Verify(item.Token, now)
		name = t.Experiment // "" if the signature is not right
	}
	switch {
	case item.Decided == nil && name == "":
		return t, "", err
	case !a.policies.mayUse(p, name):
		return t, "", noregret.BadInputf("token", "the access token %q may not use the experiment %.80q", p.Name, name)
	case a.policies.get(name) == nil:
		return t, "", a.policies.noSuch(name)
	case item.Decided != nil:
		t, err = a.repeat(item, again, now)
	}
	return t, name, err
}

// fits returns an error for an item that has what those of its kind do not have.
func fits(kind string, item *api.FeedbackItem) error {
	switch {
	case kind == experiment.KindExposures && len(item.Metrics) > 0:
		return noregret.BadInputf("metrics", "an exposure has no metrics: post them to /v1/feedback")
	case kind == experiment.KindFeedback && len(item.Context) > 0:
		return noregret.BadInputf("context", "feedback has no context: post it with the exposure")
	}
	return checkContext("context", item.Context)
}

// appendResult appends the JSON of a result, without reflection.
func appendResult(b []byte, f *api.FeedbackResult) []byte {
	b = slices.Grow(b, 80+24*len(f.Items))
	b = append(b, `{"accepted":`...)
	b = strconv.AppendInt(b, int64(f.Accepted), 10)
	b = append(b, `,"duplicate":`...)
	b = strconv.AppendInt(b, int64(f.Duplicate), 10)
	b = append(b, `,"late":`...)
	b = strconv.AppendInt(b, int64(f.Late), 10)
	b = append(b, `,"rejected":`...)
	b = strconv.AppendInt(b, int64(f.Rejected), 10)
	b = append(b, `,"items":[`...)
	for i := range f.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"status":`...)
		b = appendString(b, string(f.Items[i].Status))
		if text := f.Items[i].Error; text != "" {
			b = append(b, `,"error":`...)
			b = appendString(b, text)
		}
		b = append(b, '}')
	}
	return append(b, "]}\n"...)
}

// noteSecret adds the place of an item to those that are secret if it is feedback of a private
// experiment.
func (a *feedbackAPI) noteSecret(secret map[int]bool, kind, name string, i int) map[int]bool {
	if kind != experiment.KindFeedback || !a.intake.private(name) {
		return secret
	}
	if secret == nil {
		secret = map[int]bool{}
	}
	secret[i] = true
	return secret
}

// readItems reads the items of exposures or feedback. An item that is valid JSON but no item does
// not refuse the others: bad has its error by index, and the item only the decision that it names,
// by which it may count for an experiment.
func readItems(r *http.Request, c *Config) (items []api.FeedbackItem, bad map[int]error, err error) {
	b, err := web.Body(r, "application/json")
	if err != nil {
		return nil, nil, err
	}
	var in struct {
		Items []api.FeedbackItem `json:"items"`
	}
	if err = web.DecodeJSON(b, &in); err == nil {
		return in.Items, nil, checkCount(c, "items", len(in.Items))
	}
	var raw struct {
		Items []json.RawMessage `json:"items"`
	}
	if web.DecodeJSON(b, &raw) != nil {
		return nil, nil, err
	}
	if err := checkCount(c, "items", len(raw.Items)); err != nil {
		return nil, nil, err
	}
	items, bad = make([]api.FeedbackItem, len(raw.Items)), map[int]error{}
	for i, text := range raw.Items {
		if err := web.DecodeJSON(text, &items[i]); err != nil {
			bad[i] = err
			var named struct {
				Token   string       `json:"token"`
				Decided *api.Decided `json:"decided"`
			}
			_ = web.DecodeLenientJSON(text, &named) // what can be read says whose item it is
			items[i] = api.FeedbackItem{Token: named.Token, Decided: named.Decided}
		}
	}
	return items, bad, nil
}

// admit removes the items of an event for which there is no room, sets their results, and returns
// the places of the others in the request. Their room is kept until release is called.
func (a *feedbackAPI) admit(p *access.Principal, kind string, e *join.Units, where []int,
	items []api.ItemResult,
) (places []int, release func()) {
	refused := map[int]bool{}
	release = a.intake.admit(p, e, func(k int, err error) {
		items[where[k]] = api.ItemResult{Status: api.Rejected, Error: err.Error()}
		refused[where[k]] = true
		a.intake.note(e.Experiment, kind, items[where[k]])
	})
	if len(refused) == 0 {
		return where, release
	}
	return slices.DeleteFunc(where, func(i int) bool { return refused[i] }), release
}

// repeat repeats the decision of an item that the client made, and returns its token. The item's
// context is then that of the decision; feedback has none.
func (a *feedbackAPI) repeat(item *api.FeedbackItem, again *repeater, now time.Time) (policy.Token, error) {
	if item.Token != "" || len(item.Context) > 0 {
		return policy.Token{}, noregret.BadInputf("decided", "the item has a token or a context, too: want one of them")
	}
	t, context, err := again.token(item.Decided, now)
	if item.Metrics == nil {
		item.Context = context
	}
	return t, err
}

// placeOutcome copies the items of an outcome to their places in the request.
func placeOutcome(items []api.ItemResult, where []int, o *experiment.Outcome) {
	for j, i := range where {
		if o.Err != nil || j >= len(o.Items) { // the experiment was deleted meanwhile
			items[i] = api.ItemResult{Status: api.Rejected, Error: "the experiment was deleted"}
			continue
		}
		items[i] = o.Items[j]
	}
}

// aggregates accepts sums that a client has computed itself.
func (a *feedbackAPI) aggregates(w http.ResponseWriter, r *http.Request) error {
	var in api.Aggregate
	if err := web.ReadJSON(r, &in); err != nil {
		return err
	}
	if err := checkCount(a.config, "items", len(in.Items)); err != nil {
		return err
	}
	p := a.intake.principal(r)
	if !a.policies.mayUse(p, in.Experiment) { // before it is looked for
		return notYours(p)
	}
	if a.policies.get(in.Experiment) == nil {
		return a.policies.noSuch(in.Experiment)
	}
	if in.Source == "" || len(in.Source) > 200 || in.Sequence == 0 {
		return noregret.BadInputf("source",
			"want a source of 1 to 200 bytes and a sequence number from 1")
	}
	if err := legible.Check("source", in.Source); err != nil {
		return err
	}
	if p != nil && !p.MaySend(in.Source) {
		return web.WithStatus(http.StatusForbidden, noregret.Usage, "source",
			"the token %q may not send sums of the source %q: its own are in the file of access tokens", p.Name,
			in.Source)
	}
	if err := a.checkSequence(&in); err != nil {
		return err
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
	f := api.FeedbackResult{Items: outcomes[0].Items}
	f.Count()
	a.metrics.count(experiment.KindAggregate, f.Items, nil)
	return web.WriteBytes(w, http.StatusOK, "application/json", appendResult(nil, &f))
}

// A source's first number is at most firstSequence, and a later one leaps by at most sequenceLeap
// (35 years of milliseconds), so that a wrong number does not use up all numbers.
const (
	firstSequence = 1 << 63
	sequenceLeap  = 1 << 40
)

// checkSequence returns an error for a number that leaves a source too few others.
func (a *feedbackAPI) checkSequence(in *api.Aggregate) error {
	a.live.mu.RLock()
	last, known := a.live.state.LastSequence(in.Experiment, in.Source)
	a.live.mu.RUnlock()
	switch {
	case !known && in.Sequence > firstSequence:
		return noregret.BadInputf("sequence", "%d: want a first number of at most %d", in.Sequence,
			uint64(firstSequence))
	case known && in.Sequence > last && in.Sequence-last > sequenceLeap:
		return noregret.BadInputf("sequence", "%d leaps by more than %d from the last number of the source, %d",
			in.Sequence, uint64(sequenceLeap), last)
	}
	return nil
}
