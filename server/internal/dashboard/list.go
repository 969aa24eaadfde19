package dashboard

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
)

// listRow is an experiment in the list.
type listRow struct {
	api.Summary
	Path  string
	Units int64
	Guard api.GuardState // the worst, "" without guardrails
	// Problems is the number of health problems.
	Problems int
}

// listed is the list of experiments at one time.
type listed struct {
	Rows []listRow
	// All is the number of experiments before the filter, which Filtered says there is.
	All      int
	Filtered bool
	Time     time.Time
}

// filter selects experiments of the list. The zero value selects all.
type filter struct {
	// Query has words that the name or the description must contain, in any case.
	Query string        `query:"q" maxLength:"200"`
	State policy.Status `query:"state" enum:",running,paused,rolled_back,concluded"` // "" for all
	// Only is "guardrails" for those with a guardrail that is watched, breached or rolled back,
	// "problems" for those with a health problem, "" for all.
	Only string `query:"only" enum:",guardrails,problems"`
}

// longestQuery bounds the words to search for, in bytes.
const longestQuery = 200

// filterOf reads the filter of a request. It ignores values that it does not know.
func filterOf(r *http.Request) (f filter) {
	q := r.URL.Query()
	if f.Query = strings.TrimSpace(q.Get("q")); len(f.Query) > longestQuery {
		f.Query = strings.ToValidUTF8(f.Query[:longestQuery], "")
	}
	s := policy.Status(q.Get("state"))
	if slices.Contains([]policy.Status{policy.Running, policy.Paused, policy.RolledBack, policy.Concluded}, s) {
		f.State = s
	}
	if o := q.Get("only"); o == "guardrails" || o == "problems" {
		f.Only = o
	}
	return f
}

// address returns a path with the filter as its query.
func (f filter) address(path string) string {
	q := url.Values{}
	for name, v := range map[string]string{"q": f.Query, "state": string(f.State), "only": f.Only} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// names reports whether the filter may select an experiment by its name, description and state.
func (f filter) names(e *api.Summary) bool {
	text := strings.ToLower(e.Name + "\n" + e.Description)
	for word := range strings.FieldsSeq(strings.ToLower(f.Query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return f.State == "" || e.State == f.State
}

// selects reports whether the filter selects a row that it names.
func (f filter) selects(row *listRow) bool {
	switch f.Only {
	case "guardrails":
		return slices.Index(badness, row.Guard) >= slices.Index(badness, api.GuardWatch)
	case "problems":
		return row.Problems > 0
	}
	return true
}

// badness orders the states of guardrails from good to bad.
var badness = []api.GuardState{
	"", api.GuardHeld, api.GuardOk, api.GuardUnknown, api.GuardWatch, api.GuardRolledBack,
	api.GuardBreached,
}

// listRows are the rows of the list of the experiments that a visitor may use and the filter
// selects.
func (d *Dashboard) listRows(visitor *access.Principal, f filter) (*listed, error) {
	out := &listed{Filtered: f != filter{}}
	for _, e := range d.Source.Experiments() {
		if !d.mayUse(visitor, e.Name) {
			continue
		}
		if out.All++; !f.names(&e) {
			continue
		}
		r, err := d.Source.Report(e.Name)
		if noregret.CodeOf(err) == noregret.NotFound {
			out.All-- // deleted since it was listed
			continue
		} else if err != nil {
			return nil, err
		}
		row := listRow{Summary: e, Path: pathOf(e.Name), Units: unitsOf(r), Problems: len(r.Health.Problems)}
		for _, g := range r.Guardrails {
			if slices.Index(badness, g.State) > slices.Index(badness, row.Guard) {
				row.Guard = g.State
			}
		}
		if r.Time.After(out.Time) {
			out.Time = r.Time
		}
		if f.selects(&row) {
			out.Rows = append(out.Rows, row)
		}
	}
	return out, nil
}

func (d *Dashboard) listPage(_ http.ResponseWriter, r *http.Request) (*page, error) {
	p, err := d.listParts(r)
	f := filterOf(r)
	return &page{Page: "list", Title: "Experiments", Live: f.address("/live"), Parts: p, Data: f}, err
}

func (d *Dashboard) listParts(r *http.Request) (map[string]template.HTML, error) {
	rows, err := d.listRows(d.Visitor(r), filterOf(r))
	if err != nil {
		return nil, err
	}
	return parts([]string{"list", "list-status"}, rows)
}
