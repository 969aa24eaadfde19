package dashboard

import (
	"net/http"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/server/internal/access"
)

// Revision is a definition that an experiment has or had.
type Revision struct {
	// AuditEntry says when, by whom and from where it was made.
	api.AuditEntry
	// Definition is nil if the log does not have it any more.
	Definition *definition.Definition
}

// shownRevisions is the number of definitions that a page shows.
const shownRevisions = 50

// revised is a revision on the page, with the difference from the one before it.
type revised struct {
	Revision
	// Number counts the revisions on the page from its oldest, from 1.
	Number int
	// First says that the page has none before it.
	First bool
	Text  string // of the definition, if it is the first
	Hunks []hunk
	// Unknown says that this definition or the one before it is not in the log any more.
	Unknown bool
}

// history is the data of the page with the definitions of an experiment.
type history struct {
	Name, Path string
	Revisions  []revised // the newest first
	// Addresses says that the page shows from where the definitions were made.
	Addresses bool
}

// historyPage shows the definitions of an experiment, each as the difference from the one before.
// Addresses are for the role admin.
func (d *Dashboard) historyPage(_ http.ResponseWriter, r *http.Request) (*page, error) {
	name := r.PathValue("name")
	all, err := d.Source.Revisions(r.Context(), name, shownRevisions)
	if err != nil {
		return nil, err
	}
	visitor := d.Visitor(r)
	v := &history{Name: name, Path: pathOf(name), Addresses: visitor != nil && visitor.May(access.Admin)}
	for i := range all {
		x := revised{Revision: all[i], Number: len(all) - i, First: i == len(all)-1}
		text, err := textOf(all[i].Definition)
		if err != nil {
			return nil, err
		}
		switch {
		case x.First:
			x.Text, x.Unknown = text, text == ""
		default:
			before, err := textOf(all[i+1].Definition)
			if err != nil {
				return nil, err
			}
			if x.Unknown = text == "" || before == ""; !x.Unknown {
				if x.Hunks, err = diff(before, text); err != nil {
					return nil, err
				}
			}
		}
		v.Revisions = append(v.Revisions, x)
	}
	return &page{Page: "history", Title: "Definitions of " + name, Data: v}, nil
}

// textOf is the text of a definition, "" for none.
func textOf(d *definition.Definition) (string, error) {
	if d == nil {
		return "", nil
	}
	return definition.Text(d)
}
