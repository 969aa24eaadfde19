package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// onTerminal reports whether what is written goes to a terminal.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// rehearsePrivate is train --private --check. Nothing that depends on the data goes to standard
// error.
func (o *trainOptions) rehearsePrivate(ctx context.Context, a *command.App, inputs []string) (err error) {
	if !o.private.files.terminal(a.Stdout) {
		return noregret.Errorf(noregret.Usage, "--check", "standard output is not a terminal: what a rehearsal says "+
			"is as secret as the data, so that it is for the operator's eyes and goes into no file, pipe or log")
	}
	opt, err := o.privateOptions()
	if err != nil {
		return err
	}
	t, err := classify.NewPrivateTrainer(opt)
	if err != nil {
		return asFlag(err)
	}
	defer t.Close()
	data := o.privateData(ctx, a, opt)
	data.CountNulls = true
	r, err := rehearseData(ctx, inputs, data, t)
	if err != nil && ctx.Err() == nil {
		// An error may quote the data, and standard error may be a file.
		_, err2 := fmt.Fprintf(a.Stdout, "%s\n", legible.Lines(err.Error()))
		return errors.Join(noregret.Errorf(noregret.CodeOf(err), "--check",
			"the data cannot be rehearsed: standard output says why"), err2)
	}
	if err != nil {
		return ctx.Err()
	}
	return o.printRehearsal(a, r)
}

// rehearseData reads the data. Its errors are as secret as they are.
func rehearseData(ctx context.Context, inputs []string, data dataset.Options, t *classify.PrivateTrainer,
) (r *classify.PrivateRehearsal, err error) {
	s, err := dataset.Open(ctx, inputs, data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err = classify.RehearsePrivate(ctx, s, t)
	if err == nil && r.Records == 0 {
		err = noregret.BadInputf(strings.Join(inputs, ", "), "no records: a training would charge its budget and "+
			"learn nothing")
	}
	return r, err
}

// share writes a number of records with its share of all.
func share(n, of int64) string {
	if of == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%.3g %%)", n, 100*float64(n)/float64(of))
}

// printRehearsal prints how the data fit what is declared, all of it on standard output, which is a
// terminal: standard error may be a file.
func (o *trainOptions) printRehearsal(a *command.App, r *classify.PrivateRehearsal) error {
	p := &o.private
	more := ""
	if r.Unread {
		more = ", and there are more, which a training does not use"
	}
	others := ""
	if len(r.Nulls.Labels) > 0 {
		others = ", such as " + strings.Join(r.Nulls.Labels[:min(5, len(r.Nulls.Labels))], ", ")
	}
	first := ""
	if r.Nulls.First != nil {
		first = ", the first: " + r.Nulls.First.Error()
	}
	declared := r.Declared()
	other := r.Records - declared - r.Nulls.Bad - r.Nulls.Blank
	rows := []string{
		"records", fmt.Sprintf("%d of at most %d%s", r.Records, p.horizon, more),
		"declared labels", share(declared, r.Records),
		"negative " + p.labels[0], share(r.Negative, r.Records),
		"positive " + p.labels[1], share(r.Positive, r.Records),
		"another or none", share(other, r.Records) + others,
		"cannot be read", share(r.Nulls.Bad, r.Records) + first,
		"blank lines", share(r.Nulls.Blank, r.Records),
		"not finite", share(r.NotFinite, declared) + " of those with a declared label, which are null records, too",
		"all features 0", share(r.Empty, declared) + " of those with a declared label",
		"scaled down", share(r.Scaled, declared) + " of those with a declared label, to --feature-bound " +
			show.Short(p.featureBound),
	}
	if r.Outside != nil {
		rows = append(rows, "outside ranges", share(r.OutsideAny, declared)+" of those with a declared label")
		for i, n := range r.Outside {
			if n > 0 {
				rows = append(rows, "outside "+p.columns[i], share(n, declared))
			}
		}
	}
	if err := show.KeyValues(a.Stdout, rows...); err != nil {
		return err
	}
	if null := r.Records - declared + r.NotFinite; 2*null > r.Records {
		if _, err := fmt.Fprintf(a.Stdout, "\nwarning: %s of the records are null records, from which nothing is "+
			"learned: are --labels, --columns and --format right?\n", share(null, r.Records)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(a.Stdout, "\nNothing was written or charged. This is as secret as the data: correct mistakes "+
		"by it, such as a name, but choose no constant by it.\n")
	return err
}
