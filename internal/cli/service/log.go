package service

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

const logLong = `Verify, repair, export, import and replay the log of the decision service.

The log is in the directory "log" of the service's data directory. A running service locks the
log; use --server to export or replay the log of a running service.

The log of several nodes is in a stream of NATS: --log and --stream name it, as they do for serve.
It can be read while nodes run. Where nodes run with --cluster, the server of each is in its
process: --log then names what --cluster-client of serve says, on the same machine, and
--cluster-secret-file is the peers' password. A damaged copy is mended by its server, not by repair:
stop the server, remove its store_dir (with --cluster the node, and nats in its data directory),
start it.`

// newLogCommand makes "noregret log" and the commands below it.
func newLogCommand(a *command.App) *cobra.Command {
	return command.NewParent(&cobra.Command{
		Use:   "log",
		Short: "Verify, repair, export, import and replay the service's log",
		Long:  logLong,
		Example: "  noregret log verify --data data\n  noregret log replay --data data\n" +
			"  noregret log replay --log nats://n0:4222,nats://n1:4222,nats://n2:4222",
	}, newVerifyCommand(a), newRepairCommand(a), newExportCommand(a), newImportCommand(a), newReplayCommand(a),
		newNodesCommand(a), newForgetCommand(a), newLogDoctorCommand(a))
}

// place is where a log is: in a data directory, or in a stream.
type place struct {
	stream
	data  string
	flags *pflag.FlagSet
}

// addTo declares the flags.
func (p *place) addTo(f *pflag.FlagSet) {
	f.StringVar(&p.data, "data", "data",
		"the data directory of a service that is not running; with --log of a node, whose mark is compared")
	p.stream.addTo(f)
	p.flags = f
}

// node is the data directory, "" if the log is in a stream and no directory is given.
func (p *place) node() string {
	if p.named() && !p.flags.Changed("data") {
		return ""
	}
	return p.data
}

// source is where export and replay get their events: a log, or a running service.
type source struct {
	remote
	place
}

// AddFlags declares the flags.
func (s *source) AddFlags(f *pflag.FlagSet) {
	s.remote.AddFlags(f)
	f.Lookup("server").Usage = "URL of a running service to ask, instead of --data"
	s.place.addTo(f)
}

// Validate returns an error for flags that do not go together.
func (s *source) Validate() error {
	if s.named() && s.live() {
		return noregret.Errorf(noregret.Usage, "--log", "and --server exclude each other")
	}
	if s.live() {
		return nil
	}
	return s.check(s.node())
}

// live reports whether to ask the service.
func (s *source) live() bool { return s.url != "" }

// privateNames returns the names of the experiments that are or were private, by the ledger or by
// the log: feedback stays secret where the ledger is lost. It reads the log up to the first damage,
// and from position from on.
func (s *source) privateNames(ctx context.Context, log eventlog.Log, from uint64) ([]string, error) {
	var names []string
	if dir := s.node(); dir != "" {
		var err error
		if names, err = server.PrivateNames(dir); err != nil {
			return nil, err
		}
	}
	logged, err := server.LoggedPrivateNames(ctx, log, from)
	if err != nil {
		return nil, err
	}
	names = append(names, logged...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// open opens the log of the data directory, which must exist, or that in the stream, and closes it
// after use. It tells of snapshots that are skipped.
func (p *place) open(ctx context.Context, a *command.App, use func(log eventlog.Log) error) error {
	log, err := p.reader(ctx, a)
	if err != nil {
		return err
	}
	return errors.Join(use(log), log.Close())
}

func (p *place) reader(ctx context.Context, a *command.App) (eventlog.Log, error) {
	dir := server.LogDir(p.data)
	if p.named() {
		dir = p.dir(p.data)
	}
	if _, err := os.Stat(dir); err != nil && p.node() != "" {
		return nil, noregret.Errorf(noregret.NotFound, dir, "no log here: want the data directory of a service")
	}
	if p.named() {
		log, err := jetstream.OpenReadOnly(ctx, p.options(p.node()), logOptions(a))
		if err != nil {
			return nil, err
		}
		return log, nil
	}
	log, err := eventlog.Open(nil, dir, logOptions(a))
	if err != nil {
		return nil, err
	}
	return log, nil
}

// anySize are the options of a log that takes all events of another one, however large these are.
func anySize(a *command.App) eventlog.Options {
	o := logOptions(a)
	o.MaxEventBytes, o.GroupBytes, o.QueueBytes, o.FlushBytes = 16<<20, 17<<20, 32<<20, 68<<20
	return o
}

// logOptions are those of a log that warns of each damaged snapshot which it skips.
func logOptions(a *command.App) eventlog.Options {
	o := eventlog.DefaultOptions()
	o.Skipped = func(file, reason string) {
		a.Note("warning: the snapshot %s is damaged and skipped: %s", file, reason)
	}
	return o
}
