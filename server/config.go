package server

import (
	"context"
	"net/url"
	"runtime"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/alert"
)

// Config configures a service. Start from [DefaultConfig].
type Config struct {
	// Limits are what the service allows its clients.
	Limits
	// Data is the directory of the service: the log in "log", the token keys in "keys.json".
	// Required.
	Data string
	// FS is the file system of the log, nil for the machine's.
	FS eventlog.FS
	// Log opens the log with options that suit the service. Nil means the one in Data. The log must
	// be the same whenever the service is started: the keys, the privacy ledger and the state of
	// alerts in Data belong to it.
	Log func(o eventlog.Options) (eventlog.Log, error)
	// Cluster makes the service one of several nodes whose Log is the same replicated one. Nil
	// means that it is alone.
	Cluster *Cluster
	// Keys sign the decision tokens. Nil means those in the data directory, which are made with a
	// new log. If the log has events and the keys are missing, New fails.
	Keys *policy.Keys
	// NewKeys makes keys for a log with events whose keys are missing. Feedback for earlier
	// decisions is then refused.
	NewKeys bool
	// Secrets are further files that only the owner should read, such as the key for TLS. New warns
	// of each that others can read, and of the keys and the file of access tokens.
	Secrets []string
	// Now is the clock. Nil means that of the machine, and its elapsed time for Elapsed.
	Now func() time.Time
	// Elapsed returns the time that has passed, whatever steps Now makes. With it the service goes
	// on by the elapsed time when Now makes a step, and follows the step slowly. Nil means that Now
	// is followed at once.
	Elapsed func() time.Duration
	// Tick is the time between two checks for rounds that may close, at least 1 ms.
	Tick time.Duration
	// SnapshotEvery is the number of events between snapshots, at least 1.
	SnapshotEvery uint64
	// SnapshotBytes is the size of the events between snapshots, in bytes, at least 64 KiB. It
	// bounds the time of a recovery. After a snapshot of more than twice that size events of half
	// its size come before the next one, and of at most twice SnapshotBytes.
	SnapshotBytes int64
	// Retain is how long events are kept for export and replay once a snapshot covers them, above
	// 0. RetainAll keeps them for ever, whatever Retain is.
	Retain    time.Duration
	RetainAll bool
	// DeleteGrace is how long a deleted experiment is kept and can be restored, 0 to 10 years; 0
	// deletes it for good.
	DeleteGrace time.Duration
	// MaxAnswer bounds the bytes of arms' values in the answer to one request, at least 1 KiB. One
	// unit of one experiment is always answered.
	MaxAnswer int
	// MaxStreams bounds the numbers of waiting long polls and of dashboards kept up to date that
	// are open at once, each at least 1.
	MaxStreams int
	// MaxExports bounds the number of exports of the log and of snapshots that run at once, at
	// least
	// 1. MaxStreams bounds it, too.
	MaxExports int
	// MaxReads bounds the number of heavy reads (reports, explanations, pages) that are computed at
	// once, at least 1; others wait for at most RequestTime.
	MaxReads int
	// CORSOrigins are the origins whose pages may decide from a browser (OFREP and decide): exact
	// ones as browsers write them, such as https://shop.example. With CORSFeedback they may also
	// send exposures and feedback.
	CORSOrigins  []string
	CORSFeedback bool
	// LogRetry is how long the service tries to open a failed log again before /livez fails and
	// Serve and Run end with an error, so that the process is restarted, above 0.
	LogRetry time.Duration
	// OpenMemory bounds the memory of the units of all experiments that wait for feedback, in
	// bytes, at least 1 MiB. OpenDisk bounds the file in Data for those that do not fit, in bytes;
	// 0 means no file. Beyond both, units are refused.
	OpenMemory, OpenDisk int64
	// AlertWebhook is the address to which alerts are sent, "" for none. AlertSecretFile has the
	// key that signs them, of at least 16 bytes. AlertWebhookFormat is the form of the requests:
	// "json" or "", which needs the key, or "slack" or "alertmanager", which need none.
	AlertWebhook, AlertSecretFile, AlertWebhookFormat string
	// PublicURL is the address of the service for people, such as https://decisions.example, to
	// which messages for Slack and an Alertmanager link; "" for no links.
	PublicURL string
	// BackupPrivate allows GET /v1/backup although there are private experiments, whose raw
	// feedback is in a backup.
	BackupPrivate bool

	wall    func() time.Time  // the machine's clock; set by resolve
	skipped *skippedSnapshots // set by resolve
	clock   *steadyClock      // set by resolve, nil where Now is followed at once
	// noise and privacyStore are those of private experiments; only tests set them.
	noise        []dp.Option
	privacyStore func(dir string) (privacyStore, error)
	// alertPause waits between two attempts to send an alert; only tests set it.
	alertPause func(ctx context.Context, d time.Duration)
	released   func(sums []float64) // may change them before anything is written
}

// DefaultConfig returns the defaults for a data directory: rounds are checked every 250 ms, a
// snapshot is saved every 100,000 events or 32 MiB, events are kept for 90 days, and deleted
// experiments for 7 days. An answer has at most 16 MiB. At once, 1,000 long polls, 1,000 dashboards
// and 16 exports may be open, and half of the processors compute heavy reads. A failed log is tried
// again for a minute before /livez fails. Units that wait for feedback may use an eighth of the
// memory, and 16 times that on the disk. The limits are those of [DefaultLimits].
func DefaultConfig(data string) Config {
	open := max(machineMemory()/8, 1<<20)
	return Config{
		Limits: DefaultLimits(), Data: data, Tick: 250 * time.Millisecond,
		SnapshotEvery: 100_000, SnapshotBytes: 32 << 20, Retain: 90 * 24 * time.Hour, DeleteGrace: 7 * 24 * time.Hour,
		MaxAnswer: 16 << 20, MaxStreams: 1000, MaxExports: 16,
		MaxReads:   max(1, runtime.GOMAXPROCS(0)/2),
		LogRetry:   time.Minute,
		OpenMemory: open, OpenDisk: 16 * open, AlertWebhookFormat: string(alert.JSON),
	}
}

// Validate returns an error that names the first field out of its range.
func (c Config) Validate() error {
	bad := badField
	switch {
	case c.Data == "":
		return bad("data", `""`, "a directory")
	case c.Tick < time.Millisecond:
		return bad("tick", c.Tick, "at least 1ms")
	case c.SnapshotEvery < 1:
		return bad("snapshot every", c.SnapshotEvery, "at least 1 event")
	case c.SnapshotBytes < 64<<10:
		return bad("snapshot bytes", c.SnapshotBytes, "at least 65536 bytes")
	case c.Retain <= 0 && !c.RetainAll:
		return bad("retain", c.Retain, "a length of time above 0")
	case c.DeleteGrace < 0 || int64(c.DeleteGrace) > experiment.MaxGrace:
		return bad("delete grace", c.DeleteGrace, "a length of time up to 10 years, or 0 for none")
	case c.MaxAnswer < 1<<10:
		return bad("max answer", c.MaxAnswer, "at least 1024 bytes")
	case c.MaxStreams < 1:
		return bad("max streams", c.MaxStreams, "at least 1")
	case c.MaxExports < 1:
		return bad("max exports", c.MaxExports, "at least 1")
	case c.MaxReads < 1:
		return bad("max reads", c.MaxReads, "at least 1")
	case c.OpenMemory < 1<<20:
		return bad("open memory", c.OpenMemory, "at least 1048576 bytes")
	case c.OpenDisk < 0:
		return bad("open disk", c.OpenDisk, "at least 0 bytes")
	case c.LogRetry <= 0:
		return bad("log retry", c.LogRetry, "a length of time above 0")
	}
	if err := c.Cluster.validate(); err != nil {
		return err
	}
	if err := c.checkAlerts(); err != nil {
		return err
	}
	if c.CORSFeedback && len(c.CORSOrigins) == 0 {
		return bad("cors feedback", c.CORSFeedback, "an origin, too")
	}
	if _, err := access.ParseOrigins(c.CORSOrigins); err != nil {
		return err
	}
	return c.Limits.Validate()
}

// checkAlerts returns an error for settings of alerts that do not fit together.
func (c *Config) checkAlerts() error {
	if c.AlertWebhook == "" && c.AlertSecretFile != "" {
		return noregret.Errorf(noregret.Usage, "alert webhook",
			"\"\": want both an address and a file with a secret, or none")
	}
	if c.AlertWebhook != "" {
		if err := alert.CheckURL(c.AlertWebhook); err != nil {
			return err
		}
	}
	if err := alert.Form(c.AlertWebhookFormat).Check(c.AlertWebhook, c.AlertSecretFile != ""); err != nil {
		return err
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
			u.RawQuery != "" || u.Fragment != "" {
			return noregret.Errorf(noregret.Usage, "public url",
				"%q: want the address of this service, such as https://decisions.example", c.PublicURL)
		}
	}
	return nil
}

// resolve validates the configuration and fills in the clock and the logger.
func (c Config) resolve() (Config, error) {
	if err := c.Validate(); err != nil {
		return c, err
	}
	c.Limits = c.Limits.resolve()
	if c.Now == nil {
		c.Now, c.Elapsed = time.Now, elapsedTime()
	}
	c.wall, c.skipped = c.Now, &skippedSnapshots{logger: c.Logger}
	if c.Elapsed != nil {
		c.clock = newSteadyClock(c.Now, c.Elapsed, c.Logger)
		c.Now = c.clock.Now
	}
	return c, nil
}
