package edge

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// Experiment is the copy of an experiment's policy and the sums for it: a Local of package client.
type Experiment interface {
	Policy() *policy.Policy
	Decide(unit string) (policy.Assignment, error)
	// RecordOnce reports false for a unit that it knows, and then counts nothing.
	RecordOnce(d policy.Assignment, metrics map[string]float64) (counted bool, err error)
	// Keep makes what is recorded durable, and which units were.
	Keep() error
	// Confirmed is when the service last said which policy is in force.
	Confirmed() time.Time
}

// Config configures an edge. Start from [DefaultConfig].
type Config struct {
	// Limits are those of the decision service; MaxItems bounds the units and items of a request.
	server.Limits
	// Data is the directory with the key of tokens. It must exist.
	Data string
}

// DefaultConfig returns the defaults of the limits.
func DefaultConfig(data string) Config { return Config{Limits: server.DefaultLimits(), Data: data} }

// Service decides and takes feedback. Make one with [New] and Close it, unless [Service.Run] does.
type Service struct {
	config      Config
	key         []byte
	experiments map[string]*served
	names       []string // in their order
	front       *server.Front
	counts      counts
}

// served is an experiment with its keeper.
type served struct {
	Experiment
	keeper
}

// counts are the totals since the start.
type counts struct {
	decisions                     atomic.Int64
	accepted, duplicate, rejected atomic.Int64
}

// New makes an edge for experiments by their names.
func New(experiments map[string]Experiment, c Config) (*Service, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	key, err := loadKey(filepath.Join(c.Data, "edge.key"))
	if err != nil {
		return nil, err
	}
	s := &Service{config: c, key: key, experiments: map[string]*served{}}
	for name, e := range experiments {
		s.names = append(s.names, name)
		s.experiments[name] = &served{e, newKeeper(e.Keep)}
	}
	slices.Sort(s.names)
	if s.front, err = server.NewFront(c.Limits, "docs/how-to/edge.md", s.routes()); err != nil {
		return nil, err
	}
	s.front.Detail(s.readiness)
	s.front.Registry().MustRegister(&collector{s})
	return s, nil
}

// Handler serves the routes.
func (s *Service) Handler() http.Handler { return s.front.Handler() }

// ReloadTokens reads the file of access tokens again, as [server.Server.ReloadTokens] does.
func (s *Service) ReloadTokens() error { return s.front.ReloadTokens() }

// Close ends the service, after its requests.
func (s *Service) Close() { s.front.Close() }

// Run opens the address, calls ready and serves until the context ends; it then waits for running
// requests, for at most the given time. A nil certificate means plain HTTP. The address must be one
// that [server.Limits.CheckListen] allows.
func (s *Service) Run(ctx context.Context, address string, certificate *tls.Certificate, drain time.Duration,
	ready func(address net.Addr) error,
) error {
	return s.front.Run(ctx, address, certificate, drain, ready)
}

func (s *Service) routes() []web.Route {
	return []web.Route{
		{Method: "POST", Pattern: "/v1/experiments/{name}/decide", Role: access.Decide, Serve: s.decide},
		{Method: "POST", Pattern: "/v1/feedback", Role: access.Feedback, Serve: s.feedback},
	}
}

// get returns an experiment, or an error that names those that there are.
func (s *Service) get(name string) (*served, error) {
	e := s.experiments[name]
	if e == nil {
		return nil, noregret.Errorf(noregret.NotFound, "experiment", "%.80q is not one of this edge: it has %s", name,
			strings.Join(s.names, ", "))
	}
	return e, nil
}

// unit is a unit of a request: its name, or an object with its name and a context.
type unit struct {
	ID      string          `json:"id"`
	Context json.RawMessage `json:"context"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (u *unit) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return web.DecodeJSON(b, &u.ID)
	}
	type form unit
	return web.DecodeJSON(b, (*form)(u))
}

// decide answers with an arm for each unit, as the service does.
func (s *Service) decide(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Units []unit `json:"units"`
	}
	if err := web.ReadJSON(r, &in); err != nil {
		return err
	}
	e, err := s.get(r.PathValue("name"))
	if err != nil {
		return err
	}
	if err := s.checkItems("units", len(in.Units)); err != nil {
		return err
	}
	if e.Policy().Linear != nil {
		return web.Conflict(noregret.Errorf(noregret.BadInput, "experiment",
			"its policy looks at contexts, whose units cannot be added up: ask the service itself"))
	}
	out := api.Decisions{Decisions: make([]api.Decision, len(in.Units))}
	for i, u := range in.Units {
		place := "units[" + strconv.Itoa(i) + "]"
		if len(u.Context) > 0 {
			return noregret.BadInputf(place+".context", "the policy does not look at it: want none")
		}
		if err := policy.CheckUnit(place, u.ID); err != nil {
			return err
		}
		d, err := e.Decide(u.ID)
		if err != nil {
			return err
		}
		text, err := sign(s.key, &token{r.PathValue("name"), d.Version, d.Name, d.HeldBack, d.Unit})
		if err != nil {
			return err
		}
		out.Decisions[i] = api.Decision{
			Unit: u.ID, Arm: d.Name, Value: d.Value, Propensity: d.Propensity, Version: d.Version, Token: text,
		}
	}
	s.counts.decisions.Add(int64(len(in.Units)))
	return web.WriteJSON(w, http.StatusOK, out)
}

// feedback adds the units and their metrics to the sums, and answers when these are durable.
func (s *Service) feedback(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Items []struct {
			Token   string             `json:"token"`
			Metrics map[string]float64 `json:"metrics"`
		} `json:"items"`
	}
	if err := web.ReadJSON(r, &in); err != nil {
		return err
	}
	if err := s.checkItems("items", len(in.Items)); err != nil {
		return err
	}
	out := api.FeedbackResult{Items: make([]api.ItemResult, len(in.Items))}
	touched := map[string]*served{}
	for i, item := range in.Items {
		status, err := s.record(item.Token, item.Metrics, touched)
		out.Items[i].Status = status
		if err != nil {
			out.Items[i].Error = err.Error()
		}
	}
	for _, name := range s.names {
		if e := touched[name]; e != nil {
			if err := e.keep(); err != nil {
				return web.Unavailable(err)
			}
		}
	}
	out.Count()
	s.counts.accepted.Add(int64(out.Accepted))
	s.counts.duplicate.Add(int64(out.Duplicate))
	s.counts.rejected.Add(int64(out.Rejected))
	return web.WriteJSON(w, http.StatusOK, out)
}

// record adds an item to the sums, and its experiment to those that must be kept.
func (s *Service) record(text string, metrics map[string]float64, touched map[string]*served) (api.ItemStatus, error) {
	t, err := verify(s.key, text)
	if err != nil {
		return api.Rejected, err
	}
	e, err := s.get(t.Experiment)
	if err != nil {
		return api.Rejected, err
	}
	touched[t.Experiment] = e // a duplicate, too, is answered when the first is durable
	switch counted, err := e.RecordOnce(t.assignment(), metrics); {
	case err != nil:
		return api.Rejected, err
	case !counted:
		return api.Duplicate, nil
	}
	return api.Accepted, nil
}

// checkItems returns an error unless a request has 1 to MaxItems of something.
func (s *Service) checkItems(what string, n int) error {
	if n > s.config.MaxItems {
		return web.WithStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, what,
			"%d: want at most %d in a request", n, s.config.MaxItems)
	}
	if n == 0 {
		return noregret.BadInputf(what, "there are none: want 1 to %d", s.config.MaxItems)
	}
	return nil
}

// keeper makes records durable, those of many requests at once.
type keeper struct {
	store func() error
	mu    *sync.Mutex
	cond  *sync.Cond
	// asked and done count the requests that were made and answered.
	asked, done uint64
	running     bool
	err         error // of the last store
}

func newKeeper(store func() error) keeper {
	mu := new(sync.Mutex)
	return keeper{store: store, mu: mu, cond: sync.NewCond(mu)}
}

// keep returns when everything that was recorded before the call is durable. A later store has all
// that an earlier one has, so the error is that of the last.
func (k *keeper) keep() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	mine := k.asked
	for k.done < mine {
		if k.running {
			k.cond.Wait()
			continue
		}
		k.running = true
		all := k.asked
		k.mu.Unlock()
		err := k.store()
		k.mu.Lock()
		k.running, k.done, k.err = false, all, err
		k.cond.Broadcast()
	}
	return k.err
}
