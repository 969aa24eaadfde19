package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// personalizerAPI serves the calls of Azure Personalizer for one choice (docs/personalizer.md): an
// experiment is a resource, an arm an action, the identifier of an event a unit. Decisions, rewards
// and activations are events of the log; the fold joins them.
type personalizerAPI struct {
	config   *Config
	policies *policyTable
	live     *liveState
	intake   *intake
	writer   *writer
	metrics  *metrics
}

// The codes of errors, as Personalizer has them.
const (
	badRank     = "InvalidRankRequest"
	badReward   = "InvalidRewardRequest"
	badActivate = "InvalidEventIdToActivate"
)

func (a *personalizerAPI) routes() (out []web.Route) {
	const experiment = "/v1/experiments/{name}"
	version := []string{"api-version"}
	for _, base := range []string{experiment, experiment + "/personalizer/{api}"} {
		out = append(out,
			web.Route{
				Method: "POST", Pattern: base + "/rank", Role: access.Decide, Query: version,
				Serve: personalized(badRank, a.rank),
			},
			web.Route{
				Method: "POST", Pattern: base + "/events/{event}/reward", Role: access.Feedback, Query: version,
				Serve: personalized(badReward, a.reward),
			},
			web.Route{
				Method: "POST", Pattern: base + "/events/{event}/activate", Role: access.Feedback, Query: version,
				Serve: personalized(badActivate, a.activate),
			})
	}
	return out
}

// personalizerVersions are the versions of Personalizer's API in paths. They differ only in calls
// that are not served.
var personalizerVersions = []string{"v1.0", "v1.1-preview.1", "v1.1-preview.2", "v1.1-preview.3"}

// personalizerError is the body of Personalizer's errors.
type personalizerError struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Target  string `json:"target,omitempty"`
	} `json:"error"`
}

// personalized writes the handler's errors about a request in Personalizer's form, bad input with
// the given code. Other errors are problems, as everywhere.
func personalized(code string, h web.Handler) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := checkPersonalizerVersion(r.PathValue("api"))
		if err == nil {
			err = h(w, r)
		}
		if err == nil {
			return nil
		}
		var out personalizerError
		status := web.StatusOf(err)
		switch status {
		case http.StatusBadRequest:
			out.Error.Code = code
		case http.StatusNotFound:
			out.Error.Code = "ResourceNotFound"
		case http.StatusRequestEntityTooLarge:
			out.Error.Code = "PayloadSizeExceeded"
		default:
			return err
		}
		out.Error.Message = err.Error()
		if e, ok := errors.AsType[*noregret.Error](err); ok {
			out.Error.Message, out.Error.Target = e.Message, e.Place
		}
		return web.WriteJSON(w, status, out)
	}
}

// checkPersonalizerVersion returns an error for a version that is not served; "" is the short form
// of the paths.
func checkPersonalizerVersion(v string) error {
	if v == "" || slices.Contains(personalizerVersions, v) {
		return nil
	}
	return noregret.Errorf(noregret.NotFound, "path", "the version %.40q is unknown: want one of %s", v,
		strings.Join(personalizerVersions, ", "))
}

// decodeLenient reads a body as Personalizer's clients write it: unknown members are ignored, and
// null is a missing member.
func decodeLenient(r *http.Request, v any) error {
	b, err := web.Body(r, "application/json")
	if err != nil {
		return err
	}
	return web.DecodeLenientJSON(b, v)
}

// rankRequest is the body of a rank call.
type rankRequest struct {
	ContextFeatures []json.RawMessage `json:"contextFeatures"`
	Actions         []struct {
		ID       string            `json:"id"`
		Features []json.RawMessage `json:"features"`
	} `json:"actions"`
	ExcludedActions []string `json:"excludedActions"`
	EventID         *string  `json:"eventId"`
	DeferActivation bool     `json:"deferActivation"`
}

// rankedAction is an action with its probability.
type rankedAction struct {
	ID          string  `json:"id"`
	Probability float64 `json:"probability"`
}

// rankResponse is the answer to a rank call.
type rankResponse struct {
	Ranking        []rankedAction `json:"ranking"`
	EventID        string         `json:"eventId"`
	RewardActionID string         `json:"rewardActionId"`
}

// ranking is a rank call on the way: its actions as arms, its context.
type ranking struct {
	*rankRequest
	event   string
	arms    []int           // of the actions
	allowed []bool          // by arm
	context json.RawMessage // the features that the definition declares, nil for none
	vector  []float64       // of the context
}

// rank chooses an action and records the choice. A repeated call for an event gets the same action.
func (a *personalizerAPI) rank(w http.ResponseWriter, r *http.Request) error {
	var in rankRequest
	if err := decodeLenient(r, &in); err != nil {
		return err
	}
	name := r.PathValue("name")
	e := a.policies.get(name)
	if e == nil {
		return a.policies.noSuch(name)
	}
	if err := a.checkGoal(name); err != nil {
		return err
	}
	q, err := in.arms(name, e.policy)
	if err != nil {
		return err
	}
	if err := q.encode(e); err != nil {
		return err
	}
	unit := e.policy.Unit(q.event)
	if done, ok := a.live.ranked(name, unit); ok {
		return q.answer(w, e.policy, done.Arm)
	}
	choice, err := e.policy.DecideAmong(q.event, q.vector, q.allowed)
	if err != nil {
		return err
	}
	p := experiment.RankEvent{
		Experiment: name, Redrawn: choice.Redrawn, Deferred: in.DeferActivation,
		Item: experiment.UnitEvent{
			Version: choice.Version, Arm: choice.Arm, Propensity: choice.Propensity, Unit: policy.FormatUnit(unit),
			Time: a.config.Now().UnixMilli(), Context: q.context,
		},
	}
	if slices.Contains(q.allowed, false) {
		for k, ok := range q.allowed {
			if ok {
				p.Among = append(p.Among, k)
			}
		}
	}
	principal := a.intake.principal(r)
	_, release, err := a.intake.reserve(principal, name, 1)
	defer release()
	if err != nil {
		a.intake.note(name, experiment.KindExposures, api.ItemResult{Status: api.Rejected, Error: err.Error()})
		return web.WithStatus(http.StatusTooManyRequests, noregret.Usage, "eventId", "%w", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.config.RequestTime)
	defer cancel()
	item, err := a.submit(ctx, experiment.KindRank, p)
	if err != nil {
		return err
	}
	a.intake.note(name, experiment.KindExposures, item)
	arm := choice.Arm
	switch item.Status {
	case api.Accepted:
		a.intake.count(principal, name, 1)
	case api.Duplicate: // another call was faster
		if done, ok := a.live.ranked(name, unit); ok {
			arm = done.Arm
		}
	default:
		return web.WithStatus(http.StatusTooManyRequests, noregret.Usage, "eventId", "%s", item.Error)
	}
	e.counts.decisions.Inc()
	return q.answer(w, e.policy, arm)
}

// checkGoal returns an error if rewards have no metric.
func (a *personalizerAPI) checkGoal(name string) error {
	d, err := a.live.Definition(name)
	if err != nil {
		return err
	}
	_, err = experiment.RewardMetric(d)
	return err
}

// arms finds the arms of a request's actions.
func (in *rankRequest) arms(name string, p *policy.Policy) (*ranking, error) {
	q := &ranking{rankRequest: in, allowed: make([]bool, len(p.Arms))}
	switch {
	case in.EventID == nil:
		q.event = newEventID()
	case policy.CheckUnit("eventId", *in.EventID) != nil:
		return nil, policy.CheckUnit("eventId", *in.EventID)
	default:
		q.event = *in.EventID
	}
	if len(in.Actions) == 0 {
		return nil, noregret.BadInputf("actions", "none: at least one is required")
	}
	for _, action := range in.Actions {
		k := p.ArmNamed(action.ID)
		if k < 0 {
			return nil, noregret.BadInputf("actions",
				"%.80q is not an arm of %s: add it to the arms of the definition "+
					"(noregret experiment apply, or PUT /v1/experiments/%s)", action.ID, name, name)
		}
		if slices.Contains(q.arms, k) {
			return nil, noregret.BadInputf("actions", "%.80q is there twice", action.ID)
		}
		q.arms = append(q.arms, k)
		q.allowed[k] = true
	}
	size := 0
	for _, part := range in.ContextFeatures {
		size += len(part)
	}
	if size > policy.MaxContext {
		return nil, noregret.BadInputf("contextFeatures", "%d bytes: want at most %d", size, policy.MaxContext)
	}
	for _, id := range in.ExcludedActions {
		if k := p.ArmNamed(id); k >= 0 {
			q.allowed[k] = false
		}
	}
	if !slices.Contains(q.allowed, true) {
		return nil, noregret.BadInputf("excludedActions", "all actions are excluded")
	}
	return q, nil
}

// encode encodes the context features, if the policy looks at them.
func (q *ranking) encode(e *entry) error {
	if e.policy.Linear == nil {
		return nil
	}
	to := flattener{declared: map[string]bool{}, fields: map[string]json.RawMessage{}}
	for _, f := range e.encoder.Features() {
		to.declared[f.Name] = true
		to.longest = max(to.longest, len(f.Name))
	}
	for i, part := range q.ContextFeatures {
		var f features
		if err := web.DecodeLenientJSON(part, &f); err != nil {
			return inPlace("contextFeatures["+strconv.Itoa(i)+"]", err)
		}
		to.add("", &f)
	}
	v := evaluation{fields: to.fields}
	var err error
	if q.context, err = v.context(e); err != nil {
		return err
	}
	q.vector, err = e.encoder.Encode(nil, q.context)
	return err
}

// features are context features as Personalizer's clients write them: one of an object, a list and
// another value.
type features struct {
	object map[string]features
	list   []features
	value  json.RawMessage
}

// UnmarshalStrict implements [strictjson.Unmarshaler].
func (f *features) UnmarshalStrict(first byte, decode func(v any) error) error {
	switch first {
	case '{':
		return decode(&f.object)
	case '[':
		return decode(&f.list)
	}
	return decode(&f.value)
}

var _ strictjson.Unmarshaler = (*features)(nil)

// flattener collects the values of declared features.
type flattener struct {
	declared map[string]bool
	longest  int // the length of the longest name
	fields   map[string]json.RawMessage
}

// add adds the members of an object, and of the objects in it and in its lists, under their path:
// {"a": {"b": 1}} becomes a.b. The first value of a name stays. Other lists are left out. It does
// not enter what is below a path that is longer than every name, so the cost is linear in the size
// of f, whatever the names.
func (to *flattener) add(path string, f *features) {
	for _, name := range slices.Sorted(maps.Keys(f.object)) {
		if len(path)+len(name) > to.longest {
			continue
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		member := f.object[name]
		if to.declared[at] && member.value != nil && to.fields[at] == nil {
			to.fields[at] = member.value
		}
		to.add(at, &member)
	}
	for i := range f.list {
		to.add(path, &f.list[i])
	}
}

// answer writes the ranking: the chosen action, then the others by probability. Excluded actions
// keep their places, with probability 0.
func (q *ranking) answer(w http.ResponseWriter, p *policy.Policy, arm int) error {
	if arm >= len(q.allowed) || !q.allowed[arm] {
		return noregret.BadInputf("eventId", "the event was ranked before, for other actions: give every rank an "+
			"eventId of its own")
	}
	probability, err := p.Among(q.vector, q.allowed)
	if err != nil {
		return err
	}
	if p.HeldBack(p.Unit(q.event)) && arm == p.Control {
		clear(probability)
		probability[arm] = 1
	}
	var order []int // of the allowed arms
	for _, k := range q.arms {
		if q.allowed[k] {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if (i == arm) != (j == arm) {
			if i == arm {
				return -1
			}
			return 1
		}
		return cmp.Compare(probability[j], probability[i])
	})
	out := rankResponse{EventID: q.event, RewardActionID: p.Arms[arm].Name}
	for _, k := range q.arms {
		if q.allowed[k] {
			k, order = order[0], order[1:]
		}
		out.Ranking = append(out.Ranking, rankedAction{p.Arms[k].Name, probability[k]})
	}
	return web.WriteJSON(w, http.StatusCreated, out)
}

// newEventID returns a random identifier in the form of a UUID.
func newEventID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// reward records the reward of an event. As in Personalizer, a reward for an event that is unknown
// or too old, or a second one, is answered as any other and changes nothing.
func (a *personalizerAPI) reward(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Value *float64 `json:"value"`
	}
	if err := decodeLenient(r, &in); err != nil {
		return err
	}
	if in.Value == nil || math.IsInf(*in.Value, 0) {
		return noregret.BadInputf("value", "missing: the reward, a number")
	}
	name, unit, err := a.event(r)
	if err != nil {
		return err
	}
	item, err := a.submit(r.Context(), experiment.KindReward,
		experiment.RewardEvent{Experiment: name, Unit: unit, Value: *in.Value})
	if err != nil {
		return err
	}
	a.metrics.count(experiment.KindReward, []api.ItemResult{item}, nil)
	if item.Status == api.Rejected {
		return noregret.BadInputf("value", "%s", item.Error)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// activate exposes a deferred event. An event that is unknown, too old or active already is
// answered as any other.
func (a *personalizerAPI) activate(w http.ResponseWriter, r *http.Request) error {
	name, unit, err := a.event(r)
	if err != nil {
		return err
	}
	item, err := a.submit(r.Context(), experiment.KindActivate, experiment.ActivateEvent{Experiment: name, Unit: unit})
	if err != nil {
		return err
	}
	if item.Status == api.Rejected {
		return noregret.BadInputf("eventId", "%s", item.Error)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// event returns the experiment and the unit of the event in a request's path.
func (a *personalizerAPI) event(r *http.Request) (name, unit string, err error) {
	name = r.PathValue("name")
	e := a.policies.get(name)
	if e == nil {
		return "", "", a.policies.noSuch(name)
	}
	id := r.PathValue("event")
	if err := policy.CheckUnit("eventId", id); err != nil {
		return "", "", err
	}
	return name, policy.FormatUnit(e.policy.Unit(id)), a.checkGoal(name)
}

// submit makes an event durable and returns the result of its item.
func (a *personalizerAPI) submit(ctx context.Context, kind string, payload any) (api.ItemResult, error) {
	e, err := experiment.NewEvent(kind, 0, payload)
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
