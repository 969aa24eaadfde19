package server

import (
	"os"
	"runtime"
)

// warnOfReadable logs a warning for each file of secrets that other users of the machine can read
// or change. Empty names and missing files are left out.
func (c *Config) warnOfReadable() {
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	for _, path := range append([]string{c.keyFile(), c.Tokens, c.AlertSecretFile}, c.Secrets...) {
		info, err := os.Stat(path)
		if path == "" || err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		c.Logger.Warn("other users can read or change a file of secrets: give it the mode 0600", "file", path,
			"mode", info.Mode().Perm().String())
	}
}
