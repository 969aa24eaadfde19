package service

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server/scoring"
)

// scoreOptions are the flags of "noregret score".
type scoreOptions struct {
	scoring.Config
	listening
	model, unseen string
}

const scoreLong = `Serve the predictions of a trained classifier over HTTP until SIGINT or SIGTERM.

POST /v1/predict takes rows and answers each with an id, a label, a score and, if the model is
calibrated, a probability. The rows are JSON objects with the model's columns by name, such as
{"rows":[{"age":31,"city":"Rome"}]}; a model of svmlight takes the numbers of features as names, or
lines of svmlight with the content type text/x-svmlight; one of JSON lines also application/jsonl,
and one of Vowpal Wabbit's text only text/x-vw. They are read as predict reads files: a column that
is left out is an empty cell, and values of features that training did not have are ignored and
counted.

POST /v1/labels takes the true labels when they come: {"labels":[{"id":"...","label":"1"}]}. Each is
answered as accepted, duplicate (the row has this label already), late (the row was dropped, as
--max-waiting newer ones came) or rejected, with the reason. What is measured are the predictions as
they were answered. GET /v1/model and /metrics have the model's measure of all labelled rows and of
the latest (--window), with AUC, log loss and Brier score.

With --learn the model makes a step of its algorithm for each label, in the order in which they
come, once its first rows have told how large steps must be (200 to 1,000 labels). Rows that were
answered before count by that answer. GET /v1/model/file has the model file. Models of two classes
of spade, stamp and sgd-* can learn. Rows far larger than the first ones are not learned from. If
what was learned answers worse than the model of the file, by more than chance, that one answers
again.

With --data the state (rows that wait, figures, what was learned) is saved, in one file that is the
old one or the new one if the process is killed. What came after the last save is gone then, and its
ids are of no row: fewer than --save-every rows and labels that were answered, unless saves failed.

The limits, access tokens, TLS and logs are those of "noregret serve": predictions need the role
decide, labels feedback, GET /v1/model and /metrics read. Without --tokens every request is allowed,
and the service listens on loopback addresses only. Flags may be set by variables and a file, too.

docs/how-to/score.md shows the calls.`

// NewScoreCommand makes "noregret score".
func NewScoreCommand(a *command.App) *cobra.Command {
	o := &scoreOptions{Config: scoring.DefaultConfig(), listening: newListening("127.0.0.1:8090")}
	o.unseen = string(o.Unseen)
	cmd := command.New(a, &cobra.Command{
		Use:   "score --model FILE",
		Short: "Serve the predictions of a model over HTTP",
		Long:  scoreLong,
		Example: `  # On this machine only
  noregret score --model m.json

  # For others: with access tokens and TLS
  noregret score --model m.json --listen :8090 --tokens tokens.yaml --tls-cert c.pem --tls-key k.pem`,
		Args: command.NoArgs,
	}, o)
	command.Require(cmd, "model")
	return cmd
}

// AddFlags implements [command.Options].
func (o *scoreOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", o.model, "model file")
	o.addTo(f, &o.Limits, "most rows or labels of a request", "to the process")
	f.Var(command.NewChoice(&o.unseen, string(dataset.UnseenIgnore), string(dataset.UnseenError)), "unseen",
		"values of features that training did not have")
	f.BoolVar(&o.Serving.Learn, "learn", false, "learn from every label that is accepted; spade, stamp, sgd-* only")
	f.IntVar(&o.Serving.Window, "window", o.Serving.Window, "latest labelled rows whose figures are told")
	f.IntVar(&o.Serving.MaxWaiting, "max-waiting", o.Serving.MaxWaiting, "latest predictions whose labels are accepted")
	f.Int64Var(&o.Serving.MaxBytes, "waiting-memory", o.Serving.MaxBytes, "memory for these predictions, in bytes")
	f.StringVar(&o.Data, "data", "", "directory of the state; created if it does not exist")
	f.IntVar(&o.SaveEvery, "save-every", o.SaveEvery, "fewer rows and labels are lost if the process is killed")
	o.settings.AddFlags(f)
}

// Validate implements [command.Options].
func (o *scoreOptions) Validate() error {
	if err := o.check(&o.Limits); err != nil {
		return err
	}
	return o.config().Validate()
}

// config is the service's configuration.
func (o *scoreOptions) config() scoring.Config {
	c := o.Config
	c.Limits, c.Unseen = withBurst(c.Limits), dataset.Unseen(o.unseen)
	return c
}

// Run implements [command.Options].
func (o *scoreOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	m, err := classify.LoadModel(o.model)
	if err != nil {
		return err
	}
	scheme, certificate, end, err := o.open(ctx, &o.Limits, a.Stderr)
	if err != nil {
		return err
	}
	defer end()
	s, err := scoring.New(m, o.config())
	if err != nil {
		return err
	}
	return s.Run(ctx, o.listen, certificate, o.drain, func(address net.Addr) error {
		o.onHangup(o.Logger, s.ReloadTokens)
		_, err := fmt.Fprintf(a.Stdout, "listening on %s://%s\n", scheme, address)
		return err
	})
}
