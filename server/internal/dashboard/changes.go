package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// change is a change of an experiment that a page asks to confirm.
type change struct {
	// Kind is that of [Editor.Change] and the last part of the page's path.
	Kind string
	// Link is the link on the experiment's page, Verb begins the title and is on the button, and
	// Done says that the experiment is in the change's state already.
	Link, Verb, Done string
	// Tick is what a box asks to confirm, "" for a change that can be undone at once.
	Tick string
	// from are the states in which the change is possible.
	from []policy.Status
	// page, asks and does are for the document: the name of the page that asks to confirm the
	// change, and what that page and its form do.
	page, asks, does string
}

// byAdmin says who may send the form of a change.
const byAdmin = "The session, or an access token in the form, must have the role admin."

// changes are those that the dashboard offers, in the order of the links.
var changes = []change{
	{
		Kind: "pause", Link: "Pause", Verb: "Pause", Done: "The experiment is paused already.",
		from: []policy.Status{policy.Running}, page: "Pause",
		asks: "The page that asks whether to pause an experiment", does: "Pauses an experiment",
	},
	{
		Kind: "resume", Link: "Resume", Verb: "Resume", Done: "The experiment is running already.",
		from: []policy.Status{policy.Paused, policy.RolledBack}, page: "Resume",
		asks: "The page that asks whether to resume an experiment", does: "Resumes an experiment",
	},
	{
		Kind: "rollback", Link: "Roll back", Verb: "Roll back", Done: "The experiment is rolled back already.",
		Tick: "Give every unit the control arm", from: []policy.Status{policy.Running, policy.Paused}, page: "Rollback",
		asks: "The page that asks whether to roll an experiment back", does: "Rolls an experiment back",
	},
	{
		Kind: "conclude", Link: "End the experiment", Verb: "Conclude", Done: "The experiment is concluded already.",
		Tick: "End the experiment with this mixture",
		from: []policy.Status{policy.Running, policy.Paused, policy.RolledBack}, page: "Conclusion",
		asks: "What an experiment would be concluded with, and a form that confirms it, as a page",
		does: "Concludes an experiment with the mixture that would be deployed",
	},
}

// changesIn are the changes that are possible in a state.
func changesIn(r *api.Report) (out []change) {
	for _, c := range changes {
		if slices.Contains(c.from, r.State) && (c.Kind != "rollback" || controlOf(r) != "") {
			out = append(out, c)
		}
	}
	return out
}

// controlOf returns the name of the control arm, "" for none.
func controlOf(r *api.Report) string {
	for name, a := range r.Arms {
		if a.Control {
			return name
		}
	}
	return ""
}

// changing is the data of the page that asks whether to change an experiment.
type changing struct {
	*api.Report
	change
	protection
	Path string
	// Possible says that the state of the experiment allows the change.
	Possible bool
	// Control is the control arm, "" for none.
	Control string
	// Shares are the shares of the mixture that would be deployed, the largest first.
	Shares []armRow
	Reason string
}

// changeRoutes are the routes of the pages that change an experiment.
func (d *Dashboard) changeRoutes() (out []web.Route) {
	for _, c := range changes {
		pattern := "/experiments/{name}/" + c.Kind
		ask := func(_ http.ResponseWriter, r *http.Request) (*page, error) { return d.changing(r, c, "", nil) }
		make := func(_ http.ResponseWriter, r *http.Request) (*page, error) { return d.change(r, c) }
		out = append(out,
			web.Route{
				Method: "GET", Pattern: pattern, Role: access.Read, Serve: d.page(ask),
				ID: "pageOf" + c.page, Tag: pages, Summary: c.asks, Answers: pageAnswers,
			},
			web.Route{
				Method: "POST", Pattern: pattern, Role: access.Read, Appends: web.Always, Serve: d.page(make),
				ID: c.Kind + "ByPage", Tag: pages, Summary: c.does, About: byAdmin,
				Body: changeForm{}, Media: form, Lenient: true,
				Answers: web.Answers{303: toExperiment, 0: pageError},
			})
	}
	return out
}

// changing returns the page that says what a change does, and asks for it.
func (d *Dashboard) changing(r *http.Request, c change, reason string, fault error) (*page, error) {
	name := r.PathValue("name")
	report, err := d.Source.Report(name)
	if err != nil {
		return nil, err
	}
	v := &changing{
		Report: report, change: c, protection: d.protect(r, fault), Path: pathOf(name), Control: controlOf(report),
		Possible: slices.Contains(c.from, report.State), Reason: reason,
	}
	for arm, share := range report.Deployed {
		if share > 0 {
			v.Shares = append(v.Shares, armRow{Name: arm, Share: share, Control: report.Arms[arm].Control})
		}
	}
	sortArms(v.Shares)
	p := &page{Page: "change", Title: c.Verb + " " + name + "?", Data: v}
	if fault != nil {
		p.Status = web.StatusOf(fault)
	}
	return p, nil
}

// change changes an experiment, if the form confirms it and its principal may.
func (d *Dashboard) change(r *http.Request, c change) (*page, error) {
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	reason := strings.TrimSpace(form.Get("reason"))
	admitted, err := d.admit(r, form)
	if err == nil && c.Tick != "" && form.Get("confirm") != "yes" {
		err = web.WithStatus(http.StatusBadRequest, noregret.BadInput, "form", "Confirm the change: tick the box.")
	}
	if err == nil {
		err = d.Editor.Change(admitted.Context(), c.Kind, r.PathValue("name"), reason)
	}
	switch {
	case err == nil:
		return &page{redirect: pathOf(r.PathValue("name"))}, nil
	case !shownFault(err):
		return nil, err
	}
	return d.changing(r, c, reason, err)
}

// pathOf returns the path of an experiment's page.
func pathOf(name string) string { return "/experiments/" + url.PathEscape(name) }
