package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return writeBytes(w, status, "application/json", b.Bytes())
}

func writeBytes(w http.ResponseWriter, status int, media string, b []byte) error {
	h := w.Header()
	h.Set("Content-Type", media)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that has gone is nobody's fault
	return nil
}

// readJSON reads a body strictly (package strictjson). Errors name kinds, not values: these may be
// units or secrets.
func readJSON(r *http.Request, v any) error {
	b, err := body(r, "application/json")
	if err != nil {
		return err
	}
	return strictJSON(b, v)
}

func strictJSON(b []byte, v any) error {
	err := strictjson.Decode(b, v, strictjson.Rules{Hide: true})
	if e, ok := errors.AsType[*noregret.Error](err); ok && e.Place == "" {
		e.Place = "body"
	}
	return err
}

func (s *Server) listExperiments(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]any{"experiments": s.Experiments()})
}

func (s *Server) getExperiment(w http.ResponseWriter, r *http.Request) error {
	d, err := s.Definition(r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, d)
}

func (s *Server) putExperiment(w http.ResponseWriter, r *http.Request) error {
	b, err := body(r, "application/json", "application/yaml", "application/x-yaml", "text/yaml")
	if err != nil {
		return err
	}
	d, err := experiment.Parse("definition", b)
	if err != nil {
		return err
	}
	if name := r.PathValue("name"); d.Name != name {
		return noregret.BadInputf("name", "%q in the definition: want %q, as in the path", d.Name, name)
	}
	a := policy.Applied{Name: d.Name}
	outcomes,
		err := s.submit(r.Context(),
		&command{make: func(state *experiment.State, now int64) ([]experiment.Event, error) {
			a.Created = state.Policy(d.Name) == nil
			events, err := state.Plan(d, now)
			if err != nil {
				return nil, err
			}
			if err := state.Try(d.Name, events); err != nil {
				return nil, conflict(err)
			}
			return events, nil
		}})
	if err != nil {
		return err
	}
	if err := refused(outcomes); err != nil {
		return err
	}
	if e := s.table.Load().entries[d.Name]; e != nil {
		a.Version = e.policy.Version
	}
	a.Changed = len(outcomes) > 0
	if a.Changed {
		s.config.Logger.Info("experiment applied", "experiment", d.Name, "created", a.Created, "version", a.Version)
	}
	status := http.StatusOK
	if a.Created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, a)
}

// conflict is the status of what the state does not allow.
func conflict(err error) error {
	if noregret.CodeOf(err) == noregret.BadInput {
		return &httpError{http.StatusConflict, err}
	}
	return err
}

// refused is the first refusal of outcomes.
func refused(outcomes []experiment.Outcome) error {
	for i := range outcomes {
		if outcomes[i].Err != nil {
			return conflict(outcomes[i].Err)
		}
	}
	return nil
}

func (s *Server) deleteExperiment(w http.ResponseWriter, r *http.Request) error {
	if err := s.nameEvent(r, experiment.KindDelete, ""); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// named is the handler that pauses, resumes or rolls back.
func (s *Server) named(kind string) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var in struct {
			Reason string `json:"reason"`
		}
		b, err := body(r, "application/json")
		if err != nil {
			return err
		}
		if len(b) > 0 {
			if err := strictJSON(b, &in); err != nil {
				return err
			}
		}
		if len(in.Reason) > 1000 {
			return noregret.BadInputf("reason", "it has %d bytes: want at most 1000", len(in.Reason))
		}
		if err := s.nameEvent(r, kind, in.Reason); err != nil {
			return err
		}
		name := r.PathValue("name")
		e := s.table.Load().entries[name]
		if e == nil {
			return noSuch(name)
		}
		return writeJSON(w, http.StatusOK, policy.Summary{
			Name: name, State: e.policy.State,
			Version: e.policy.Version, Round: e.policy.Round,
		})
	}
}

func (s *Server) nameEvent(r *http.Request, kind, reason string) error {
	name := r.PathValue("name")
	outcomes,
		err := s.submit(r.Context(),
		&command{make: func(state *experiment.State, now int64) ([]experiment.Event, error) {
			e, err := experiment.NewEvent(kind, now, experiment.NameEvent{Experiment: name, Reason: reason})
			if err != nil {
				return nil, err
			}
			if err := state.Try(name, []experiment.Event{e}); err != nil {
				return nil, conflict(err)
			}
			return []experiment.Event{e}, nil
		}})
	if err == nil {
		err = refused(outcomes)
	}
	if err == nil {
		s.config.Logger.Info("experiment changed", "experiment", name, "event", kind)
	}
	return err
}

func (s *Server) report(w http.ResponseWriter, r *http.Request) error {
	report, err := s.Report(r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, report)
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request) error {
	token := r.URL.Query().Get("token")
	if token == "" {
		return noregret.BadInputf("token", "want a decision's token as ?token=")
	}
	name := r.PathValue("name")
	if s.table.Load().entries[name] == nil {
		return noSuch(name)
	}
	e, err := s.Explain(name, token)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, e)
}

func (s *Server) stateOf(w http.ResponseWriter, _ *http.Request) error {
	v, err := s.State()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, v)
}

// export writes the log as JSON lines, from a position on; of one experiment, if asked.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	from, name := s.log.Stats().First, r.URL.Query().Get("experiment")
	if text := r.URL.Query().Get("from"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return noregret.BadInputf("from", "want a position from 1")
		}
		from = n
	}
	stats := s.log.Stats()
	if from < stats.First {
		return withStatus(http.StatusGone, noregret.NotFound, "from", "position %d is gone: the first one kept is %d",
			from, stats.First)
	}
	if from > stats.Last+1 {
		return noregret.Errorf(noregret.NotFound, "from", "position %d: the last one is %d", from, stats.Last)
	}
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
	found := name == "" || s.table.Load().entries[name] != nil
	_, err := eventlog.Export(w, func(yield func(eventlog.Record, error) bool) {
		for rec, err := range s.log.Read(r.Context(), from) {
			if err == nil && name != "" && experiment.Concerns(rec.Payload) != name {
				continue
			}
			found = true
			if !yield(rec, err) {
				return
			}
		}
	})
	if err == nil && !found {
		return noSuch(name) // nor was there one, as far as the log goes
	}
	if err != nil && r.Context().Err() == nil {
		s.config.Logger.Error("an export broke off", "error", err)
		panic(http.ErrAbortHandler) // the client must not take it for whole
	}
	return nil
}

func (s *Server) showMetrics(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler().ServeHTTP(w, r)
	return nil
}

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) error {
	return writeBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) error {
	if s.draining.Load() {
		return unavailable(errDraining)
	}
	if err := s.failed.Load(); err != nil {
		return unavailable(errFailed)
	}
	return writeBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
}

func (s *Server) schema(w http.ResponseWriter, _ *http.Request) error {
	return writeBytes(w, http.StatusOK, "application/schema+json", experiment.Schema)
}

// longest is how long a long poll may wait.
const longest = time.Minute

// policy answers with the policy as clients decide by it; with If-None-Match and ?wait= it waits
// for a change.
func (s *Server) policy(w http.ResponseWriter, r *http.Request) error {
	name, wait := r.PathValue("name"), time.Duration(0)
	if text := r.URL.Query().Get("wait"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > longest {
			return noregret.BadInputf("wait", "want a length of time from 0s to %v", longest)
		}
		wait = d
	}
	var timeout <-chan time.Time // nil before it waits
	for {
		changed := *s.renewed.Load() // before the table is read, so that no change is missed
		e := s.table.Load().entries[name]
		if e == nil {
			return noSuch(name)
		}
		tag := `"` + e.policy.Digest + `"`
		if !matches(r, tag) {
			w.Header().Set("ETag", tag)
			w.Header().Set("Cache-Control", "no-cache")
			return writeBytes(w, http.StatusOK, "application/json", e.text)
		}
		if wait > 0 {
			if timeout == nil {
				release, err := s.hold(w, polls)
				if err != nil {
					return err
				}
				defer release()
				t := time.NewTimer(wait)
				defer t.Stop()
				timeout = t.C
			}
			select {
			case <-changed:
				continue
			case <-timeout:
			case <-s.stop:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
}

// matches reports whether If-None-Match names the tag.
func matches(r *http.Request, tag string) bool {
	for _, h := range r.Header.Values("If-None-Match") {
		for part := range bytes.SplitSeq([]byte(h), []byte(",")) {
			part = bytes.TrimPrefix(bytes.TrimSpace(part), []byte("W/"))
			if string(part) == tag || string(part) == "*" {
				return true
			}
		}
	}
	return false
}
