package service

import (
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server"
)

// logFile is a file of lines that are added at its end. Reopen lets another program rename it.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// openLogFile opens the file of a flag and makes it if it is not there.
func openLogFile(flag, path string) (*logFile, error) {
	l := &logFile{path: path}
	if err := l.Reopen(); err != nil {
		return nil, noregret.Errorf(noregret.Usage, flag, "the file cannot be written: %w", err)
	}
	return l, nil
}

// Write implements io.Writer.
func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(b)
}

// Reopen opens the path again. If it cannot, the file that is open stays.
func (l *logFile) Reopen() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file = f
	return nil
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// openAccessLog sets the access log of the service: to standard error for "-", to a file otherwise.
// Call reopen on SIGHUP and closeLog at the end.
func (o *listening) openAccessLog(l *server.Limits, stderr io.Writer) (reopen, closeLog func(), err error) {
	nothing := func() {}
	switch o.accessLog {
	case "":
		return nothing, nothing, nil
	case "-":
		l.AccessLog = slog.New(slog.NewJSONHandler(stderr, nil))
		return nothing, nothing, nil
	}
	file, err := openLogFile("--access-log", o.accessLog)
	if err != nil {
		return nil, nil, err
	}
	l.AccessLog = slog.New(slog.NewJSONHandler(file, nil))
	reopen = func() {
		if err := file.Reopen(); err != nil {
			l.Logger.Error("the access log could not be opened again", "error", err)
		}
	}
	return reopen, func() { _ = file.Close() }, nil
}
