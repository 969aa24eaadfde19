package server

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"
)

// livePace is the least time between two events of a stream, and liveShare the share of the time
// that rendering a page may take: a page that costs more comes more rarely.
const (
	livePace  = 300 * time.Millisecond
	liveShare = 10
)

// renderings are the parts of pages as they were rendered last, so that all who look at one share
// it.
type renderings struct {
	mu sync.Mutex
	by map[string]*rendering
}

// rendering is a page's. Its lock is held while it is made: who wants the same waits for it.
type rendering struct {
	mu      sync.Mutex
	changed <-chan struct{} // what it is of: closed when the state has changed since
	parts   map[string]template.HTML
	took    time.Duration
}

// of is the rendering of a page for the state that changed stands for, made if there is none yet,
// and how long it took to make.
func (r *renderings) of(page string, changed <-chan struct{},
	make func() (map[string]template.HTML, error),
) (map[string]template.HTML, time.Duration, error) {
	r.mu.Lock()
	x := r.by[page]
	if x == nil {
		x = new(rendering)
		if r.by == nil {
			r.by = map[string]*rendering{}
		}
		r.by[page] = x
	}
	r.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changed == changed {
		return x.parts, x.took, nil
	}
	begin := time.Now()
	parts, err := make()
	if err != nil {
		r.mu.Lock()
		delete(r.by, page) // the experiment may be gone
		r.mu.Unlock()
		return nil, 0, err
	}
	x.changed, x.parts, x.took = changed, parts, time.Since(begin)
	return x.parts, x.took, nil
}

// live makes a handler of a stream of server-sent events: each has the parts that have changed, as
// a JSON object. It ends with the client or the service.
func (s *Server) live(make func(r *http.Request) (map[string]template.HTML, error)) func(http.ResponseWriter,
	*http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		sent := map[string]template.HTML{}
		for {
			changed := s.Changed()
			now, took, err := s.renderings.of(r.URL.Path, changed, func() (map[string]template.HTML, error) {
				return make(r)
			})
			if err != nil {
				if len(sent) == 0 {
					return err
				}
				_, _ = fmt.Fprint(w, "event: gone\ndata: {}\n\n")
				return http.NewResponseController(w).Flush()
			}
			if err := sendNews(w, sent, now); err != nil {
				return nil // the browser has gone
			}
			pace := time.NewTimer(max(livePace, liveShare*took))
			for _, wait := range []<-chan struct{}{changed, nil} {
				var paced <-chan time.Time
				if wait == nil {
					paced = pace.C
				}
				select {
				case <-wait:
				case <-paced:
				case <-s.Draining():
					pace.Stop()
					return nil
				case <-r.Context().Done():
					pace.Stop()
					return nil
				}
			}
			if s.visitor(r) == nil {
				return nil // logged out, or the token is no longer known
			}
		}
	}
}

// sendNews sends the parts that are not as they were sent, and notes them as sent.
func sendNews(w http.ResponseWriter, sent, now map[string]template.HTML) error {
	if len(sent) == 0 {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
	}
	news := map[string]template.HTML{}
	for name, text := range now {
		if sent[name] != text {
			news[name], sent[name] = text, text
		}
	}
	if len(news) == 0 {
		return nil
	}
	b, err := json.Marshal(news)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "event: parts\ndata: %s\n\n", b); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
