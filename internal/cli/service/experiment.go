package service

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/internal/cli/command"
)

// remote are the flags of commands that call a service.
type remote struct {
	url       string
	tokenFile string
}

// defaultServer is where "noregret serve" listens by default.
const defaultServer = "http://127.0.0.1:8430"

// AddFlags declares the flags.
func (r *remote) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&r.url, "server", "", "the service's URL (default $NOREGRET_SERVER or "+defaultServer+")")
	f.StringVar(&r.tokenFile, "token-file", "", "file with the access token; else the token is the value of "+
		"$NOREGRET_TOKEN, or in the file that $NOREGRET_TOKEN_FILE names")
}

// client makes a client of the service.
func (r *remote) client() (*client.Client, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	o, place := client.DefaultOptions(r.url), "--server"
	o.Token = token
	if o.URL == "" {
		o.URL, place = os.Getenv("NOREGRET_SERVER"), "NOREGRET_SERVER"
	}
	if o.URL == "" {
		o.URL = defaultServer
	}
	c, err := client.New(o)
	if e, ok := errors.AsType[*noregret.Error](err); ok && e.Place == "URL" {
		return nil, noregret.Errorf(e.Code, place, "%s", e.Message)
	}
	return c, err
}

// token returns the access token, "" for none.
func (r *remote) token() (string, error) {
	file, place := r.tokenFile, "--token-file"
	if file == "" {
		if token := os.Getenv("NOREGRET_TOKEN"); token != "" {
			return token, nil
		}
		file, place = os.Getenv("NOREGRET_TOKEN_FILE"), "NOREGRET_TOKEN_FILE"
	}
	if file == "" {
		return "", nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", noregret.Errorf(noregret.NotFound, place, "the file cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", noregret.BadInputf(place, "the file %q is empty: want a token", file)
	}
	return token, nil
}

const experimentLong = `Apply, list, inspect and change the experiments of the running service at
--server.

docs/formats/definition.md explains definitions.`

// newExperimentCommand makes "noregret experiment" and the commands below it.
func newExperimentCommand(a *command.App) *cobra.Command {
	var r remote
	cmd := command.NewParent(&cobra.Command{
		Use:   "experiment",
		Short: "Manage the experiments of a running service",
		Long:  experimentLong,
		Example: `  noregret experiment apply ranking.yaml
  noregret experiment report ranking`,
	},
		newApplyCommand(a, &r), newDiffCommand(a, &r), newGetCommand(a, &r), newCloneCommand(a, &r),
		newListCommand(a, &r), newReportCommand(a, &r), newExplainCommand(a, &r),
		newChangeCommand(a, &r, "pause", "Stop learning; decisions continue unchanged",
			"Stop learning until resume. Rounds stay open; decisions and feedback continue unchanged."),
		newChangeCommand(a, &r, "resume", "Continue after a pause or a rollback",
			"Continue with what has been learned after a pause or a rollback, manual or by a guardrail."),
		newChangeCommand(a, &r, "rollback", "Serve the control arm to every unit",
			"Serve the control arm to every unit, at once, until resume. It needs a control arm."),
		newVetoCommand(a, &r), newConcludeCommand(a, &r), newDeleteCommand(a, &r),
		newRestoreExperimentCommand(a, &r), newSchemaCommand(a),
		newExampleCommand(a),
	)
	r.AddFlags(cmd.PersistentFlags())
	return cmd
}

// oneName requires the name of one experiment.
var oneName = command.Args(1, "the name of one experiment")
