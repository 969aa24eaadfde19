package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto/optimum"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// Source is where pages get their data. Its results must not be modified.
type Source interface {
	// Experiments lists the experiments by name.
	Experiments() []api.Summary
	// Definition, Report, Explain and Optimum are those of [experiment.State].
	Definition(name string) (*definition.Definition, error)
	Report(name string) (*api.Report, error)
	Explain(name, token string) (*api.Explanation, error)
	Optimum(name string) (*optimum.Optimum, error)
	// Audit returns the last changes that people have made to an experiment, the newest first.
	Audit(name string, limit int) []api.AuditEntry
	// Revisions returns the last definitions of an experiment that the audit trail knows, the
	// newest first.
	Revisions(ctx context.Context, name string, limit int) ([]Revision, error)
}

// Options configure a dashboard. All fields but FormKey are required.
type Options struct {
	Source Source
	Editor Editor
	// Read waits for a place among the heavy reads and returns the function that gives it back.
	// Source takes places by itself for reports, explanations and optima.
	Read func(ctx context.Context) (release func(), err error)
	// Changed returns a channel that is closed at the next change of the source.
	Changed func() <-chan struct{}
	// Draining is closed when streams must end.
	Draining <-chan struct{}
	Tokens   *access.Tokens
	// FormKey makes the secrets of forms, so that one service takes the forms of another one with
	// the same key. "" means a random key.
	FormKey string
	// Failures notes failed logins.
	Failures *access.Failures
	Now      func() time.Time
	Logger   *slog.Logger
}

// Dashboard serves the pages. Its methods are safe for concurrent use.
type Dashboard struct {
	Options
	sessions   sessions
	optima     optimumCache
	renderings renderings
	formKey    formKey
}

// New makes a dashboard.
func New(o Options) *Dashboard { return &Dashboard{Options: o, formKey: newFormKey(o.FormKey)} }

//go:embed pages
var pageFiles embed.FS

// Routes are the dashboard's routes. A browser authenticates with the cookie of /login.
func (d *Dashboard) Routes() []web.Route {
	return slices.Concat(d.changeRoutes(), d.editRoutes(), []web.Route{
		{
			Method: "GET", Pattern: "/{$}", Role: access.Read, Scoped: true, Serve: d.page(d.listPage),
			ID: "pageOfExperiments", Tag: pages, Summary: "All experiments, as a page", Params: filter{},
			Answers: pageAnswers,
		},
		{
			Method: "GET", Pattern: "/live", Role: access.Read, Stream: web.Dashboards, Scoped: true,
			Serve: d.live(d.listParts),
			ID:    "liveExperiments", Tag: pages,
			Summary: "The parts of the page of all experiments, whenever they change", Params: filter{},
			Answers: liveAnswers,
		},
		{
			Method: "GET", Pattern: "/experiments/{name}", Role: access.Read, Serve: d.page(d.experimentPage),
			ID: "pageOfExperiment", Tag: pages, Summary: "An experiment, as a page", Answers: pageAnswers,
		},
		{
			Method: "GET", Pattern: "/experiments/{name}/live", Role: access.Read, Stream: web.Dashboards,
			Serve: d.live(d.experimentParts),
			ID:    "liveExperiment", Tag: pages, Summary: "The parts of an experiment's page, whenever they change",
			Answers: liveAnswers,
		},
		{
			Method: "GET", Pattern: "/experiments/{name}/explain", Role: access.Read, Serve: d.page(d.explainPage),
			ID: "pageOfExplanation", Tag: pages, Summary: "Why a unit got its arm, as a page", Params: explainQuery{},
			Answers: pageAnswers,
		},
		{
			Method: "GET", Pattern: "/experiments/{name}/pictures/{picture}", Role: access.Read, Serve: d.picture,
			ID: "getPicture", Tag: pages, Summary: "A picture of an experiment, or its values", Params: pictureParams{},
			Answers: web.Answers{200: {Text: "The picture", Content: map[string]any{
				"image/svg+xml": "", "image/png": []byte{}, "text/csv": "", "application/json": series{},
			}}},
		},
		{
			Method: "GET", Pattern: "/login", Serve: d.page(d.loginPage),
			ID: "pageOfLogin", Tag: pages, Summary: "A form that takes an access token", Params: loginQuery{},
			Answers: pageAnswers,
		},
		{
			Method: "POST", Pattern: "/login", Serve: d.page(d.login),
			ID: "login", Tag: pages,
			Summary: "Takes an access token with the role read and gives a cookie for the pages",
			Body:    loginForm{}, Media: form, Lenient: true,
			Answers: web.Answers{303: toLogin, 0: pageError, 403: {
				Text:    "The token is not known or lacks the role, or the form is of another site",
				Content: pageError.Content,
			}},
		},
		{
			Method: "POST", Pattern: "/logout", Serve: d.page(d.logout),
			ID: "logout", Tag: pages, Summary: "Ends the cookie", Answers: web.Answers{303: toLogin},
		},
		{
			Method: "GET", Pattern: "/assets/{file}", Serve: d.asset,
			ID: "getAsset", Tag: pages, Summary: "Style sheet, script and icon of the pages",
			Answers: web.Answers{200: asset(), 304: web.Unchanged},
		},
	})
}

// pages is the group of the operations.
const pages = "pages"

// form is the media type of forms.
var form = []string{"application/x-www-form-urlencoded"}

// The answers of pages.
var (
	toLogin   = web.Answer{Name: "ToLogin", Text: "See the page in Location: /login, or what was asked for"}
	pageShown = web.Answer{Name: "Page", Text: "The page", Content: map[string]any{"text/html": ""}}
	pageError = web.Answer{Name: "PageError", Text: "What is wrong", Content: map[string]any{
		"text/html": "", "application/problem+json": api.Problem{},
	}}
	pageAnswers  = web.Answers{200: pageShown, 303: toLogin, 0: pageError}
	toExperiment = web.Answer{Text: "To the experiment's page"}
	liveAnswers  = web.Answers{200: {
		Name: "Live", Text: "Server-sent events", Content: map[string]any{"text/event-stream": ""},
	}}
)

// asset describes the answer to who asks for an asset.
func asset() web.Answer {
	a := web.Plain("The file", "text/css", "text/plain", "text/javascript", "image/svg+xml")
	a.Tagged = true
	return a
}

// explainQuery asks for an explanation.
type explainQuery struct {
	// A decision's token; without it the page asks for one.
	Token string `query:"token"`
}

// loginQuery asks for the form to log in.
type loginQuery struct {
	// The path to go to.
	Next string `query:"next"`
}

// loginForm is the form to log in, which [Dashboard.login] reads.
type loginForm struct {
	Token string `json:"token,omitempty"`
	Next  string `json:"next,omitempty"`
}

// changeForm is the form of a change, which [Dashboard.change] reads.
type changeForm struct {
	Confirm string `json:"confirm,omitempty" enum:"yes"`
	Reason  string `json:"reason,omitempty"`
	Secret  string `json:"secret,omitempty"`
	Token   string `json:"token,omitempty"`
}

// editForm is the form of a definition, which [Dashboard.edit] reads.
type editForm struct {
	Step       string `json:"step,omitempty" enum:"review,edit,apply"`
	Definition string `json:"definition"`
	Tag        string `json:"tag,omitempty"`
	Confirm    string `json:"confirm,omitempty" enum:"yes"`
	Secret     string `json:"secret,omitempty"`
	Token      string `json:"token,omitempty"`
}

// ContentSecurityPolicy is the policy of pages. It allows only resources that this service serves,
// and nothing inline.
const ContentSecurityPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src " +
	"'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pageTemplates are the templates by page. Each includes the layout and the parts.
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

// page is what a handler of a page returns: its template, its status and the template's data.
type page struct {
	Page   string
	Status int
	Title  string
	// Live is the address of the stream that keeps the page up to date, "" for none.
	Live string
	// Charts says that the page has pictures that the script replaces by charts.
	Charts bool
	// Visitor is the name of the access token, "" where none are required.
	Visitor string
	// Parts are the rendered parts that the stream replaces, by name.
	Parts map[string]template.HTML
	// Data is the data of this page's template.
	Data any
	// redirect is where the browser goes instead, "" to show the page.
	redirect string
	// text is the page, rendered, nil if it is not rendered yet.
	text []byte
}

// pageFunc makes a page for a request.
type pageFunc func(w http.ResponseWriter, r *http.Request) (*page, error)

// page returns the handler that renders what build makes; its errors become pages, too.
func (d *Dashboard) page(build pageFunc) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := build(w, r)
		if err != nil {
			p = d.errorPage(r, err)
		}
		w.Header().Set("Content-Security-Policy", ContentSecurityPolicy)
		w.Header().Set("Referrer-Policy", "same-origin")
		if p.redirect != "" {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Location", p.redirect)
			w.WriteHeader(http.StatusSeeOther)
			return nil
		}
		if err := d.render(r, p); err != nil {
			return err
		}
		return web.WriteBytes(w, max(p.Status, http.StatusOK), "text/html; charset=utf-8", p.text)
	}
}

// render renders a page, unless it is rendered already.
func (d *Dashboard) render(r *http.Request, p *page) error {
	if p.text != nil {
		return nil
	}
	if v := d.Visitor(r); v != nil {
		p.Visitor = v.Name
	}
	all, err := pageTemplates()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := all[p.Page].ExecuteTemplate(&b, "layout.html", p); err != nil {
		return err
	}
	p.text = b.Bytes()
	return nil
}

// heavy returns build for a page that takes long: the page is made and rendered in a place among
// the heavy reads.
func (d *Dashboard) heavy(build pageFunc) pageFunc {
	return func(w http.ResponseWriter, r *http.Request) (*page, error) {
		release, err := d.Read(r.Context())
		if err != nil {
			return nil, err
		}
		defer release()
		p, err := build(w, r)
		if err != nil {
			return nil, err
		}
		return p, d.render(r, p)
	}
}

// errorPage is the page of an error, with the status that the API gives it.
func (d *Dashboard) errorPage(r *http.Request, err error) *page {
	status, text := web.StatusOf(err), err.Error()
	if e, ok := errors.AsType[*noregret.Error](err); ok {
		text = e.Message
	}
	if status == http.StatusInternalServerError {
		d.Logger.Error("a page failed", "route", r.Pattern, "error", err)
		text = web.InternalFailure
	}
	return &page{Page: "error", Status: status, Title: http.StatusText(status), Data: text}
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

// assets are the files that pages refer to, by name, with their media types. UPlot is that of npm,
// version 1.6.32, unchanged.
var assets = map[string]struct{ path, media string }{
	"style.css":         {"pages/style.css", "text/css; charset=utf-8"},
	"live.js":           {"pages/live.js", "text/javascript; charset=utf-8"},
	"charts.js":         {"pages/charts.js", "text/javascript; charset=utf-8"},
	"icon.svg":          {"pages/icon.svg", "image/svg+xml"},
	"uplot.js":          {"pages/uplot/uplot.js", "text/javascript; charset=utf-8"},
	"uplot.css":         {"pages/uplot/uplot.css", "text/css; charset=utf-8"},
	"uplot-licence.txt": {"pages/uplot/LICENSE", "text/plain; charset=utf-8"},
}

// asset serves a file that pages refer to.
func (d *Dashboard) asset(w http.ResponseWriter, r *http.Request) error {
	a, ok := assets[r.PathValue("file")]
	if !ok {
		return web.WithStatus(http.StatusNotFound, noregret.NotFound, "path", "no such file")
	}
	b, err := pageFiles.ReadFile(a.path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if web.Matches(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return web.WriteBytes(w, http.StatusOK, a.media, b)
}

// Visitor returns the principal who views a page, by access token or cookie, or nil. Only a
// principal with the role [access.Read] is a visitor.
func (d *Dashboard) Visitor(r *http.Request) *access.Principal {
	if p := d.Tokens.Find(r); p != nil && p.May(access.Read) {
		return p
	}
	if p := d.sessions.find(r, d.Tokens, d.Now()); p != nil && p.May(access.Read) {
		return p
	}
	return nil
}
