package service

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// listening holds what the commands that run a service share: the flags of its address, limits and
// logs, and what is opened for them.
type listening struct {
	settings
	listen    string
	cert, key string
	drain     time.Duration
	logLevel  string
	logFormat string
	accessLog string
	traces    string

	reopen  func() // the access log
	hangups chan os.Signal
	done    chan struct{}
}

func newListening(address string) listening {
	return listening{listen: address, drain: 30 * time.Second, logLevel: "info", logFormat: "text"}
}

// addTo declares the flags; items is the text of --max-items, and to says what descriptors are left
// to.
func (o *listening) addTo(f *pflag.FlagSet, l *server.Limits, items, to string) {
	f.StringVar(&o.listen, "listen", o.listen, "address, HOST:PORT; port 0 takes a free one")
	f.StringVar(&l.Tokens, "tokens", "", "file of access tokens; read again when it changes")
	f.StringVar(&o.cert, "tls-cert", "", "certificate chain, PEM; read again when it changes")
	f.StringVar(&o.key, "tls-key", "", "private key, PEM")
	f.Float64Var(&l.Rate, "rate", l.Rate, "requests per second for each token or address, 0 for no limit")
	f.IntVar(&l.Burst, "burst", l.Burst, "largest burst of requests, 0 for the rate")
	f.Int64Var(&l.MaxBody, "max-body", l.MaxBody, "largest body of a request, in bytes")
	f.IntVar(&l.MaxItems, "max-items", l.MaxItems, items)
	f.IntVar(&l.MaxConnections, "max-connections", l.MaxConnections,
		"most open connections; the default leaves 128 file descriptors "+to)
	f.IntVar(&l.MaxConnectionsPerAddress, "max-connections-per-address", l.MaxConnectionsPerAddress,
		"most open connections of one address that is not a trusted proxy")
	f.StringSliceVar(&l.TrustedProxies, "trusted-proxies", nil,
		"addresses or networks of proxies whose X-Forwarded-For names the client")
	command.DurationVar(f, &o.drain, "drain", "how long running requests may take to finish at the end")
	f.Var(command.NewChoice(&o.logLevel, "debug", "info", "warn", "error"), "log-level", "lowest level that is logged")
	f.Var(command.NewChoice(&o.logFormat, "text", "json"), "log-format", "form of the logs")
	f.StringVar(&o.accessLog, "access-log", "",
		"file of a JSON line for each request, - for standard error; opened again on SIGHUP")
	f.StringVar(&o.traces, "traces", "",
		"URL of a collector of traces, OTLP over HTTP; default $OTEL_EXPORTER_OTLP_ENDPOINT")
	command.DurationVar(f, &l.RequestTime, "request-time",
		"how long a request may take, except long polls and streams")
}

// check returns an error for flags out of their range.
func (o *listening) check(l *server.Limits) error {
	switch {
	case o.drain < 0:
		return command.OutOfRange("--drain", o.drain, "a length of time")
	case (o.cert == "") != (o.key == ""):
		return noregret.Errorf(noregret.Usage, "--tls-cert", "TLS needs both --tls-cert and --tls-key")
	}
	if err := o.checkTraces(); err != nil {
		return err
	}
	return l.CheckListen(o.listen)
}

// withBurst is where 0 becomes the default of --burst.
func withBurst(l server.Limits) server.Limits {
	if l.Burst == 0 {
		l.Burst = max(1, int(l.Rate))
	}
	return l
}

// open opens the logs, the traces and the certificate, which is nil for plain HTTP, and returns the
// scheme of the address. Call end at the end.
func (o *listening) open(ctx context.Context, l *server.Limits, stderr io.Writer,
) (scheme string, certificate *tls.Certificate, end func(), err error) {
	if l.Logger, err = o.logger(stderr); err != nil {
		return "", nil, nil, err
	}
	if unknown := o.Unknown(); len(unknown) > 0 {
		l.Logger.Warn("no flag is set by these environment variables", "names", unknown)
	}
	if certificate, scheme, err = o.certificate(l); err != nil {
		return "", nil, nil, err
	}
	reopen, closeLog, err := o.openAccessLog(l, stderr)
	if err != nil {
		return "", nil, nil, err
	}
	endTraces, err := o.openTraces(ctx, l)
	if err != nil {
		closeLog()
		return "", nil, nil, err
	}
	o.reopen, o.hangups, o.done = reopen, make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(o.hangups, syscall.SIGHUP)
	return scheme, certificate, func() {
		close(o.done)
		signal.Stop(o.hangups)
		endTraces()
		closeLog()
	}, nil
}

// onHangup opens the access log again and calls reload on each SIGHUP, until the end.
func (o *listening) onHangup(logger *slog.Logger, reload func() error) {
	go func() {
		for {
			select {
			case <-o.hangups:
				o.reopen()
				_ = reload() // which logs the result
				logger.Info("SIGHUP: looked for new access tokens")
			case <-o.done:
				return
			}
		}
	}()
}

// logger makes the service's logger.
func (o *listening) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, err
	}
	h := &slog.HandlerOptions{Level: level}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, h)), nil
	}
	return slog.New(slog.NewTextHandler(w, h)), nil
}

// certificate reads the certificate for TLS, and returns the scheme of the address.
func (o *listening) certificate(l *server.Limits) (*tls.Certificate, string, error) {
	if o.cert == "" && o.key == "" {
		return nil, "http", nil
	}
	c, err := server.OpenCertificates(o.cert, o.key, l.Logger)
	if err != nil {
		return nil, "", noregret.BadInputf("--tls-cert", "%w", err)
	}
	l.GetCertificate = c.Get
	return c.Present(), "https", nil
}
