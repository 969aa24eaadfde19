package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/api"
)

// auditOptions are the flags of "noregret audit".
type auditOptions struct {
	remote
	outputOptions
	experiment string
	before     uint64
	limit      int
}

// newAuditCommand makes "noregret audit".
func newAuditCommand(a *app) *cobra.Command {
	return newCommand(a, &cobra.Command{
		Use:   "audit",
		Short: "Show who changed the service's experiments",
		Long: `Show who changed what on the running service at --server, and from where, the newest change first:
definitions and their fields, pauses, rollbacks, conclusions, stopped arms, changes of the file of
access tokens, and backups. It asks for an access token with the role admin.

The service shows the last 1000 changes. Each is an event of the log with an author ("by"), so
"noregret log export" has those before them, too.`,
		Example: `  noregret audit
  noregret audit --experiment ranking --limit 20 --json`,
		Args: noArgs,
	}, &auditOptions{limit: 50})
}

// AddFlags implements options.
func (o *auditOptions) AddFlags(f *pflag.FlagSet) {
	o.remote.AddFlags(f)
	o.outputOptions.AddFlags(f)
	f.StringVar(&o.experiment, "experiment", "", "only the changes of this experiment")
	f.Uint64Var(&o.before, "before", 0, "only changes before this position in the log, 0 for the last ones")
	f.IntVar(&o.limit, "limit", o.limit, "most changes to show, 1 to 1000")
}

// Validate implements options.
func (o *auditOptions) Validate() error {
	if o.limit < 1 || o.limit > 1000 {
		return outOfRange("--limit", o.limit, "1 to 1000")
	}
	return nil
}

// Run implements options.
func (o *auditOptions) Run(ctx context.Context, a *app, _ []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	page, err := c.Audit(ctx, o.experiment, o.before, o.limit)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.stdout, page)
	}
	t := table{left: map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true}}
	t.add("time", "who", "from", "experiment", "action", "what")
	for i := range page.Entries {
		e := &page.Entries[i]
		t.add(e.Time.UTC().Format(time.RFC3339), e.Who, e.From, e.Experiment, e.Action, whatOf(e))
	}
	return t.write(a.stdout)
}

// whatOf says in one line what was changed and why.
func whatOf(e *api.AuditEntry) string {
	var parts []string
	for _, text := range []string{e.Arm, e.What} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	out := strings.Join(parts, ": ")
	if e.Reason != "" {
		out = strings.TrimSpace(out + " (" + e.Reason + ")")
	}
	return out
}
