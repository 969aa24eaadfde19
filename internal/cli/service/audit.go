package service

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
)

// auditOptions are the flags of "noregret audit".
type auditOptions struct {
	remote
	command.Output
	experiment string
	before     uint64
	limit      int
}

// newAuditCommand makes "noregret audit".
func newAuditCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "audit",
		Short: "Show who changed the service's experiments",
		Long: `Show who changed what on the running service at --server, and from where, the newest change first:
definitions and their fields, pauses, rollbacks, conclusions, stopped arms, changes of the file of
access tokens, and backups. It asks for an access token with the role admin.

The service shows the last 1000 changes. Each is an event of the log with an author ("by"), so
"noregret log export" has those before them, too.`,
		Example: `  noregret audit
  noregret audit --experiment ranking --limit 20 --json`,
		Args: command.NoArgs,
	}, &auditOptions{limit: 50})
}

// AddFlags implements [command.Options].
func (o *auditOptions) AddFlags(f *pflag.FlagSet) {
	o.remote.AddFlags(f)
	o.Output.AddFlags(f)
	f.StringVar(&o.experiment, "experiment", "", "only the changes of this experiment")
	f.Uint64Var(&o.before, "before", 0, "only changes before this position in the log, 0 for the last ones")
	f.IntVar(&o.limit, "limit", o.limit, "most changes to show, 1 to 1000")
}

// Validate implements [command.Options].
func (o *auditOptions) Validate() error {
	if o.limit < 1 || o.limit > 1000 {
		return command.OutOfRange("--limit", o.limit, "1 to 1000")
	}
	return nil
}

// Run implements [command.Options].
func (o *auditOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	page, err := c.Audit(ctx, o.experiment, o.before, o.limit)
	if err != nil {
		return err
	}
	if o.JSON {
		return show.JSON(a.Stdout, page)
	}
	t := show.Table{Left: map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true}}
	t.Add("time", "who", "from", "experiment", "action", "what")
	for i := range page.Entries {
		e := &page.Entries[i]
		t.Add(e.Time.UTC().Format(time.RFC3339), e.Who, e.From, e.Experiment, e.Action, whatOf(e))
	}
	return t.Write(a.Stdout)
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
