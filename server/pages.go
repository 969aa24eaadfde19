package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/policy"
)

// The dashboard: pages rendered here, which work without a script. live.js replaces the parts of a
// page that have changed, as a stream of server-sent events brings them.

//go:embed pages
var pageFiles embed.FS

// pageRoutes are the dashboard's. A browser shows who it is by the cookie of /login.
func (s *Server) pageRoutes() []route {
	return []route{
		{"GET", "/{$}", Read, nil, brief, s.page(s.listPage)},
		{"GET", "/live", Read, nil, dashboards, s.live(s.listParts)},
		{"GET", "/experiments/{name}", Read, nil, brief, s.page(s.experimentPage)},
		{"GET", "/experiments/{name}/live", Read, nil, dashboards, s.live(s.experimentParts)},
		{"GET", "/experiments/{name}/explain", Read, nil, brief, s.page(s.explainPage)},
		{"GET", "/experiments/{name}/pictures/{picture}", Read, nil, brief, s.picture},
		{"GET", "/login", Anyone, nil, brief, s.page(s.loginPage)},
		{"POST", "/login", Anyone, nil, brief, s.page(s.login)},
		{"POST", "/logout", Anyone, nil, brief, s.page(s.logout)},
		{"GET", "/assets/{file}", Anyone, nil, brief, s.asset},
	}
}

// pagePolicy is the Content-Security-Policy of pages: nothing but what this service serves, nothing
// inline.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pageTemplates are the templates by page. Each has the layout and the parts beside its own.
var pageTemplates = sync.OnceValues(func() (map[string]*template.Template, error) {
	shared, err := template.New("layout.html").Funcs(pageFuncs).ParseFS(pageFiles, "pages/layout.html",
		"pages/parts.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(pageFiles, "pages/page-*.html")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{"": shared}
	for _, name := range names {
		t, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if all[strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "page-"), ".html")],
			err = t.ParseFS(pageFiles, name); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// shown is a page: its template, its status and what the template gets.
type shown struct {
	Page   string
	Status int
	Title  string
	// Live is the address of the stream that keeps the page up to date, "" for none.
	Live string
	// Visitor is the name of the access token, "" where none are asked for.
	Visitor string
	// Parts are what the stream replaces, rendered, by name.
	Parts map[string]template.HTML
	// Data is the page's own.
	Data any
	// to is where the browser shall go instead.
	to string
}

// page makes a handler of a page; errors are pages, too.
func (s *Server) page(make func(w http.ResponseWriter, r *http.Request) (*shown, error)) func(http.ResponseWriter,
	*http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := make(w, r)
		if err != nil {
			p = s.errorPage(r, err)
		}
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("Referrer-Policy", "same-origin")
		if p.to != "" {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Location", p.to)
			w.WriteHeader(http.StatusSeeOther)
			return nil
		}
		if v := s.visitor(r); v != nil {
			p.Visitor = v.name
		}
		all, err := pageTemplates()
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := all[p.Page].ExecuteTemplate(&b, "layout.html", p); err != nil {
			return err
		}
		return writeBytes(w, max(p.Status, http.StatusOK), "text/html; charset=utf-8", b.Bytes())
	}
}

// errorPage says what is wrong, with the status that the API has for it.
func (s *Server) errorPage(r *http.Request, err error) *shown {
	status, text := statusOf(err), err.Error()
	if e, ok := errors.AsType[*noregret.Error](err); ok {
		text = e.Message
	}
	if status == http.StatusInternalServerError {
		s.config.Logger.Error("a page failed", "route", r.Pattern, "error", err)
		text = "the service has failed to answer; its log says why"
	}
	return &shown{Page: "error", Status: status, Title: http.StatusText(status), Data: text}
}

// parts renders the parts of a page.
func parts(names []string, data any) (map[string]template.HTML, error) {
	all, err := pageTemplates()
	if err != nil {
		return nil, err
	}
	out := map[string]template.HTML{}
	for _, name := range names {
		var b bytes.Buffer
		if err := all[""].ExecuteTemplate(&b, "part-"+name, data); err != nil {
			return nil, err
		}
		out[name] = template.HTML(b.String()) // html/template has escaped it
	}
	return out, nil
}

// asset serves the style sheet and the script.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) error {
	media := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml",
	}[path.Ext(r.PathValue("file"))]
	b, err := pageFiles.ReadFile("pages/" + r.PathValue("file"))
	if err != nil || media == "" {
		return withStatus(http.StatusNotFound, noregret.NotFound, "path", "there is no such file")
	}
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if matches(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeBytes(w, http.StatusOK, media, b)
}

func (s *Server) listPage(_ http.ResponseWriter, r *http.Request) (*shown, error) {
	p, err := s.listParts(r)
	return &shown{Page: "list", Title: "Experiments", Live: "/live", Parts: p}, err
}

func (s *Server) listParts(_ *http.Request) (map[string]template.HTML, error) {
	rows, err := s.listRows()
	if err != nil {
		return nil, err
	}
	return parts([]string{"list", "list-status"}, rows)
}

func (s *Server) experimentPage(_ http.ResponseWriter, r *http.Request) (*shown, error) {
	name := r.PathValue("name")
	p, err := s.experimentParts(r)
	return &shown{
		Page: "experiment", Title: name, Live: "/experiments/" + url.PathEscape(name) + "/live", Parts: p,
		Data: name,
	}, err
}

// experimentPartNames are the parts of an experiment's page.
var experimentPartNames = []string{"summary", "status", "pictures", "guardrails", "arms", "regret", "health", "events"}

func (s *Server) experimentParts(r *http.Request) (map[string]template.HTML, error) {
	v, err := s.experimentView(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return parts(experimentPartNames, v)
}

// explained is what the explain page shows.
type explained struct {
	Name, Token, Fault string
	E                  *policy.Explanation
	Bars               []bar
	Mark               float64
	Metrics            []string
	Known              []knownRow
}

func (s *Server) explainPage(_ http.ResponseWriter, r *http.Request) (*shown, error) {
	name := r.PathValue("name")
	if _, err := s.Definition(name); err != nil {
		return nil, err
	}
	v := &explained{Name: name, Token: strings.TrimSpace(r.URL.Query().Get("token"))}
	p := &shown{Page: "explain", Title: "Why this arm? – " + name, Data: v}
	if v.Token == "" {
		return p, nil
	}
	e, err := s.Explain(name, v.Token)
	if err != nil {
		p.Status = statusOf(err)
		if v.Fault = err.Error(); p.Status == http.StatusInternalServerError {
			return nil, err
		}
		if e, ok := errors.AsType[*noregret.Error](err); ok {
			v.Fault = e.Message
		}
		return p, nil
	}
	v.show(e)
	return p, nil
}

// visitorKey is where the context has the principal of a page's visitor.
type visitorKey struct{}

// visitor is who looks at a page, or nil.
func (s *Server) visitor(r *http.Request) *principal {
	if p := s.auth.bearer(r); p != nil && p.may(Read) {
		return p
	}
	if p := s.sessions.find(r, s.auth, s.config.Now()); p != nil && p.may(Read) {
		return p
	}
	return nil
}

// aroundPage lets browsers in by their cookie, on pages only, and shows the others the way to
// /login.
func (s *Server) aroundPage(rt route, limits *limiter, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.ofThisSite(r); err != nil {
			s.writeError(w, r, err)
			return
		}
		if rt.method == http.MethodPost && !limits.allow(&principal{}, r) { // nobody guesses tokens faster here
			s.writeError(w, r, s.tooMany(w))
			return
		}
		if rt.role != Anyone {
			switch p := s.visitor(r); {
			case p != nil:
				r = r.WithContext(context.WithValue(r.Context(), visitorKey{}, p))
			case rt.long == brief && !strings.Contains(rt.pattern, "/pictures/") && r.Header.Get("Authorization") == "":
				w.Header().Set("Cache-Control", "no-store")
				w.Header().Set("Location", "/login?next="+url.QueryEscape(r.URL.RequestURI()))
				w.WriteHeader(http.StatusSeeOther)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
