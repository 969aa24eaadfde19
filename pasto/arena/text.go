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

// writeVerdicts writes the comparison of the default with the best peers of its caution.
func (r *Result) writeVerdicts(b *strings.Builder) error {
	level, safe, above, n := 0, 0, 0, 0
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nfamily\tdeployed\tbest peer\tlead\tserved\tbest peer\tlead\trounds broken, %\tverdict")
	for i := range r.Families {
		f := &r.Families[i]
		v := f.Verdict
		if v == nil {
			continue
		}
		n++
		level += int(indicator(v.Level()))
		safe += int(indicator(v.Safe))
		above += int(indicator(v.AboveControl))
		x := &f.Rows[0]
		fmt.Fprintf(t, "%s\t%.3f\t%s\t%s\t%.3f\t%s\t%s\t%.2f\t%s\n", f.Family, x.Deployed.Mean, v.DeployedPeer,
			v.DeployedLead.values(), x.Served.Mean, v.ServedPeer, v.ServedLead.values(), 100*x.BrokenRounds.Mean,
			v.words())
	}
	if n == 0 {
		return nil
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(b, "\nThe default is level or better in %d of %d families, breaks guardrails in at most 1 %% of the "+
		"rounds in %d, and is not below the control in %d.\n", level, n, safe, above)
	return nil
}

// words states the verdict.
func (v *Verdict) words() string {
	var words []string
	switch {
	case v.Level():
		words = append(words, "level")
	case !v.DeployedLevel && !v.ServedLevel:
		words = append(words, "behind")
	case v.ServedLevel:
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
