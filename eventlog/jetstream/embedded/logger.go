package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// logger passes on what a server has to say, and keeps what has ended it.
type logger struct {
	*slog.Logger

	mu    sync.Mutex
	fatal error
}

// Noticef implements [server.Logger]: a server notes every start of a part of it.
func (l *logger) Noticef(format string, args ...any) { l.Logger.Debug(text(format, args)) }

// Warnf implements [server.Logger].
func (l *logger) Warnf(format string, args ...any) { l.Logger.Warn(text(format, args)) }

// Errorf implements [server.Logger].
func (l *logger) Errorf(format string, args ...any) { l.Logger.Error(text(format, args)) }

// Fatalf implements [server.Logger]. It does not end the process.
func (l *logger) Fatalf(format string, args ...any) {
	t := text(format, args)
	l.mu.Lock()
	if l.fatal == nil {
		l.fatal = errors.New(t)
	}
	l.mu.Unlock()
	l.Logger.Error(t)
}

// Debugf implements [server.Logger].
func (l *logger) Debugf(string, ...any) {}

// Tracef implements [server.Logger].
func (l *logger) Tracef(string, ...any) {}

// failure is what has ended the server, nil for nothing.
func (l *logger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func text(format string, args []any) string { return "nats: " + fmt.Sprintf(format, args...) }
