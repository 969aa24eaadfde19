package service

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// explainOptions are the flags of "noregret experiment explain".
type explainOptions struct {
	*remote
	command.Output
	context string
}

// newExplainCommand makes "noregret experiment explain".
func newExplainCommand(a *command.App, r *remote) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "explain NAME TOKEN",
		Short: "Say why a unit got its arm",
		Long: `Say why a unit got its arm, by the token of the decision: the distribution, where the unit's hash
falls in it, what each version since has changed for the unit, and the estimates from which the
version was made. The context of a contextual decision is that of the unit's exposure while the
window of its version is open; afterwards give it by --context.`,
		Example: `  noregret experiment explain ranking TOKEN
  noregret experiment explain offers TOKEN --context '{"age": 31, "country": "de"}'`,
		Args: command.Args(2, "the name of an experiment and the token of a decision"),
	}, &explainOptions{remote: r})
}

// AddFlags implements [command.Options].
func (o *explainOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.context, "context", o.context, "the context of the decision, as JSON")
	f.BoolVar(&o.JSON, "json", o.JSON, "print JSON, as the API answers it")
}

// Validate implements [command.Options].
func (o *explainOptions) Validate() error {
	if o.context != "" && !json.Valid([]byte(o.context)) {
		return noregret.Errorf(noregret.Usage, "--context", "%.100q: want JSON", o.context)
	}
	return nil
}

// Run implements [command.Options].
func (o *explainOptions) Run(ctx context.Context, a *command.App, args []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	var context json.RawMessage
	if o.context != "" {
		context = json.RawMessage(o.context)
	}
	e, err := c.ExplainIn(ctx, args[0], args[1], context)
	if err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, e)
	}
	return writeExplanation(a.Stdout, e)
}

// writeExplanation prints an explanation as text.
func writeExplanation(w io.Writer, e *api.Explanation) error {
	_, err := fmt.Fprintf(w, "%s gave arm %s to unit %s at %s\nvalue %s\nversion %d of round %d gives this arm with "+
		"probability %s\n", legible.Text(e.Experiment), legible.Text(e.Arm), legible.Text(e.Unit),
		e.Time.Format(time.RFC3339), legible.JSON(e.Value), e.Version, e.Round,
		show.Number(e.Propensity))
	if err != nil {
		return err
	}
	if !e.Consistent {
		if _, err := fmt.Fprintln(w, "the decision, computed anew, is another one"); err != nil {
			return err
		}
	}
	if e.HeldBack {
		_, err := fmt.Fprintln(w, "the unit is held back, or does not take part: it gets the control arm whatever the "+
			"mixture is")
		return err
	}
	if err := writeDraw(w, e); err != nil {
		return err
	}
	return writeFacts(w, &e.Policy)
}

// writeDraw prints how the arm was drawn.
func writeDraw(w io.Writer, e *api.Explanation) error {
	_, err := fmt.Fprintf(w, "\nthe unit's hash is %s of the interval from 0 to 1\n\n", show.Number(e.Fraction))
	if err != nil {
		return err
	}
	t := show.Table{Left: map[int]bool{4: true}}
	t.Add("arm", "share", "from", "to", "")
	for _, s := range e.Distribution {
		here := ""
		if e.Fraction >= s.From && e.Fraction < s.From+s.P {
			here = "the hash is here"
		}
		t.Add(s.Arm, show.Number(s.P).String(), show.Number(s.From).String(), show.Number(s.From+s.P).String(), here)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	if len(e.Scores) > 0 {
		if _, err := fmt.Fprint(w, "\nin the unit's context\n\n"); err != nil {
			return err
		}
		t := show.Table{}
		t.Add("arm", "score", "width", "share")
		for _, s := range e.Scores {
			t.Add(s.Arm, show.Number(s.Score).String(), show.Number(s.Width).String(),
				show.Number(s.Probability).String())
		}
		if err := t.Write(w); err != nil {
			return err
		}
	}
	for _, s := range e.Steps[min(1, len(e.Steps)):] {
		what := "the unit keeps arm " + legible.Text(s.Arm)
		if s.Draw != nil {
			what = "the unit moves to arm " + legible.Text(s.Arm)
		}
		if _, err := fmt.Fprintf(w, "version %d: share %s, then %s, coin %s: %s\n", s.Version, show.NumberOf(s.Before),
			show.NumberOf(s.After), show.NumberOf(s.Coin), what); err != nil {
			return err
		}
	}
	return nil
}

// writeFacts prints what was known when the version was made.
func writeFacts(w io.Writer, p *api.PolicyFacts) error {
	if p.Made.IsZero() {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nthe version was made at %s (%s), when this was known\n\n", p.Made.Format(time.RFC3339),
		legible.Text(p.Cause))
	if err != nil {
		return err
	}
	t := show.Table{}
	for i, arm := range slices.Sorted(maps.Keys(p.Units)) {
		metrics := slices.Sorted(maps.Keys(p.Known[arm]))
		if i == 0 {
			t.Add(append([]string{"arm", "units"}, metrics...)...)
		}
		row := []string{arm, strconv.FormatUint(p.Units[arm], 10)}
		for _, m := range metrics {
			k := p.Known[arm][m]
			row = append(row, fmt.Sprintf("%s of %d", show.NumberOf(k.Mean), k.N))
		}
		t.Add(row...)
	}
	return t.Write(w)
}
