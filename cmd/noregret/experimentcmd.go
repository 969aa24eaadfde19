package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
)

// remote are the flags of commands that talk to a service.
type remote struct {
	url       string
	tokenFile string
}

const defaultServer = "http://127.0.0.1:8430"

func (r *remote) flags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&r.url, "server", "", "the service's URL (default $NOREGRET_SERVER or "+defaultServer+")")
	f.StringVar(&r.tokenFile, "token-file", "", "file with the access token (default $NOREGRET_TOKEN)")
}

func (r *remote) client() (*client.Client, error) {
	o := client.Options{URL: r.url, Token: os.Getenv("NOREGRET_TOKEN")}
	if o.URL == "" {
		o.URL = os.Getenv("NOREGRET_SERVER")
	}
	if o.URL == "" {
		o.URL = defaultServer
	}
	if r.tokenFile != "" {
		b, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return nil, noregret.Errorf(noregret.NotFound, "--token-file", "it cannot be read: %w", err)
		}
		o.Token = strings.TrimSpace(string(b))
	}
	return client.New(o)
}

const experimentLong = `Apply, list, look at and change the experiments of a running service.

The service is the one at --server. docs/formats/definition.md explains definitions.`

// newExperimentCommand makes "noregret experiment" and the commands below it.
func newExperimentCommand(a *app) *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "experiment",
		Short: "Manage the experiments of a running service",
		Long:  experimentLong,
		Example: `  noregret experiment apply ranking.yaml
  noregret experiment report ranking`,
		Args: unknownBelow,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.flags(cmd)
	cmd.AddCommand(
		newApplyCommand(a, &r), newListCommand(a, &r), newReportCommand(a, &r),
		newChangeCommand(a, &r, "pause", "Stop learning; decisions go on as they are",
			"Stop learning: rounds stay open, decisions and feedback go on as they are, until resume."),
		newChangeCommand(a, &r, "resume", "Go on after a pause or a rollback",
			"Go on after a pause or a rollback, by hand or by a guardrail, with what has been learned."),
		newChangeCommand(a, &r, "rollback", "Give every unit the control arm",
			"Give every unit the control arm, at once, until resume. It needs a control arm."),
		newDeleteCommand(a, &r), newSchemaCommand(a),
	)
	return cmd
}

// unknownBelow refuses what stands where a subcommand should.
func unknownBelow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "", "unknown command %q for %q", args[0], cmd.CommandPath())
}

// oneName wants the name of one experiment.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return noregret.Errorf(noregret.Usage, "", "%s takes the name of one experiment, got %d arguments", cmd.Name(),
		len(args))
}

func newApplyCommand(a *app, r *remote) *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use:   "apply FILE...",
		Short: "Create experiments, or change them, as files say",
		Long: `Create experiments, or change them, as files say: definitions in YAML or JSON, - for
standard input. Every file is checked before the first is applied; an error names file,
line and path. Applying the same again changes nothing.`,
		Example: `  noregret experiment apply ranking.yaml

  # Only check the file
  noregret experiment apply --dry-run ranking.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return noregret.Errorf(noregret.Usage, "", "apply takes the files of definitions, got none")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.apply(cmd.Context(), r, args, dry) },
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "check the files and ask no service")
	return cmd
}

func (a *app) apply(ctx context.Context, r *remote, files []string, dry bool) error {
	type definition struct {
		name string
		text []byte
	}
	var all []definition
	for _, file := range files {
		text, err := a.readFile(file)
		if err != nil {
			return err
		}
		d, err := experiment.Parse(file, text)
		if err != nil {
			return err
		}
		all = append(all, definition{d.Name, text})
	}
	if dry {
		for _, d := range all {
			if _, err := fmt.Fprintf(a.stdout, "%s: valid\n", d.name); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := r.client()
	if err != nil {
		return err
	}
	for _, d := range all {
		v, err := c.Apply(ctx, d.name, d.text)
		if err != nil {
			return err
		}
		what := "unchanged"
		switch {
		case v.Created:
			what = "created"
		case v.Changed:
			what = "changed"
		}
		if _, err := fmt.Fprintf(a.stdout, "%s: %s, version %d\n", v.Name, what, v.Version); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads a file, or standard input for "-".
func (a *app) readFile(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(a.stdin, 2<<20))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, noregret.Errorf(noregret.NotFound, file, "it cannot be read: %w", err)
	}
	return b, nil
}

func newListCommand(a *app, r *remote) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the experiments",
		Long:    "List the experiments of the service: name, state, policy version, round, description.",
		Example: "  noregret experiment list",
		Args:    noArgs("list"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := r.client()
			if err != nil {
				return err
			}
			list, err := c.Experiments(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.stdout, map[string]any{"experiments": list})
			}
			g := grid{left: map[int]bool{1: true, 4: true}}
			g.add("name", "state", "version", "round", "description")
			for _, s := range list {
				g.add(s.Name, string(s.State), strconv.FormatUint(s.Version, 10), strconv.FormatUint(s.Round, 10),
					s.Description)
			}
			return g.write(a.stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, as the API answers it")
	return cmd
}

func newReportCommand(a *app, r *remote) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "report NAME",
		Short: "Show how an experiment stands",
		Long: `Show how an experiment stands: the mixture, the arms' means with confidence sequences (95 %,
valid at all times), guardrails, regret against the best single arm, health and last events.`,
		Example: `  noregret experiment report ranking
  noregret experiment report ranking --json`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.client()
			if err != nil {
				return err
			}
			report, err := c.Report(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.stdout, report)
			}
			return writeReport(a.stdout, report)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, as the API answers it")
	return cmd
}

// writeReport prints a report for people.
func writeReport(w io.Writer, r *policy.Report) error {
	if _, err := fmt.Fprintf(w, "%s is %s, version %d, round %d\n\n", r.Name, r.State, r.Version, r.Round); err != nil {
		return err
	}
	var metrics []string
	g := grid{}
	for i, name := range slices.Sorted(maps.Keys(r.Arms)) {
		arm := r.Arms[name]
		if i == 0 {
			metrics = slices.Sorted(maps.Keys(arm.Metrics))
			g.add(append([]string{"arm", "share", "units"}, metrics...)...)
		}
		share, listed := r.Mixture[name]
		if !listed {
			continue // retired
		}
		row := []string{name, number(share).String(), strconv.FormatInt(arm.N, 10)}
		for _, m := range metrics {
			row = append(row, interval(arm.Metrics[m].Mean, arm.Metrics[m].Low, arm.Metrics[m].High))
		}
		g.add(row...)
	}
	if err := g.write(w); err != nil {
		return err
	}
	var lines []string
	for _, q := range r.Guardrails {
		lines = append(lines, fmt.Sprintf("guardrail %s, %s %v: %s, %s, on breach %s", q.Metric, q.Kind, q.Limit,
			q.State, interval(q.Estimate, q.Low, q.High), q.Action))
	}
	if q := r.Regret; q != nil && q.BestSingle.Value != nil {
		lines = append(lines, fmt.Sprintf("best single arm %s %s, mixture %s, regret a unit %s over %d units",
			q.BestSingle.Arm,
			pointed(q.BestSingle.Value), pointed(q.Mixture), pointed(q.PerUnit), q.Units))
	}
	f := r.Feedback
	lines = append(lines, fmt.Sprintf("feedback: %d accepted, %d duplicate, %d late, %d rejected; %d units wait",
		f.Accepted, f.Duplicate, f.Late, f.Rejected, r.Health.Open))
	for _, p := range r.Health.Problems {
		lines = append(lines, "problem: "+p)
	}
	for _, n := range r.Notes[max(0, len(r.Notes)-5):] {
		lines = append(lines, n.Time.Format(time.RFC3339)+" "+n.Text)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

// interval is a mean with its confidence sequence.
func interval(mean, low, high *float64) string {
	if mean == nil {
		return "-"
	}
	return fmt.Sprintf("%s [%s, %s]", pointed(mean), pointed(low), pointed(high))
}

func newChangeCommand(a *app, r *remote, what, short, long string) *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use:     what + " NAME",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  noregret experiment %s ranking --reason \"numbers look odd\"", what),
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.client()
			if err != nil {
				return err
			}
			s, err := c.Change(cmd.Context(), args[0], what, reason)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s: %s, version %d\n", s.Name, s.State, s.Version)
			return err
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return cmd
}

func newDeleteCommand(a *app, r *remote) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Remove an experiment",
		Long:    "Remove an experiment. Its events stay in the log; feedback that still comes is rejected.",
		Example: "  noregret experiment delete ranking",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.client()
			if err != nil {
				return err
			}
			if err := c.Delete(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s: deleted\n", args[0])
			return err
		},
	}
}

func newSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of definitions",
		Long:    "Print the JSON Schema (draft 2020-12) of definitions, for editors and checks.",
		Example: "  noregret experiment schema > definition.schema.json",
		Args:    noArgs("schema"),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(experiment.Schema)
			return err
		},
	}
}
