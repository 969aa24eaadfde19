// Package personalizer serves the calls of Azure Personalizer for one choice
// (docs/personalizer.md): an experiment is a resource, an arm an action, the identifier of an event
// a unit. It translates them for the decision service: a rank is a decision among some arms that
// the service keeps, an activation exposes it, and a reward is feedback on it by the unit.
package personalizer

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// Service is what the calls need of the decision service. Its methods are safe for concurrent use.
type Service interface {
	// Policy returns the policy in force of an experiment, and the encoder of its contexts, nil if
	// the definition has none.
	Policy(name string) (*policy.Policy, *policy.Encoder, error)
	// Definition returns the definition in force of an experiment.
	Definition(name string) (*definition.Definition, error)
	// KeptArm returns the arm of the decision that is kept for a unit, false if none is.
	KeptArm(name string, unit uint64) (arm int, ok bool)
	// Keep makes a decision durable, which is made now, and keeps it until its window closes. It is
	// rejected if there is no room for it.
	Keep(r *http.Request, name string, e join.Unit) (api.ItemResult, error)
	// Expose reports that the kept decision of a unit was used.
	Expose(r *http.Request, name string, unit uint64) (api.ItemResult, error)
	// Feedback reports metrics of a unit whose decision is kept.
	Feedback(r *http.Request, name string, unit uint64, metrics map[string]float64) (api.ItemResult, error)
}

// API serves the calls. Make one with [New].
type API struct{ service Service }

// New returns the calls over a service.
func New(s Service) *API { return &API{s} }

// The codes of errors, as Personalizer has them.
const (
	BadRank     = "InvalidRankRequest"
	BadReward   = "InvalidRewardRequest"
	BadActivate = "InvalidEventIdToActivate"
)

// Routes returns the routes of the calls, with the paths of Personalizer and with short ones.
func (a *API) Routes() (out []web.Route) {
	const experiment, tag = "/v1/experiments/{name}", "personalizer"
	wrong := web.Answer{
		Name: "PersonalizerError", Text: "What is wrong with the request",
		Content: map[string]any{"application/json": Error{}},
	}
	answers := func(status int, right web.Answer) web.Answers {
		return web.Answers{status: right, 400: wrong, 404: wrong, 413: wrong}
	}
	const noEffect = "Durable, or without effect: the event is unknown, its window has closed, or it "
	for _, suffix := range []string{"", "Personalizer"} {
		base := experiment
		if suffix != "" {
			base += "/personalizer/{api}"
		}
		out = append(out,
			web.Route{
				Method: "POST", Pattern: base + "/rank", Role: access.Decide, Appends: web.Always,
				Serve: personalized(BadRank, a.rank),
				ID:    "rank" + suffix, Tag: tag, Summary: "Chooses one of the actions, as Personalizer does",
				Params: params{}, Body: RankRequest{}, Lenient: true,
				Answers: answers(201, web.JSON("The ranking", RankResponse{})),
			},
			web.Route{
				Method: "POST", Pattern: base + "/events/{event}/reward", Role: access.Feedback, Appends: web.Always,
				Serve: personalized(BadReward, a.reward),
				ID:    "rewardEvent" + suffix, Tag: tag,
				Summary: "Records the reward of a ranked event, as Personalizer does",
				Params:  params{}, Body: reward{}, Lenient: true,
				Answers: answers(204, web.Answer{Text: noEffect + "had a reward"}),
			},
			web.Route{
				Method: "POST", Pattern: base + "/events/{event}/activate", Role: access.Feedback, Appends: web.Always,
				Serve: personalized(BadActivate, a.activate),
				ID:    "activateEvent" + suffix, Tag: tag,
				Summary: "Counts an event that was ranked with deferActivation",
				Params:  params{}, Answers: answers(204, web.Answer{Text: noEffect + "is active"}),
			})
	}
	return out
}

// params are the parameters of all calls.
type params struct {
	API string `path:"api" enum:"v1.0,v1.1-preview.1,v1.1-preview.2,v1.1-preview.3"`
	// The event's identifier.
	Event string `path:"event" minLength:"1" maxLength:"512"`
	// Not looked at; some clients send it.
	Version string `query:"api-version"`
}

// reward is the body of a reward; other members are ignored.
type reward struct {
	Value *float64 `json:"value" nullable:"false"`
}

// versions are the versions of Personalizer's API in paths. They differ only in calls
// that are not served.
var versions = web.Allowed(reflect.TypeFor[params]().Field(0).Tag)

// Error is the body of errors.
type Error struct {
	Error Fault `json:"error"`
}

// Fault is what is wrong.
type Fault struct {
	Code    string `json:"code" enum:"InvalidRankRequest,InvalidRewardRequest,InvalidEventIdToActivate,ResourceNotFound,PayloadSizeExceeded"`
	Message string `json:"message"`
	Target  string `json:"target,omitempty"`
}

// personalized writes the handler's errors about a request in Personalizer's form, bad input with
// the given code. Other errors are problems, as everywhere.
func personalized(code string, h web.Handler) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := checkVersion(r.PathValue("api"))
		if err == nil {
			err = h(w, r)
		}
		if err == nil {
			return nil
		}
		var out Error
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

// checkVersion returns an error for a version that is not served; "" is the short form
// of the paths.
func checkVersion(v string) error {
	if v == "" || slices.Contains(versions, v) {
		return nil
	}
	return noregret.Errorf(noregret.NotFound, "path", "the version %.40q is unknown: want one of %s", v,
		strings.Join(versions, ", "))
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

// RankRequest is the body of a rank call. Other members are ignored; null is a missing member. All
// contextFeatures together have at most 65536 bytes.
type RankRequest struct {
	ContextFeatures []json.RawMessage `json:"contextFeatures,omitempty" nullable:"true" items:"object"`
	Actions         []Action          `json:"actions" minItems:"1"`
	ExcludedActions []string          `json:"excludedActions,omitempty" nullable:"true"`
	EventID         *string           `json:"eventId,omitempty" nullable:"true" minLength:"1" maxLength:"512"`
	DeferActivation bool              `json:"deferActivation,omitempty" default:"false"`
}

// Action is an action that may be chosen.
type Action struct {
	// ID is the name of an arm.
	ID       string            `json:"id"`
	Features []json.RawMessage `json:"features,omitempty" nullable:"true"`
}

// RankedAction is an action with its probability.
type RankedAction struct {
	ID          string  `json:"id"`
	Probability float64 `json:"probability" minimum:"0" maximum:"1"`
}

// RankResponse is the answer to a rank call.
type RankResponse struct {
	Ranking        []RankedAction `json:"ranking"`
	EventID        string         `json:"eventId"`
	RewardActionID string         `json:"rewardActionId"`
}

// ranking is a rank call on the way: its actions as arms, its context.
type ranking struct {
	*RankRequest
	event   string
	arms    []int           // of the actions
	allowed []bool          // by arm
	context json.RawMessage // the features that the definition declares, nil for none
	vector  []float64       // of the context
}

// rank chooses an action and records the choice. A repeated call for an event gets the same action.
func (a *API) rank(w http.ResponseWriter, r *http.Request) error {
	var in RankRequest
	if err := decodeLenient(r, &in); err != nil {
		return err
	}
	name := r.PathValue("name")
	p, encoder, err := a.service.Policy(name)
	if err != nil {
		return err
	}
	if _, err := a.goal(name); err != nil {
		return err
	}
	q, err := in.arms(name, p)
	if err != nil {
		return err
	}
	if p.Linear != nil {
		if err := q.encode(encoder); err != nil {
			return err
		}
	}
	unit := p.Unit(q.event)
	if arm, ok := a.service.KeptArm(name, unit); ok {
		return q.answer(w, p, arm)
	}
	choice, err := p.DecideAmong(q.event, q.vector, q.allowed)
	if err != nil {
		return err
	}
	kept := &join.Kept{Redrawn: choice.Redrawn, Deferred: in.DeferActivation}
	if slices.Contains(q.allowed, false) {
		for k, ok := range q.allowed {
			if ok {
				kept.Among = append(kept.Among, k)
			}
		}
	}
	item, err := a.service.Keep(r, name, join.Unit{
		Version: choice.Version, Arm: choice.Arm, Propensity: choice.Propensity, Unit: policy.FormatUnit(unit),
		Context: q.context, Kept: kept,
	})
	if err != nil {
		return err
	}
	arm := choice.Arm
	switch item.Status {
	case api.Accepted:
	case api.Duplicate: // another call was faster
		if done, ok := a.service.KeptArm(name, unit); ok {
			arm = done
		}
	default:
		return web.WithStatus(http.StatusTooManyRequests, noregret.Usage, "eventId", "%s", item.Error)
	}
	return q.answer(w, p, arm)
}

// goal returns the metric that rewards are values of: the only goal of the objective, which must go
// up. The error says what else the objective is.
func (a *API) goal(name string) (string, error) {
	d, err := a.service.Definition(name)
	if err != nil {
		return "", err
	}
	if d.Objective == nil || len(d.Objective.Goals) != 1 {
		n := 0
		if d.Objective != nil {
			n = len(d.Objective.Goals)
		}
		return "", noregret.BadInputf("objective.goals", "%d goals: a reward needs exactly one; report the metrics of "+
			"others by the token of a decision", n)
	}
	m := d.Metric(d.Objective.Goals[0].Metric)
	switch {
	case m.Kind == "ratio":
		return "", noregret.BadInputf("objective.goals[0].metric",
			"%q is a ratio: a reward is one number, of a metric "+
				"of kind mean or count", m.Name)
	case m.Direction == "down":
		return "", noregret.BadInputf("objective.goals[0].metric", "%q is to go down: a larger reward is better, so "+
			"the goal must have direction up", m.Name)
	}
	return m.Name, nil
}

// arms finds the arms of a request's actions.
func (in *RankRequest) arms(name string, p *policy.Policy) (*ranking, error) {
	q := &ranking{RankRequest: in, allowed: make([]bool, len(p.Arms))}
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

// encode takes the context from the features that the encoder knows.
func (q *ranking) encode(encoder *policy.Encoder) error {
	to := flattener{declared: map[string]bool{}, fields: map[string]json.RawMessage{}}
	for _, f := range encoder.Features() {
		to.declared[f.Name] = true
		to.longest = max(to.longest, len(f.Name))
	}
	for i, part := range q.ContextFeatures {
		var f features
		if err := web.DecodeLenientJSON(part, &f); err != nil {
			return web.InPlace("contextFeatures["+strconv.Itoa(i)+"]", err)
		}
		to.add("", &f)
	}
	var err error
	if q.context, err = strictjson.Encode(to.fields); err != nil {
		return err
	}
	q.vector, err = encoder.Encode(nil, q.context)
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
	out := RankResponse{EventID: q.event, RewardActionID: p.Arms[arm].Name}
	for _, k := range q.arms {
		if q.allowed[k] {
			k, order = order[0], order[1:]
		}
		out.Ranking = append(out.Ranking, RankedAction{p.Arms[k].Name, probability[k]})
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
func (a *API) reward(w http.ResponseWriter, r *http.Request) error {
	var in reward
	if err := decodeLenient(r, &in); err != nil {
		return err
	}
	if in.Value == nil || math.IsInf(*in.Value, 0) {
		return noregret.BadInputf("value", "missing: the reward, a number")
	}
	name, metric, unit, err := a.event(r)
	if err != nil {
		return err
	}
	item, err := a.service.Feedback(r, name, unit, map[string]float64{metric: *in.Value})
	if err != nil {
		return err
	}
	if item.Status == api.Rejected {
		return noregret.BadInputf("value", "%s", item.Error)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// activate exposes a deferred event. An event that is unknown, too old or active already is
// answered as any other.
func (a *API) activate(w http.ResponseWriter, r *http.Request) error {
	name, _, unit, err := a.event(r)
	if err != nil {
		return err
	}
	item, err := a.service.Expose(r, name, unit)
	if err != nil {
		return err
	}
	if item.Status == api.Rejected {
		return noregret.BadInputf("eventId", "%s", item.Error)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// event returns the experiment, the metric of rewards and the unit of the event in a request's
// path.
func (a *API) event(r *http.Request) (name, metric string, unit uint64, err error) {
	name = r.PathValue("name")
	p, _, err := a.service.Policy(name)
	if err != nil {
		return "", "", 0, err
	}
	id := r.PathValue("event")
	if err := policy.CheckUnit("eventId", id); err != nil {
		return "", "", 0, err
	}
	metric, err = a.goal(name)
	return name, metric, p.Unit(id), err
}
