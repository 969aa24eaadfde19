package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// editing is the data of the page that edits a definition: first a field with its text, then what
// would change, to be confirmed.
type editing struct {
	Name, Path string
	protection
	Text string
	// Tag is that of the definition that the text changes.
	Tag string
	// Review says that the page shows the difference and asks for a confirmation.
	Review bool
	Hunks  []hunk
	Notes  []string
	// Concluded says that nothing can be changed any more.
	Concluded bool
	// Place is the place of the fault in the text, "" for none.
	Place string
}

// hunk is a part of a difference between two texts.
type hunk struct{ Lines []diffLine }

// diffLine is a line of a difference. Sign is +, − or a space; Old and New are the line's numbers,
// 0 where it is not.
type diffLine struct {
	Sign     string
	Old, New int
	Text     string
}

// textName stands before the number of a line in the place of an error.
const textName = "line"

// diffContext is the number of equal lines around a difference.
const diffContext = 3

// diff returns the difference between two texts by lines.
func diff(before, after string) (out []hunk, err error) {
	if before == after {
		return nil, nil
	}
	u, err := udiff.ToUnifiedDiff("before", "after", before, udiff.Lines(before, after), diffContext)
	if err != nil {
		return nil, err
	}
	for _, h := range u.Hunks {
		from, to := h.FromLine, h.ToLine
		var lines []diffLine
		for _, l := range h.Lines {
			line := diffLine{Sign: " ", Old: from, New: to, Text: strings.TrimSuffix(l.Content, "\n")}
			switch l.Kind {
			case udiff.Delete:
				line.Sign, line.New = "−", 0
				from++
			case udiff.Insert:
				line.Sign, line.Old = "+", 0
				to++
			default:
				from, to = from+1, to+1
			}
			lines = append(lines, line)
		}
		out = append(out, hunk{lines})
	}
	return out, nil
}

// editPage shows the definition in a field.
func (d *Dashboard) editPage(_ http.ResponseWriter, r *http.Request) (*page, error) {
	def, err := d.Source.Definition(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v := d.editing(r, nil)
	if v.Tag, err = definition.Tag(def); err != nil {
		return nil, err
	}
	if v.Text, err = definition.Text(def); err != nil {
		return nil, err
	}
	return v.page(nil), nil
}

func (d *Dashboard) editing(r *http.Request, fault error) *editing {
	name := r.PathValue("name")
	return &editing{
		Name: name, Path: pathOf(name), protection: d.protect(r, fault),
		Concluded: d.stateOf(name) == policy.Concluded,
	}
}

func (v *editing) page(fault error) *page {
	p := &page{Page: "edit", Title: "Edit " + v.Name, Data: v}
	if v.Review {
		p.Title = "Change " + v.Name + "?"
	}
	if fault != nil {
		p.Status = web.StatusOf(fault)
		if e, ok := errors.AsType[*noregret.Error](fault); ok && !v.Review {
			v.Place = strings.Replace(e.Place, textName+":", textName+" ", 1)
		}
	}
	return p
}

// edit shows what a text would change, or changes it. A form names the definition that it was made
// from by its tag: if that is no longer in force, it shows the difference from the new one.
func (d *Dashboard) edit(w http.ResponseWriter, r *http.Request) (*page, error) {
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(form.Get("definition"), "\r\n", "\n")
	release, err := d.Read(r.Context())
	if err != nil {
		return nil, err
	}
	def, err := d.parse(r, text)
	release() // the writer, for which a change waits, needs no place
	again := func(review bool, fault error) (*page, error) {
		if fault != nil && !shownFault(fault) {
			return nil, fault
		}
		return d.heavy(func(_ http.ResponseWriter, r *http.Request) (*page, error) {
			return d.reviewing(r, text, def, form.Get("tag"), review, fault)
		})(w, r)
	}
	// The writer makes the check, and feedback waits for it, so it is not for readers.
	if v := d.Visitor(r); err == nil && v != nil && v.May(access.Admin) {
		err = d.Editor.Check(r.Context(), def)
	}
	if err != nil || form.Get("step") == "edit" {
		return again(false, err)
	}
	if form.Get("step") != "apply" {
		return again(true, nil)
	}
	admitted, err := d.admit(r, form)
	if err == nil && form.Get("confirm") != "yes" {
		err = web.WithStatus(http.StatusBadRequest, noregret.BadInput, "form", "Confirm the change: tick the box.")
	}
	if err == nil {
		err = d.Editor.Define(admitted.Context(), def, form.Get("tag"))
	}
	if web.StatusOf(err) == http.StatusPreconditionFailed {
		err = web.WithStatus(http.StatusPreconditionFailed, noregret.BadInput, "form", "The definition has been "+
			"changed meanwhile. Nothing was changed by you: below is the difference from the definition in force.")
		if now, e := d.tagOf(def.Name); e == nil {
			form.Set("tag", now)
		}
	}
	if err != nil {
		return again(true, err)
	}
	return &page{redirect: pathOf(def.Name)}, nil
}

// parse reads the text of a definition, whose name must be the path's.
func (d *Dashboard) parse(r *http.Request, text string) (*definition.Definition, error) {
	def, err := definition.Parse(textName, []byte(text))
	if err != nil {
		return nil, err
	}
	if name := r.PathValue("name"); def.Name != name {
		return nil, noregret.BadInputf("name", "%q: want %q, as the name of an experiment cannot change", def.Name,
			name)
	}
	return def, nil
}

// tagOf returns the tag of the definition in force.
func (d *Dashboard) tagOf(name string) (string, error) {
	def, err := d.Source.Definition(name)
	if err != nil {
		return "", err
	}
	return definition.Tag(def)
}

// reviewing is the page of a text that was sent: what it changes, or the field to edit it further.
// After is the definition that the text has, for a review.
func (d *Dashboard) reviewing(r *http.Request, text string, after *definition.Definition, tag string, review bool,
	fault error,
) (*page, error) {
	before, err := d.Source.Definition(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v := d.editing(r, fault)
	v.Text, v.Tag, v.Review = text, tag, review
	if !review {
		return v.page(fault), nil
	}
	old, err := definition.Text(before)
	if err != nil {
		return nil, err
	}
	new, err := definition.Text(after)
	if err != nil {
		return nil, err
	}
	v.Notes = definition.Notes(after)
	if v.Hunks, err = diff(old, new); err != nil {
		return nil, err
	}
	return v.page(fault), nil
}

// editRoutes are the routes of the pages of the definitions.
func (d *Dashboard) editRoutes() []web.Route {
	const pattern = "/experiments/{name}/edit"
	return []web.Route{
		{
			Method: "GET", Pattern: "/experiments/{name}/history", Role: access.Read,
			Serve: d.page(d.heavy(d.historyPage)),
			ID:    "pageOfHistory", Tag: pages,
			Summary: "The last 50 definitions, each as the difference from the one before, as a page",
			Answers: pageAnswers,
		},
		{
			Method: "GET", Pattern: pattern, Role: access.Read, Serve: d.page(d.heavy(d.editPage)),
			ID: "pageOfDefinition", Tag: pages, Summary: "A form that edits the definition, as a page",
			Answers: pageAnswers,
		},
		{
			Method: "POST", Pattern: pattern, Role: access.Read, Appends: web.Always, Serve: d.page(d.edit),
			ID: "editByPage", Tag: pages, Summary: "Shows what a definition would change, or makes the change",
			About: byAdmin, Body: editForm{}, Media: form, Lenient: true,
			Answers: web.Answers{200: pageShown, 303: toExperiment, 0: pageError},
		},
	}
}
