package dashboard

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/noregret/noregret/server/internal/web"
)

// LivePace is the least time between two events of a stream. Rendering a page takes at most
// 1/liveShare of the time, so a costly page is sent less often.
const (
	LivePace  = 300 * time.Millisecond
	liveShare = 10
)

// renderings caches the latest parts of each page, so that all viewers of a page share them.
type renderings struct {
	mu sync.Mutex
	by map[string]*rendering
}

// rendering is the cache of one page. Its lock is held while the page is rendered, so that other
// requests for the same page wait for it.
type rendering struct {
	mu      sync.Mutex
	changed <-chan struct{} // closed when the state has changed since
	parts   map[string]template.HTML
	took    time.Duration
}

// get returns the parts of a page for the state that changed belongs to, and how long they took to
// render. It calls render if they are not cached.
func (r *renderings) get(page string, changed <-chan struct{},
	render func() (map[string]template.HTML, error),
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
	parts, err := render()
	if err != nil {
		r.mu.Lock()
		delete(r.by, page) // the experiment may be gone
		r.mu.Unlock()
		return nil, 0, err
	}
	x.changed, x.parts, x.took = changed, parts, time.Since(begin)
	return x.parts, x.took, nil
}

// live returns the handler of a stream of server-sent events. Each event has the parts that have
// changed since the one before, as a JSON object. The stream ends when the client disconnects, the
// service drains, or the visitor may no longer read.
func (d *Dashboard) live(render func(r *http.Request) (map[string]template.HTML, error)) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		sent := map[string]template.HTML{}
		for {
			changed := d.Changed()
			now, took, err := d.rendered(r, changed, render)
			if err != nil {
				if len(sent) == 0 {
					return err
				}
				_, _ = fmt.Fprint(w, "event: gone\ndata: {}\n\n")
				return http.NewResponseController(w).Flush()
			}
			if err := sendNews(w, sent, now); err != nil {
				return nil // the browser has disconnected
			}
			if !d.awaitChange(r, changed, max(LivePace, liveShare*took)) || !d.stillMay(r) {
				return nil
			}
		}
	}
}

// stillMay reports whether the visitor may go on to read a page: the access token may be gone, or
// may no longer use the page's experiment.
func (d *Dashboard) stillMay(r *http.Request) bool {
	v, name := d.Visitor(r), r.PathValue("name")
	return v != nil && (name == "" || d.mayUse(v, name))
}

// rendered returns the parts of a page and how long they took to render. Viewers of a page share
// them, except those who search: there is no bound on what they search for.
func (d *Dashboard) rendered(r *http.Request, changed <-chan struct{},
	render func(r *http.Request) (map[string]template.HTML, error),
) (map[string]template.HTML, time.Duration, error) {
	draw := func() (map[string]template.HTML, error) { return render(r) }
	if filterOf(r) != (filter{}) {
		return new(renderings).get("", changed, draw)
	}
	return d.renderings.get(r.URL.Path+"?axis="+axisOf(r)+d.scope(r), changed, draw)
}

// scope returns the part of a rendering's key that names who sees some experiments only.
func (d *Dashboard) scope(r *http.Request) string {
	if v := d.Visitor(r); v.Limited() {
		return "&scope=" + v.Name + "&hash=" + string(v.Hash[:])
	}
	return ""
}

// awaitChange waits for the next change, and for at least the given time. It reports false if the
// stream ends first.
func (d *Dashboard) awaitChange(r *http.Request, changed <-chan struct{}, atLeast time.Duration) bool {
	pace := time.NewTimer(atLeast)
	defer pace.Stop()
	paced := false
	for !paced || changed != nil {
		select {
		case <-changed:
			changed = nil
		case <-pace.C:
			paced = true
		case <-d.Draining:
			return false
		case <-r.Context().Done():
			return false
		}
	}
	return true
}

// sendNews sends the parts that differ from those sent before, and records them in sent.
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
