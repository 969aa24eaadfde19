package dashboard

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/web"
)

func (d *Dashboard) experimentPage(_ http.ResponseWriter, r *http.Request) (*page, error) {
	name := r.PathValue("name")
	p, err := d.experimentParts(r)
	return &page{
		Page: "experiment", Title: name, Parts: p, Charts: true,
		Live: "/experiments/" + url.PathEscape(name) + "/live?axis=" + axisOf(r),
		Data: experimentData{name, axisOf(r) == axisVersions},
	}, err
}

// experimentData is the data of an experiment's page.
type experimentData struct {
	Name     string
	Versions bool // the axis has policy versions
}

// stateOf returns the state of an experiment, "" if there is none of the name.
func (d *Dashboard) stateOf(name string) policy.Status {
	for _, e := range d.Source.Experiments() {
		if e.Name == name {
			return e.State
		}
	}
	return ""
}

// experimentPartNames are the parts of an experiment's page.
var experimentPartNames = []string{
	"summary", "status", "actions", "pictures", "lift", "guardrails", "arms", "regret", "health",
	"events", "audit",
}

func (d *Dashboard) experimentParts(r *http.Request) (map[string]template.HTML, error) {
	v, err := d.experimentView(r.PathValue("name"), axisOf(r))
	if err != nil {
		return nil, err
	}
	return parts(experimentPartNames, v)
}

// explained is the data of the page that explains a decision.
type explained struct {
	Name, Token, Fault string
	E                  *api.Explanation
	Bars               []bar
	Mark               float64
	Metrics            []string
	Known              []knownRow
	Scores             []policy.ArmScore // without retired arms
	Parts              []scorePart
}

func (d *Dashboard) explainPage(_ http.ResponseWriter, r *http.Request) (*page, error) {
	name := r.PathValue("name")
	if _, err := d.Source.Definition(name); err != nil {
		return nil, err
	}
	v := &explained{Name: name, Token: strings.TrimSpace(r.URL.Query().Get("token"))}
	p := &page{Page: "explain", Title: "Why this arm? – " + name, Data: v}
	if v.Token == "" {
		return p, nil
	}
	e, err := d.Source.Explain(name, v.Token)
	if err != nil {
		p.Status = web.StatusOf(err)
		if v.Fault = err.Error(); p.Status == http.StatusInternalServerError {
			return nil, err
		}
		if e, ok := errors.AsType[*noregret.Error](err); ok {
			v.Fault = e.Message
		}
		return p, nil
	}
	report, err := d.Source.Report(name)
	if err != nil {
		return nil, err
	}
	v.show(e, report)
	return p, nil
}
