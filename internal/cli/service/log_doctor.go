package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog/jetstream"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/legible"
)

// logDoctorOptions are the flags of "noregret log doctor".
type logDoctorOptions struct {
	command.Output
	stream
	monitors []string
}

// newLogDoctorCommand makes "noregret log doctor".
func newLogDoctorCommand(a *command.App) *cobra.Command {
	return command.New(a, &cobra.Command{
		Use:   "doctor",
		Short: "Look whether the NATS servers keep what they acknowledge",
		Long: `Look at all that a log in a stream of NATS needs from its servers: their version and
max_payload, three copies that are up to date, a stream that refuses what does not fit (discard new)
and deletions, and buckets with as many copies. It changes nothing.

Whether a server flushes what it acknowledges (sync_interval: always), no client can see: its
monitor tells. --monitor names the monitor of each server, as its configuration has it (http:
HOST:PORT). What is not known is said. No program can see whether a disk keeps what it reports as
flushed, and whether the servers share a disk, a machine or a supply of power.

The exit status is 3 if something is wrong, else 0. With --json the output is {conditions, healthy},
and each condition is {what, server, state, message}; the state is ok, wrong or unknown.`,
		Example: `  noregret log doctor --log nats://n0:4222,nats://n1:4222,nats://n2:4222 \
    --monitor http://n0:8222,http://n1:8222,http://n2:8222`,
		Args: command.NoArgs,
	}, &logDoctorOptions{})
}

// AddFlags implements [command.Options].
func (o *logDoctorOptions) AddFlags(f *pflag.FlagSet) {
	o.Output.AddFlags(f)
	o.stream.addTo(f)
	f.StringSliceVar(&o.monitors, "monitor", nil, "monitors of the NATS servers, http://HOST:PORT,...")
}

// Validate implements [command.Options].
func (o *logDoctorOptions) Validate() error {
	for _, m := range o.monitors {
		if u, err := url.Parse(m); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return noregret.Errorf(noregret.Usage, "--monitor", "%.80q: want http://HOST:PORT,...", m)
		}
	}
	return o.required("")
}

// Run implements [command.Options].
func (o *logDoctorOptions) Run(ctx context.Context, a *command.App, _ []string) error {
	servers, all, err := jetstream.Examine(ctx, o.options(""))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range o.monitors {
		name, conditions := o.ask(ctx, m)
		seen[name] = true
		all = append(all, conditions...)
		if name != "" && !slices.Contains(servers, name) {
			all = append(all, jetstream.Condition{
				What: "monitor", Server: name, State: jetstream.Unknown,
				Message: "the server has no copy of the stream",
			})
		}
	}
	for _, s := range servers {
		if !seen[s] {
			all = append(all, jetstream.Condition{
				What: "sync_interval", Server: s, State: jetstream.Unknown,
				Message: "a client cannot see it: name the server's monitor by --monitor",
			})
		}
	}
	wrong := 0
	for _, c := range all {
		if c.State == jetstream.Wrong {
			wrong++
		}
	}
	if o.JSON {
		err = show.JSON(a.Stdout, struct {
			Conditions []jetstream.Condition `json:"conditions"`
			Healthy    bool                  `json:"healthy"`
		}{all, wrong == 0})
	} else {
		t := show.Table{Left: map[int]bool{0: true, 1: true, 2: true, 3: true}}
		for _, c := range all {
			t.Add(c.State, c.What, legible.Text(c.Server), legible.Text(c.Message))
		}
		err = t.Write(a.Stdout)
	}
	if err == nil && wrong > 0 {
		err = noregret.BadInputf("stream "+o.name, "%s",
			show.Count(wrong, "condition is wrong", "conditions are wrong"))
	}
	return err
}

// ask asks the monitor of a server how it keeps messages.
func (o *logDoctorOptions) ask(ctx context.Context, monitor string) (server string, out []jetstream.Condition) {
	var v struct {
		Name      string `json:"server_name"`
		JetStream struct {
			Config *struct {
				SyncAlways   bool          `json:"sync_always"`
				SyncInterval time.Duration `json:"sync_interval"`
				Directory    string        `json:"store_dir"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	err := monitored(ctx, monitor, "/varz", &v)
	if err == nil && v.Name == "" {
		err = errors.New("it is not the monitor of a NATS server")
	}
	if err != nil {
		return "", []jetstream.Condition{{
			What: "monitor", State: jetstream.Unknown, Message: monitor + ": " + err.Error(),
		}}
	}
	sync := jetstream.Condition{What: "sync_interval", Server: v.Name, State: jetstream.OK, Message: "always"}
	switch c := v.JetStream.Config; {
	case c == nil:
		sync.State, sync.Message = jetstream.Wrong, "JetStream is off, also after its disk was full"
	case !c.SyncAlways:
		sync.State = jetstream.Wrong
		sync.Message = fmt.Sprintf("it flushes every %v: what it acknowledged is lost with the power of all servers; "+
			"want sync_interval: always in the block jetstream", c.SyncInterval)
	}
	out = append(out, sync)
	health := jetstream.Condition{What: "health", Server: v.Name, State: jetstream.OK, Message: "ok"}
	var h struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	if err := monitored(ctx, monitor, "/healthz", &h); err != nil {
		health.State, health.Message = jetstream.Unknown, err.Error()
	} else if h.Status != "ok" {
		health.State, health.Message = jetstream.Wrong, strings.TrimSpace(h.Status+" "+h.Error)
	}
	return v.Name, append(out, health)
}

// monitored reads an answer of a monitor, whatever its status is.
func monitored(ctx context.Context, monitor, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(monitor, "/")+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, 16<<20)).Decode(into)
	return errors.Join(err, answer.Body.Close())
}
