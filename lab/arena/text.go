package arena

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes a table of each family and the table of verdicts.
func (r *Result) WriteText(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d runs of each family, seed %d; mean ± standard error over runs\n", r.Runs, r.Seed)
	for i := range r.Families {
		if err := r.Families[i].write(b); err != nil {
			return err
		}
	}
	if err := r.writeVerdicts(b); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e Estimate) values() string { return fmt.Sprintf("%.3f ± %.3f", e.Mean, e.Error) }

func (e Estimate) percent() string { return fmt.Sprintf("%.1f ± %.1f", 100*e.Mean, 100*e.Error) }

// write writes the family's table.
func (f *FamilyResult) write(b *strings.Builder) error {
	fmt.Fprintf(b, "\n%s\n", f.Family)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "learner\tdeployed\tserved\tviolation\trounds broken, %\truns broken, %\tdeployed broken, %\t"+
		"below control, %: deployed\tserved")
	for i := range f.Rows {
		x := &f.Rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Learner, x.Deployed.values(), x.Served.values(),
			x.Violation.values(), x.BrokenRounds.percent(), x.BrokenRuns.percent(), x.DeployedBroken.percent(),
			x.DeployedWorse.percent(), x.ServedWorse.percent())
	}
	return t.Flush()
}

// writeVerdicts writes the comparisons of the default with the best peers.
func (r *Result) writeVerdicts(b *strings.Builder) error {
	safe, above, n := 0, 0, 0
	for i := range r.Families {
		if v := r.Families[i].Verdict; v != nil {
			n++
			safe += int(indicator(v.Safe))
			above += int(indicator(v.AboveControl))
		}
	}
	if n == 0 {
		return nil
	}
	level, err := r.writeComparisons(b, "of its caution", func(v *Verdict) *Comparison { return &v.Caution })
	if err != nil {
		return err
	}
	any, err := r.writeComparisons(b, "that keeps the guardrails", func(v *Verdict) *Comparison { return &v.Any })
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "\nThe default is level or better in %d of %d families beside the best peer of its caution,\n"+
		"and in %d beside the best of all that keep the guardrails. It breaks guardrails in at most 1 %% of\n"+
		"the rounds in %d families and is not below the control in %d.\n", level, n, any, safe, above)
	return nil
}

// writeComparisons writes one comparison of all families, and returns the number of those in which
// the default is level.
func (r *Result) writeComparisons(b *strings.Builder, peers string, of func(*Verdict) *Comparison) (level int,
	err error,
) {
	fmt.Fprintf(b, "\nthe default beside the best peer %s\n", peers)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "family\tdeployed\tbest peer\tlead\tserved\tbest peer\tlead\trounds broken, %\tverdict")
	for i := range r.Families {
		f := &r.Families[i]
		if f.Verdict == nil {
			continue
		}
		c, x := of(f.Verdict), &f.Rows[0]
		level += int(indicator(c.Level()))
		fmt.Fprintf(t, "%s\t%.3f\t%s\t%s\t%.3f\t%s\t%s\t%.2f\t%s\n", f.Family, x.Deployed.Mean, c.DeployedPeer,
			c.DeployedLead.values(), x.Served.Mean, c.ServedPeer, c.ServedLead.values(), 100*x.BrokenRounds.Mean,
			f.Verdict.words(c))
	}
	return level, t.Flush()
}

// words states a verdict.
func (v *Verdict) words(c *Comparison) string {
	var words []string
	switch {
	case c.Level():
		words = append(words, "level")
	case !c.DeployedLevel && !c.ServedLevel:
		words = append(words, "behind")
	case c.ServedLevel:
		words = append(words, "behind in deployed")
	default:
		words = append(words, "behind in served")
	}
	if !v.Safe {
		words = append(words, "unsafe")
	}
	if !v.AboveControl {
		words = append(words, "below control")
	}
	return strings.Join(words, ", ")
}
